"""Runs a program in one world and writes down what it shows. Started by auditor.py: imports once, forks for each run.

The library is left as it is, but for four doors: opening data gives the world's rows; a release gives the first
world's answers; connecting leads to the auditor's jail; and the engine notes who else looks into it.
"""

from __future__ import annotations

import atexit
import gc
import hashlib
import io
import json
import os
import runpy
import signal
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import privjail.pandas.io as reading
from privjail import client, opening, session
from privjail import pandas as face
from privjail.catalogue.schema import read_schema
from privjail.engines.coins import AllDrawn
from privjail.engines.polars import engine as engines
from privjail.errors import DPError
from privjail.ops.registry import load_all
from privjail.ops.rows.append import Append, Appended
from privjail.ops.rows.pairs import Paired, Pairs
from privjail.ops.rows.per_person import Aggregate, PerPerson
from privjail.ops.rows.source import Column, Link, Source
from privjail.ops.rows.window import Lag, Window
from privjail.plan.rows import Rows
from privjail.population import Population
from privjail.release import Query, ReleaseGate
from privjail.verify import certificate
from privjail.verify.audit.compare import exact_input
from privjail.verify.audit.files import read_table, write_table
from privjail.verify.audit.people import Belongs
from privjail.verify.audit.taps import Taps
from privjail.verify.audit.trace import LIBRARY, Fingerprint, Trace
from privjail.verify.audit.world import World

MOST_ROWS = 400  # of a table whose rows are noted
CHILDREN = 5  # seconds to wait for processes that the program left behind


