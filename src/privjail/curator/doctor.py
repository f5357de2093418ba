"""Looks over an installation and a jail, and says what to do. It changes nothing."""

from __future__ import annotations

import datetime
import importlib.util
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privjail.errors import DPError
from privjail.faults import disk_fault, explained

PACKAGES = {"jail": ("polars", "pyarrow", "opendp", "grpc", "cryptography"), "postgres": ("psycopg",),
            "console": ("starlette", "jinja2", "uvicorn")}  # fmt: skip
LITTLE_SPACE, SOON = 2**30, 30  # bytes, days


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at."""

    what: str
    state: str  # "ok", "warning" or "wrong"
    said: str
    do: str | None = None


def look(path: Path) -> list[Finding]:
    """All findings, in order."""
    found = [_python(), *_packages()]
    try:
        found += _jail(path)
    except Exception as e:
        wrong = e if isinstance(e, DPError) else explained(e)
        if wrong is None:
            raise
        found.append(Finding("jail", "wrong", wrong.what, wrong.do))
    return found


def _python() -> Finding:
    version = ".".join(map(str, sys.version_info[:3]))
    fine = sys.version_info >= (3, 11)
    return Finding("python", "ok" if fine else "wrong", version, None if fine else "install Python 3.11 or newer")


def _packages() -> list[Finding]:
    found = []
    for extra, names in PACKAGES.items():
        missing = [name for name in names if importlib.util.find_spec(name) is None]
        state = "ok" if not missing else "wrong" if extra == "jail" else "warning"
        said = "installed" if not missing else f"missing: {', '.join(missing)}"
        found.append(Finding(f"extra {extra}", state, said, f"pip install 'privjail-dp[{extra}]'" if missing else None))
    return found


def _jail(path: Path) -> list[Finding]:
    from privjail.curator.folder import LAYOUT, JailFolder, read_config

    config = read_config(path)
    found = [_mode(path), _space(path), _boot(), _certificate(path)]
    layout = int(config.get("layout", 1))
    do = None if layout >= LAYOUT else f"privjail upgrade --jail {path}"
    found.append(Finding("layout", "ok" if do is None else "warning", f"{layout} of {LAYOUT}", do))
    folder = JailFolder(path)
    try:
        found.append(Finding("ledger", "ok", f"{folder.ledger.entries} entries; the newest fit the anchor"))
        found += _state(folder)
    finally:
        folder.ledger.close()
    return found


def _mode(path: Path) -> Finding:
    open_to = [f.name for f in (path, *path.iterdir()) if f.stat().st_mode & 0o077]
    fine = not open_to
    said = "only its owner reads it" if fine else f"others may read: {', '.join(sorted(open_to)[:5])}"
    return Finding("folder", "ok" if fine else "wrong", said, None if fine else f"chmod -R go= {path}")


def _space(path: Path) -> Finding:
    fault = disk_fault(path)
    if fault is not None:
        return Finding("disk", "wrong", f"the folder {fault[0]}", fault[1])
    free = shutil.disk_usage(path).free
    said = f"{free / 2**30:.1f} GiB free"
    return Finding("disk", "ok" if free > LITTLE_SPACE else "warning", said,
                   None if free > LITTLE_SPACE else "make room: a full disk stops all releases")  # fmt: skip


def _boot() -> Finding:
    from privjail.server.ledger.anchor import NO_RUN, machine_run

    known = bool(machine_run())
    said = "the machine's boot id can be read" if known else "the machine's boot id cannot be read"
    return Finding("restarts", "ok" if known else "warning", said, None if known else NO_RUN)


def _certificate(path: Path) -> Finding:
    from privjail.server.rotation import ends

    end = ends(path)
    days = (end - datetime.datetime.now(datetime.UTC)).days
    state = "ok" if days > SOON else "warning" if days >= 0 else "wrong"
    do = None if days > SOON else f"privjail rotate --jail {path}, or --authority if that is not enough"
    return Finding("certificate", state, f"valid until {end:%Y-%m-%d} ({days} days)", do)


def _state(folder: Any) -> list[Finding]:
    state, found = folder.state, []
    now = datetime.datetime.now(datetime.UTC)
    curators = [u for u in state.users.values() if u.role == "curator" and u.active(now)]
    found.append(
        Finding(
            "curators",
            "ok" if curators else "warning",
            f"{len(curators)} with a valid token",
            None if curators else "for the console: privjail user add NAME --role curator",
        )  # fmt: skip
    )
    failed = sorted(user for user, n in state.failures.items() if n)
    if failed:
        said = f"requests of {', '.join(failed)} failed inside the engine"
        found.append(Finding("failures", "warning", said, "read the jail's log, then: privjail user pardon"))
    if state.frozen:
        said = f"frozen: {', '.join(sorted(state.frozen))}"
        found.append(Finding("frozen", "warning", said, "privjail unfreeze NAME --reason …, when it is clear why"))
    return found
