"""Fifty analysts at once, and ledgers of up to a million entries; writes docs/load.md and docs/figures/load.png.

    python bench/load.py [--quick]

Analysts are processes of their own, connected over TLS to one jail with its ledger on disk. Each release counts rows of
a small table by another condition. *Closed*: everybody asks again as soon as an answer is there. *Open*: requests come
at a fixed rate, whether or not earlier ones are answered, and the time runs from the planned arrival: nothing is hidden
by analysts who wait.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing as mp
import os
import platform
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "src")]

from privjail.curator.folder import JailFolder  # noqa: E402
from privjail.curator.keeping import renew_anchor  # noqa: E402
from privjail.server.ledger.checkpoint import EVERY, pack, sha256  # noqa: E402
from privjail.server.ledger.events import linked, subject  # noqa: E402

SCHEMA = {"age": {"type": "Int64", "range": [0, 120]}, "sex": {"type": "category", "categories": ["F", "M"]}}
ENV = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
LONG_AGO = "2026-01-01T00:00:00+00:00"
INSERT = "INSERT INTO events VALUES (?, ?, ?, ?, ?)"
PRIVJAIL = [sys.executable, "-m", "privjail.curator"]


# -- a jail


def make_jail(where: Path, analysts: int) -> tuple[JailFolder, int]:
    """A jail with one small table; everybody may spend more than will be spent."""
    pick = random.Random(1)
    lines = [f"{pick.randrange(100)},{pick.choice('FM')}" for _ in range(20_000)]
    (where / "people.csv").write_text("age,sex\n" + "\n".join(lines) + "\n", encoding="utf-8")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port = int(s.getsockname()[1])
    folder = JailFolder.init(where / "jail", ["localhost", "127.0.0.1"], f"127.0.0.1:{port}", None)
    folder.add_dataset("people", str(where / "people.csv"), SCHEMA, [10**6], "pure", (None, 1))
    for i in range(analysts):
        (where / f"{i}.privjail").write_text(json.dumps(folder.add_user(f"user{i}", 1)), encoding="utf-8")
        folder.grant(f"user{i}", "people", [10**6], False, None)
    return folder, port


@contextmanager
def served(where: Path, port: int, workers: int) -> Iterator[int]:
    """`privjail serve`; gives the number of its process."""
    command = [*PRIVJAIL, "serve", "--jail", str(where / "jail"), "--port", str(port), "--workers", str(workers)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=ENV)
    try:
        assert process.stdout is not None and process.stdout.readline().startswith("serving on")
        yield process.pid
    finally:
        process.terminate()
        process.wait(30)


# -- analysts


def analyst(file: Path, ready: Any, start: Any, seconds: float, gap: float | None, out: Any) -> None:
    """Counts until the time is over; ``gap``: seconds between planned arrivals, None for as soon as possible."""
    import privjail as pj
    from privjail import pandas as pd

    pj.connect(file)
    df = pd.read_csv("people")
    pick = random.Random(str(file))
    df[df["age"] > 50].shape[0].reveal(eps=1e-6)
    ready.release()
    start.wait()
    begin, worked = time.monotonic(), time.process_time()
    planned = begin + (0.0 if gap is None else pick.random() * gap)
    took: list[float] = []
    while (now := time.monotonic()) < begin + seconds and planned < begin + seconds:
        if gap is not None and planned > now:
            time.sleep(planned - now)
        arrived = planned if gap is not None else now
        df[df["age"] > pick.randrange(100)].shape[0].reveal(eps=1e-6)
        took.append(time.monotonic() - arrived)
        if gap is not None:
            planned += pick.expovariate(1 / gap)
    out.put((took, time.monotonic() - begin, time.process_time() - worked))
    pj.disconnect()


class Crowd(NamedTuple):
    """What many analysts saw: releases a second, how long each took, and the processor time of one, on both sides."""

    rate: float
    times: list[float]
    analyst_ms: float
    jail_ms: float


def crowd(where: Path, analysts: int, seconds: float, rate: float | None, jail: int) -> Crowd:
    context = mp.get_context("forkserver")  # processes of their own, which need not each import the library
    context.set_forkserver_preload(["privjail.pandas", "privjail.server.channel"])
    ready, start, out = context.Semaphore(0), context.Event(), context.Queue()
    gap = None if rate is None else analysts / rate
    processes = [
        context.Process(target=analyst, args=(where / f"{i}.privjail", ready, start, seconds, gap, out))
        for i in range(analysts)
    ]
    for each in processes:
        each.start()
    for _ in processes:
        ready.acquire()
    worked = processor(jail)
    start.set()
    found = [out.get() for _ in processes]
    worked = processor(jail) - worked
    for each in processes:
        each.join()
    times = sorted(t for took, _, _ in found for t in took)
    theirs = sum(mine for _, _, mine in found)
    each = 1000 / len(times)
    return Crowd(len(times) / max(last for _, last, _ in found), times, each * theirs, each * worked)


def at(times: list[float], share: float) -> float:
    return 1000 * times[min(len(times) - 1, int(share * len(times)))]


def processor(process: int) -> float:
    """Seconds of processor time of all threads of a process so far."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def peak_mib(process: int) -> float:
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


# -- long ledgers