class Run:
    """One run: the world to show, and the answers to give."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.scratch, self.program = Path(job["scratch"]), Path(job["program"])
        self.trace = Trace(self.program, self.scratch)
        self.answers: list[Any] = job["answers"]
        self.releases: list[dict[str, Any]] = []
        self.opened: dict[str, dict[str, Any]] = {}
        self.world = World(job["edit"], job["which"], job["rows"], job["known"])
        self.renamed: dict[str, str] = {}
        self.exact: list[Any] = []
        self.inside = 0
        self._hashed: dict[Rows, list[str] | None] = {}

    def go(self) -> dict[str, Any]:
        os.chdir(self.scratch)
        sys.argv = [str(self.program), *self.job["arguments"]]
        sys.path.insert(0, str(self.program.parent))
        self._doors()
        for name, known in self.job["known"].items():
            self.place(name, known["schema"], known["unit"], known["most"], Belongs.read(known["people"]))
        self.before = Fingerprint()
        self.jail = session.jail()
        self.trace.watch()
        Taps(self.trace).install()
        code = self._run()
        _ended()
        self.trace.follow(False)
        for stream in (sys.stdout, sys.stderr):
            stream.end()  # type: ignore[union-attr]
        self.trace.say("end", code, line=0)
        self._untouched()
        self.trace.files()
        return {
            "messages": self.trace.messages, "findings": self.trace.findings, "lines": self.trace.lines,
            "notes": self.trace.notes,
            "releases": self.releases, "opened": self.opened,
        }  # fmt: skip

    def _run(self) -> str:
        try:
            runpy.run_path(str(self.program), run_name="__main__")
        except SystemExit as e:
            return f"exit {e.code}"
        except BaseException as e:  # noqa: BLE001  (whatever ends a program is a message)
            sys.excepthook(type(e), e, e.__traceback__)  # shows causes and notes too, or what the program put there
            where = [f.lineno for f in traceback.extract_tb(e.__traceback__) if f.filename == self.trace.program]
            return f"{type(e).__name__} in line {where[-1] if where else '?'}: {e}"
        return "exit 0"

    # -- opening data

    def _doors(self) -> None:
        plain_csv, plain_parquet, plain_open = reading.read_csv, reading.read_parquet, opening.open_here
        plain_release, plain_frame = ReleaseGate.release, reading.from_frame

        def read(reader: Any) -> Any:
            def opened(path: Any, schema: Any = None, **options: Any) -> Any:
                if session.connection() is not None:
                    return reader(path, schema, **options)
                given = self._schema(schema)
                unit, most = options.get("unit"), options.get("max_rows_per_unit")
                placed = self.place(str(path), given, unit, most, _belongs(path, options))
                return reader(placed, given, **options)

            return opened

        def from_frame(frame: Any, name: str, schema: Any = None, **options: Any) -> Any:
            given, belongs = self._schema(schema), _belongs(name, {**options, "name": name})
            unit, rows, asked = options.get("unit"), len(frame), _naming(options.get("unit"), belongs)
            columns = {column: list(frame[column]) for column in asked if column in frame}
            kept = self.world.frame(name, read_schema(given), unit, belongs, columns, rows)
            told = {"schema": None, "unit": unit, "most": None, "made": False}
            self.opened.setdefault(name, {**told, "people": _as_json(belongs)})
            part = frame.iloc[kept] if hasattr(frame, "iloc") else frame[kept]
            return plain_frame(part, name, given, **options)

        def open_(identity: str, name: str, *rest: Any) -> Any:
            return plain_open(identity, self.renamed.get(name, name), *rest)

        for place in (reading, face):
            place.read_csv, place.read_parquet = read(plain_csv), read(plain_parquet)  # type: ignore[attr-defined]
            place.from_frame = from_frame  # type: ignore[attr-defined]
        opening.open_here = open_  # type: ignore[assignment]
        engines.PolarsEngine = self._guarded()  # type: ignore[misc]

        def released(jail: Any, asks: Any, block: Any = None) -> Any:
            return self.release(asks, lambda: plain_release(jail, asks, block), jail)

        ReleaseGate.release = released  # type: ignore[method-assign, assignment]
        import privjail

        for where in (privjail, session):
            where.connect = self.connect  # type: ignore[attr-defined]
        load_all()

    def _schema(self, schema: Any) -> Any:
        """A schema by name is looked for in the scratch folder, then where the audit was started."""
        if isinstance(schema, (str, os.PathLike)) and not os.path.exists(schema):
            beside = Path(self.job["cwd"]) / schema
            return str(beside) if beside.exists() else schema
        return schema

    def place(self, name: str, schema: Any, unit: str | None, most: int | None, belongs: Belongs | None) -> str:
        """Put this world's rows where the program looks for them; gives the path to open."""
        path = Path(name)
        inside = path.resolve().is_relative_to(self.scratch.resolve())
        if name in self.opened:
            return self.opened[name]["at"] if Path(self.opened[name]["at"]).exists() else name
        made = not path.exists()
        if made and schema is None:
            return name  # there is nothing to make rows from: opening it fails as it would anyway
        before, self.trace.busy = self.trace.busy, True
        names, rows = self.world.table(
            name, read_schema(schema), unit, most, belongs, None if made else read_table(path)
        )
        at = path if inside else self.scratch / ".data" / path.name
        at.parent.mkdir(parents=True, exist_ok=True)
        write_table(at, names, rows)
        self.trace.busy = before
        self.trace.data |= {os.path.realpath(path), os.path.realpath(at)}
        self.renamed[str(at)] = name
        told = schema if isinstance(schema, dict) or schema is None else json.loads(Path(schema).read_text())
        facts = {"schema": told, "unit": unit, "most": most, "people": _as_json(belongs)}
        self.opened[name] = {**facts, "made": made, "at": str(at)}
        return str(at)

    # -- releases

    def release(self, asks: Any, act: Any, jail: Any = None) -> list[Any]:
        """Answer as in the first world, if the same is asked; note the request and the exact inputs."""
        self.trace.follow(False)
        self._untouched()
        self.exact, self.inside = [], self.inside + 1
        try:
            entries = [self._entry(ask) for ask in asks]
            self.exact = []
            found = act()
        except DPError as e:
            self.trace.say("refusal", f"{type(e).__name__}: {e}")
            raise
        finally:
            self.inside -= 1
            self.trace.follow(True)
        for entry, answer in zip(entries, found, strict=True):
            number = len(self.releases)
            self.trace.say("request", entry["plan"])
            forced = self.answers[number] if number < len(self.answers) else None
            entry["answer"] = forced["answer"] if forced and forced["plan"] == entry["plan"] else answer
            entry |= {"line": self.trace.line(), "spent": self._spent(jail)}
            self.releases.append(entry)
        for entry, exact in zip(entries, self.exact, strict=False):
            entry["exact"] = exact
        return [entry["answer"] for entry in entries]

    def _entry(self, ask: Query) -> dict[str, Any]:
        made, numbers = certificate.numbered(ask)
        tables = {}
        if session.connection() is None:
            tables = {i: self._rows(node) for node, i in numbers.items() if isinstance(node, Rows)}
        charges = None if session.connection() is not None else [
            [str(cell.root.key), [list(step) for step in cell.address], [str(x) for x in cost]]
            for cell, cost in self.jail.charges(ask, session.current_block())
        ]  # fmt: skip
        return {"plan": certificate.spelled(made), "shown": str(ask.value), "tables": tables, "charges": charges}

    def _rows(self, rows: Rows) -> list[str] | None:
        """The rows of a table, as hashes; they are computed once."""
        if rows not in self._hashed:
            self._hashed[rows] = self._hash(rows)
        return self._hashed[rows]

    def _hash(self, rows: Rows) -> list[str] | None:
        held = session.jail().engine.table(rows, {str(i): e for i, e in enumerate(_seen(rows))})
        found = list(zip(*held.values(), strict=True))
        if len(found) > MOST_ROWS:
            return None
        return [hashlib.blake2b(repr(row).encode(), digest_size=32).hexdigest() for row in found]

    def _spent(self, jail: Any) -> Any:
        if jail is None:
            return None
        return {a.name: [str(x) for x in a.total()] for a in session.jail().ledger.accounts()}

    def _guarded(self) -> Any:
        """An engine that notes what it computed, and who else looks into it."""
        run = self

        class Guarded(engines.PolarsEngine):
            def __init__(self, *given: Any) -> None:
                super().__init__(*given)
                self.coins = AllDrawn()

            def __getattribute__(self, name: str) -> Any:
                if not run.trace.busy and not run.inside and not name.startswith("__"):
                    caller = sys._getframe(1).f_code.co_filename
                    if not caller.startswith(LIBRARY):
                        run.trace.find("read", f"the engine's {name!r} is used around the library")
                return super().__getattribute__(name)

            def evaluate(self, value: Any, *known: Any) -> Any:
                found = super().evaluate(value, *known)
                run.exact.append(exact_input(found))
                return found

        return Guarded

    def _untouched(self) -> None:
        """Whether the library is still what it was when the program began."""
        for name in self.before.replaced():
            self.trace.find("changed", f"{name} was replaced")
        jail = self.jail
        if session.jail() is not jail:
            self.trace.find("changed", "the jail of this process was replaced, and with it its ledger")
        for name in ("release", "charges"):
            if name in vars(jail):
                self.trace.find("changed", f"the jail's {name} was replaced")
        for part, cls in (("noise", "Noise"), ("ledger", "Ledger"), ("engine", "Guarded")):
            held = getattr(jail, part)
            if type(held).__name__ != cls or any(callable(x) for x in vars(held).values() if not isinstance(x, type)):
                self.trace.find("changed", f"the jail's {part} was replaced")

    # -- over the wire

    def connect(self, address: Any = None, **options: Any) -> Any:
        """To the auditor's jail, whatever jail was meant."""
        to = self.job["jail"]
        if to is None:
            raise DPError("the auditor has no data sets for pj.connect", do="privjail audit … --data NAME=SCHEMA")
        import grpc

        session.disconnect()
        made = client.Connection(grpc.insecure_channel(to["address"]), to["token"])
        plain = made.release
        made.release = lambda asks, request=None, block=None: self.release(  # type: ignore[method-assign]
            asks, lambda: plain(asks, request, block)
        )
        session._connection = made
        return made


