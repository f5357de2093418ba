"""A real PostgreSQL server from the system's binaries, in a folder of its own, on a free port."""

from __future__ import annotations

import glob
import itertools
import os
import pwd
import shutil
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from .jails import free_port

_databases = itertools.count(1)


@dataclass
class Server:
    """A running server; each test takes a database of its own."""

    binaries: Path
    folder: Path
    port: int
    as_user: list[str]
    names: list[str] = field(default_factory=list)

    def database(self) -> str:
        """The URL of a new, empty database."""
        import psycopg

        name = f"ledger{next(_databases)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as db:
            db.execute(f"CREATE DATABASE {name}")
        return self.url(name)

    def url(self, database: str) -> str:
        return f"postgresql://keeper@127.0.0.1:{self.port}/{database}"

    def restart(self) -> None:
        self._ctl("-m", "immediate", "restart", "-l", str(self.folder / "log"))

    def stop(self) -> None:
        self._ctl("-m", "immediate", "stop")
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self) -> None:
        self._ctl("start", "-l", str(self.folder / "log"), "-o", f"-p {self.port} -k {self.folder} -h 127.0.0.1")

    def _ctl(self, *args: str) -> None:
        command = [*self.as_user, str(self.binaries / "pg_ctl"), "-D", str(self.folder / "data"), "-w", *args]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, timeout=120, cwd="/")


def start() -> Server | str:
    """A server, or why there can be none."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"), key=lambda p: int(p.split("/")[4]))
    place = found[-1] if found else shutil.which("initdb")
    if place is None:
        return "PostgreSQL is not installed: initdb was not found (apt-get install postgresql)"
    as_user: list[str] = []
    # Not below pytest's own folder, which other users may not enter.
    folder = Path(tempfile.mkdtemp(prefix="privjail-pg-"))
    if os.geteuid() == 0:
        owner = next((u for u in ("postgres", "nobody") if _exists(u)), None)
        if owner is None or shutil.which("setpriv") is None:
            return "PostgreSQL does not run as root, and there is no other user to run it as"
        entry = pwd.getpwnam(owner)
        as_user = ["setpriv", f"--reuid={entry.pw_uid}", f"--regid={entry.pw_gid}", "--clear-groups"]
        os.chown(folder, entry.pw_uid, entry.pw_gid)
    server = Server(Path(place).resolve().parent, folder, free_port(), as_user)
    command = [*as_user, place, "-D", str(folder / "data"), "-U", "keeper", "-A", "trust", "--no-sync"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, cwd="/", check=False)
    if done.returncode:
        return f"PostgreSQL could not be set up: {done.stderr.strip().splitlines()[-1:]}"
    server.start()
    return server


def _exists(user: str) -> bool:
    try:
        pwd.getpwnam(user)
    except KeyError:
        return False
    return True
