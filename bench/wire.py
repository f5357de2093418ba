"""What isolation costs: releases over TLS with the durable ledger, beside the same in process and beside rivals.

    python bench/wire.py [--quick]

Everything is measured in one run, in turns; medians of at least five. What the disk and gRPC take by themselves is
shown too, since each release waits for both.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "bench"), str(ROOT / "src")]

import adult  # noqa: E402
import diffpid3  # noqa: E402
import manual  # noqa: E402
import shown  # noqa: E402
import wire_floor  # noqa: E402
from rich.progress import Progress  # noqa: E402

import privjail as pj  # noqa: E402
from privjail import pandas as pd  # noqa: E402
from privjail.client import connect  # noqa: E402
from privjail.curator.folder import JailFolder  # noqa: E402

Row = tuple[str, str, str, str]  # work, rival, target, measured
RIVAL = "privjail==0.1.2"
DEPTH, EPS, RUNS = 5, 1.0, 9
LARGE = 10**6  # a budget that no measurement uses up
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), os.environ.get("PYTHONPATH", "")])}


# -- a jail


@contextlib.contextmanager
def served(files: tuple[str, str, str]) -> Iterator[Path]:
    """`privjail serve` as a process of its own, over TLS, with its ledger on disk; the connection file of a user."""
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=ROOT) as name:
        where = Path(name)
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        folder = JailFolder.init(where / "jail", ["localhost", "127.0.0.1"], f"127.0.0.1:{port}", None)
        schema = json.loads(Path(files[2]).read_text(encoding="utf-8"))
        folder.add_dataset("adult", files[0], schema, [LARGE], "pure", (None, 1))
        (where / "ann.privjail").write_text(json.dumps(folder.add_user("ann", 1)), encoding="utf-8")
        folder.grant("ann", "adult", [LARGE], False, None)
        folder.ledger.close()
        command = ["-m", "privjail.curator", "serve", "--jail", str(where / "jail"), "--port", str(port)]
        process = subprocess.Popen([sys.executable, *command], stdout=subprocess.PIPE, text=True, env=ENV)
        try:
            assert process.stdout is not None and process.stdout.readline().startswith("serving on")
            yield where / "ann.privjail"
        finally:
            process.terminate()
            process.wait(20)


@contextlib.contextmanager
def connected(file: Path) -> Iterator[None]:
    pj.connect(file)
    try:
        yield
    finally:
        pj.disconnect()


def milliseconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return 1000 * (time.perf_counter() - start)


# -- releases, over the wire and in process


QUERIES: dict[str, Callable[[Any], Any]] = {
    "count": lambda df: df.shape[0].reveal(eps=1e-6),
    "filtered count": lambda df: df[df["age"] > 40].shape[0].reveal(eps=1e-6),
    "clipped sum": lambda df: df["age"].clip(20, 60).sum().reveal(eps=1e-6),
    "mean": lambda df: df["age"].clip(20, 60).mean(eps=1e-6),
    "group-by count": lambda df: df.groupby("education").size().reveal(eps=1e-6),
    "two-key group-by sum": lambda df: df.groupby(["education", "income"])["age"].sum().reveal(eps=1e-6),
    "100-bin histogram": lambda df: (
        pd.cut(df["age"], [1.2 * i for i in range(101)]).value_counts(sort=False).reveal(eps=1e-6)
    ),
    "crosstab": lambda df: pd.crosstab(df["education"], df["income"]).reveal(eps=1e-6),
    "reveal_all of ten": lambda df: pj.reveal_all([df[df["age"] > 20 + i].shape[0] for i in range(10)], eps=1e-6),
}


def releases(file: Path, files: tuple[str, str, str], runs: int) -> list[Row]:
    schema = json.loads(Path(files[2]).read_text(encoding="utf-8"))
    local = pd.read_csv(files[0], schema=schema)
    with connected(file):
        remote = pd.read_csv("adult")
        rows: list[Row] = []
        for name, query in QUERIES.items():
            here: list[float] = []
            there: list[float] = []
            for _ in range(runs + 3):
                there.append(milliseconds(lambda query=query: query(remote)))  # type: ignore[misc]
                with answered_by(None):
                    here.append(milliseconds(lambda query=query: query(local)))  # type: ignore[misc]
            wire, own = statistics.median(there[3:]), statistics.median(here[3:])
            rows.append((f"{name}, over the wire", "in process", "+ ≤ 3 ms", f"+ {wire - own:.2f} ms ({wire:.2f} ms)"))
    return rows


@contextlib.contextmanager
def answered_by(connection: Any) -> Iterator[None]:
    """Ask another jail for a moment, or this process itself (None), without ending the connection."""
    from privjail import session

    kept, session._connection = session._connection, connection
    try:
        yield
    finally:
        session._connection = kept


# -- DiffPID3


def trees(file: Path, files: tuple[str, str, str], runs: int, rival: float | None) -> list[Row]:
    schema = json.loads(Path(files[2]).read_text(encoding="utf-8"))
    module = manual.load("loop")
    if module is None:
        return [("DiffPID3, isolated", "plain pandas", "≤ 1.0", manual.MISSING)]
    plain = module.load(files[0], schema)
    ours: list[float] = []
    loops: list[float] = []
    with connected(file):
        df = diffpid3.discretise(pd.read_csv("adult").dropna(), schema)
        attributes = set(schema) - {diffpid3.TARGET}
        for _ in range(runs + 1):
            grown: list[Any] = []
            took = milliseconds(
                lambda grown=grown: grown.append(diffpid3.DiffPID3(df, attributes, diffpid3.TARGET, DEPTH, EPS))  # type: ignore[misc]
            )
            ours.append(took / grown[0].count())
            took = milliseconds(lambda grown=grown: grown.append(module.train(plain, EPS, DEPTH)))  # type: ignore[misc]
            loops.append(took / module.count_nodes(grown[1]))
    own, loop = statistics.median(ours[1:]), statistics.median(loops[1:])
    work, shown = "DiffPID3, isolated over TLS, durable ledger", f"{own:.2f} ms per node"
    by_hand = f"the same loops in plain pandas ({loop:.2f} ms)"
    found: list[Row] = [(work, by_hand, "≤ 1.0", f"{own / loop:.2f} ({shown})")]
    if rival is None:
        found.append((work, f"{RIVAL}, isolated", "≤ 1/100", "its environment could not be made, or it failed"))
    else:
        found.append((work, f"{RIVAL}, isolated ({rival:.0f} ms)", "≤ 1/100", f"1/{rival / own:.0f} ({shown})"))
    return found


def rival_ms(files: tuple[str, str, str], seconds: float) -> float | None:
    """Milliseconds per node of the rival's tree; None if it cannot be had here. One tree takes minutes."""
    folder = Path(tempfile.gettempdir()) / "privjail-bench-rival"
    python = folder / "bin" / "python"
    given = [files[0], files[2], str(EPS), str(DEPTH), str(seconds)]
    script = [str(python), str(ROOT / "bench" / "wire_rival.py"), *given]
    env = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    try:
        if not python.exists():
            venv.create(folder, with_pip=True)
            subprocess.run([str(python), "-m", "pip", "install", "-q", RIVAL], check=True, capture_output=True)
        done = subprocess.run(script, check=True, capture_output=True, text=True, env=env, timeout=seconds + 300)
        found = json.loads(done.stdout.splitlines()[-1])
        return 1000 * float(found["seconds"]) / int(found["nodes"])
    except (OSError, ValueError, KeyError, IndexError, subprocess.SubprocessError):
        return None