def _belongs(path: Any, options: dict[str, Any]) -> Belongs | None:
    """The population that a program opens a table of; None too if that is said wrongly, which the library refuses."""
    population, table = options.get("population"), options.get("name")
    if not isinstance(population, Population):
        return None
    with suppress(DPError):
        member = population.membership(None, None, options.get("key"), options.get("link"))
        table = Path(str(path)).stem if table is None else str(table)
        links = tuple(map(str, member.links))
        return Belongs(population.persons.identity, population.name, table, member.keys, links)
    return None


def _naming(unit: str | None, belongs: Belongs | None) -> list[str]:
    """The columns of a frame that say whose rows they are, or which."""
    linked = [] if belongs is None else [*belongs.keys, *(Link.read(link).column for link in belongs.links)]
    return [*([] if unit is None else [unit]), *linked]


def _as_json(belongs: Belongs | None) -> Any:
    return None if belongs is None else asdict(belongs)


def _seen(rows: Rows) -> list[Any]:
    """What distinguishes rows: all columns of the data set, or of both; of windows and persons, in all their rows."""
    base = rows.base
    if isinstance(base, Source):
        return [Column(base, name) for name, _ in base.dataset.columns]
    assert base.parent is not None
    inner = _seen(base.parent)
    if isinstance(base, Window):
        return [Lag(base, c, k) for c in inner for k in range(-base.after, base.before + 1)]
    if isinstance(base, PerPerson):
        of_rows = [Aggregate(base, how, c) for c in inner for how in ("first", "last", "count", "nunique")]
        return [Aggregate(base, "size", None), *of_rows]
    from privjail.ops.columns.carried import Carried

    if isinstance(base, Append):
        return [Appended(base, c, None) for c in inner] + [Appended(base, None, c) for c in _seen(base.other)]
    joined = [Paired(base, c) for c in _seen(base.other)] if isinstance(base, Pairs) else []
    return [Carried(base, c) for c in inner] + joined


def _ended() -> None:
    """What Python does when a program ends: threads and exit functions may still say something; files are flushed."""
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.settrace(None)
    for each in gc.get_objects():
        if isinstance(each, (io.TextIOWrapper, io.BufferedWriter)):
            with suppress(OSError, ValueError):
                each.flush()
    until = time.monotonic() + CHILDREN
    with suppress(ChildProcessError):
        while time.monotonic() < until:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                time.sleep(0.02)


def serve() -> None:
    """Fork a run for each line of standard input."""
    import opendp.measurements  # noqa: F401

    import pandas  # noqa: F401

    print("ready", flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        pid = os.fork()
        if pid == 0:
            try:
                quiet = os.open(job["raw"], os.O_RDWR | os.O_CREAT | os.O_TRUNC)
                saved = [os.dup2(os.open(os.devnull, os.O_RDONLY), 0), os.dup2(quiet, 1), os.dup2(quiet, 2)]
                del saved
                signal.alarm(job["seconds"])
                me, found = os.getpid(), json.dumps(Run(job).go())
                if os.getpid() == me:  # and not a child that the program forked
                    Path(job["trace"]).write_text(found, encoding="utf-8")
            except BaseException:  # noqa: BLE001
                os.write(2, traceback.format_exc().encode())
            finally:
                os._exit(0)
        os.waitpid(pid, 0)
        print("done", flush=True)


if __name__ == "__main__":
    serve()