def lengthen(folder: JailFolder, entries: int) -> None:
    """Append charges and answers as a jail would have, with checkpoints, in few transactions."""
    store, state = folder.ledger._store, folder.ledger.state
    database, last = store._db, store.last  # type: ignore[attr-defined]
    digest = "0" * 64
    address = [["0" * 64, 0]]
    i = 0
    while last is not None and last.seq < entries:
        database.execute("BEGIN IMMEDIATE")
        while last.seq % EVERY and last.seq < entries:
            about = {"user": f"user{i // 2 % 50}", "request": f"{i // 2:032x}"}
            if i % 2:
                body = {"type": "answer", **about, "sha256": digest}
            else:
                charges = [["people", address, ["1/1000000"]]]
                body = {"type": "charge", "at": LONG_AGO, **about, "groups": [], "digest": digest, "charges": charges,
                        "program": [["count", "Laplace"]], "kept": 9}  # fmt: skip
            last = linked(last, body)
            state.apply(last)
            entry = last.seq, last.hash, last.text, b"0" * 20 if i % 2 else None, subject(body)
            database.execute(INSERT, entry)
            i += 1
        packed = pack(state)
        body = {"type": "checkpoint", "at": LONG_AGO, "sha256": sha256(packed)}
        last = linked(last, body)
        database.execute(INSERT, (last.seq, last.hash, last.text, packed, subject(body)))
        database.execute("COMMIT")
        for key in [key for key, entry in state.requests.items() if not entry.open]:
            del state.requests[key]
    folder.ledger.close()
    renew_anchor(folder.path, "a made-up history")


def ledger_times(entries: int) -> tuple[float, float, float]:
    """Seconds until a jail of a long ledger serves, of `privjail budget`, and of `privjail --help` for comparison."""
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=ROOT) as name:
        where = Path(name)
        folder, port = make_jail(where, 1)
        lengthen(folder, entries)
        begin = time.monotonic()
        with served(where, port, 8):
            started = time.monotonic() - begin
        return started, seconds_of("budget", "--jail", str(where / "jail")), seconds_of("--help")


def seconds_of(*command: str) -> float:
    def once() -> float:
        begin = time.monotonic()
        subprocess.run([*PRIVJAIL, *command], check=True, capture_output=True, env=ENV)
        return time.monotonic() - begin

    return sorted(once() for _ in range(3))[1]


# -- the page


def plot(found: dict[str, list[float]]) -> None:
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(7, 4))
    for name, times in found.items():
        shares = [i / 1000 for i in range(1000)]
        axes.plot([at(times, s) for s in shares], shares, label=name)
    axes.set(xscale="log", xlabel="milliseconds until the answer", ylabel="share of the releases", title="50 analysts")
    axes.legend()
    figure.tight_layout()
    figure.savefig(ROOT / "docs" / "figures" / "load.png", dpi=110)


def measure(quick: bool) -> str:
    analysts, seconds = (8, 3.0) if quick else (50, 15.0)
    lines = ["# Load", "", f"One run of `make bench-load`: {analysts} analysts, on the machine of the jail.", ""]
    lines += ["Processor time of one release, in ms: of the jail, and of the analyst's process.", ""]
    lines += [
        "| arrivals | workers | releases a second | median | p95 | p99 | jail | analyst | jail's memory |",
        "| --- " * 9 + "|",
    ]
    found: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory(prefix=".bench-", dir=ROOT) as name:
        where = Path(name)
        folder, port = make_jail(where, analysts)
        folder.ledger.close()
        most = 0.0
        for workers in (1, 2, 4, 8):
            with served(where, port, workers) as process:
                seen = crowd(where, analysts, seconds, None, process)
                most = max(most, seen.rate)
                lines.append(row("as soon as possible", workers, seen, peak_mib(process)))
                found[f"closed, {workers} workers"] = seen.times
        for share in (0.25, 0.5, 0.75):
            with served(where, port, 8) as process:
                seen = crowd(where, analysts, seconds, share * most, process)
                lines.append(row(f"{share * most:.0f} a second", 8, seen, peak_mib(process)))
                found[f"open, {share * most:.0f}/s"] = seen.times
    plot(found)
    lines += ["", "![latencies](figures/load.png)", "", "## Long ledgers", ""]
    lines += ["| entries | jail serves after | `privjail budget` | `privjail --help` |", "| --- " * 4 + "|"]
    for entries in (10**4, 10**5) if quick else (10**4, 10**5, 10**6):
        started, budget, floor = ledger_times(entries)
        lines.append(f"| {entries:,} | {started:.2f} s | {budget:.2f} s | {floor:.2f} s |")
    busy = os.getloadavg()[1] / (os.cpu_count() or 1)
    lines += ["", f"{os.cpu_count()} cores, Python {platform.python_version()}; load per core at the end: {busy:.1f}."]
    notes = Path(__file__).with_name("load_notes.md").read_text(encoding="utf-8")
    return "\n".join(lines) + "\n\n## Notes\n\n" + notes


def row(arrivals: str, workers: int, seen: Crowd, memory: float) -> str:
    shown = " | ".join(f"{at(seen.times, s):.0f} ms" for s in (0.5, 0.95, 0.99))
    both = f"{seen.jail_ms:.2f} | {seen.analyst_ms:.2f}"
    return f"| {arrivals} | {workers} | {seen.rate:.0f} | {shown} | {both} | {memory:.0f} MiB |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="eight analysts, three seconds, no ledger of a million")
    given = parser.parse_args()
    page = measure(given.quick)
    (ROOT / "docs" / "load.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    main()