# -- a long session


def long_session(file: Path, files: tuple[str, str, str], releases_: int, advance: Callable[[], Any]) -> list[Row]:
    """Different counts, over and over; then in turns with a session of a new jail, from its 100th release on.

    The machine is not equally fast at the beginning and at the end, but it is for both sessions.
    """

    def took(df: Any, i: int) -> float:
        return milliseconds(lambda: df[df["age"] > i % 90].shape[0].reveal(eps=1e-6))

    with connected(file):
        df = pd.read_csv("adult")
        for i in range(releases_):
            took(df, i)
            advance()
        with served(files) as other:
            young = connect(other)
            with answered_by(young):
                fresh = pd.read_csv("adult")
                for i in range(100):
                    took(fresh, i)
            first: list[float] = []
            last: list[float] = []
            for _ in range(10):  # turns of 50: a process that just slept is slow at first
                last += [took(df, i) for i in range(50)]
                with answered_by(young):
                    first += [took(fresh, i) for i in range(50)]
            young.close()
    before, after = statistics.median(first), statistics.median(last)
    measured = f"{after / before:.2f} ({before:.2f} → {after:.2f} ms, in turns)"
    return [(f"release {releases_:,} of a session", "the 100th of one", "≤ 1.2", measured)]


# -- imports


def imports(runs: int) -> list[Row]:
    def cpu(statement: str) -> float:
        code = f"import time; start = time.process_time()\n{statement}\nprint(time.process_time() - start)"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=ENV)
        return float(done.stdout)

    statements = ("import pandas", "import privjail", "from privjail import pandas")
    times: dict[str, list[float]] = {s: [] for s in statements}
    for _ in range(runs):
        for statement in statements:
            times[statement].append(cpu(statement))
    base = statistics.median(times["import pandas"])
    return [(f"`{s}`", "`import pandas`", "≤ 1.3", f"{statistics.median(times[s]) / base:.2f}") for s in statements[1:]]


def rows(quick: bool = False) -> list[Row]:
    """Every line that concerns the wire: (work, rival, target, measured)."""
    files = adult.files()
    if files is None:
        return [("everything over the wire", "", "", adult.MISSING)]
    many = 2_000 if quick else 100_000
    with Progress() as progress, served(files) as file:
        steps = progress.add_task("the wire", total=4)
        session = progress.add_task("a long session", total=many)
        out: list[Row] = [
            ("one sync of the disk, once in a millisecond", "", "", f"{wire_floor.sync_ms(file.parent):.2f} ms"),
            ("a small message by gRPC with TLS and back, likewise", "", "", f"{wire_floor.round_trip_ms():.2f} ms"),
        ]
        out += releases(file, files, 30)
        progress.advance(steps)
        out += trees(file, files, RUNS, rival_ms(files, 30 if quick else 900))
        progress.advance(steps)
        out += imports(RUNS)
        progress.advance(steps)
        out += long_session(file, files, many, lambda: progress.advance(session))
        progress.advance(steps)
    return out


if __name__ == "__main__":
    shown.main(__doc__, "a short session, and only the start of the rival's tree", rows)
