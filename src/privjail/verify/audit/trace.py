"""What one run of a program shows: a list of messages, in order, and where in the program each was made."""

from __future__ import annotations

import io
import os
import random
import sys
import tempfile
import time
import types
from pathlib import Path
from typing import Any

LIBRARY = str(Path(__file__).resolve().parents[2]) + os.sep
TAPS = str(Path(__file__).resolve().with_name("taps.py"))  # stands between the program and what it calls
MOST_LINES = 50_000  # of the program's path that are kept
CLOCKS = ("time", "perf_counter", "monotonic", "process_time")
STARTERS = ("subprocess.Popen", "os.system", "os.exec", "os.posix_spawn")
RESOLVERS = ("socket.getaddrinfo", "socket.gethostbyname", "socket.gethostbyaddr", "urllib.Request")
SENDERS = ("socket.connect", "socket.sendto", "socket.sendmsg", "http.client.send", "smtplib.send", "ftplib.sendcmd")
PLACERS = ("os.mkdir", "os.rename", "os.link", "os.symlink", "os.chmod")
BLINDERS = ("sys.settrace", "sys.setprofile")
LOOKERS = ("gc.get_objects", "gc.get_referrers", "gc.get_referents")
WATCHED = {*RESOLVERS, *SENDERS, *PLACERS, *BLINDERS, *STARTERS, *LOOKERS, "os.putenv"}


class Trace:
    """Messages that leave the program, findings about how it was done, and the lines that it ran."""

    def __init__(self, program: Path, scratch: Path) -> None:
        self.home = str(program.resolve().parent) + os.sep
        self.program, self.scratch = str(program.resolve()), scratch
        self.messages: list[dict[str, Any]] = []
        self.findings: list[dict[str, Any]] = []
        self.notes: list[str] = []  # what is done where the auditor cannot follow
        self.lines: list[int] = []
        self.data: set[str] = set()  # files of private data
        self.written: set[str] = set()
        self.busy = False  # the auditor's own work is not watched

    def say(self, kind: str, text: str, line: int | None = None) -> None:
        self.messages.append({"kind": kind, "text": text, "line": self.line() if line is None else line})

    def find(self, kind: str, text: str) -> None:
        found = {"kind": kind, "text": text, "line": self.line()}
        if found not in self.findings:
            self.findings.append(found)

    def line(self) -> int | None:
        """The line of the program that is running."""
        frame: Any = sys._getframe(1)
        found = None
        while frame is not None:
            if frame.f_code.co_filename == self.program:
                return int(frame.f_lineno)
            found = found or (frame.f_lineno if frame.f_code.co_filename.startswith(self.home) else None)
            frame = frame.f_back
        return found

    def by_program(self, frame: Any) -> bool:
        """Whether the program did it, and not the library on its behalf."""
        while frame is not None:
            name = frame.f_code.co_filename
            if name.startswith(LIBRARY) and name != TAPS:
                return False
            if name.startswith(self.home):
                return True
            frame = frame.f_back
        return False

    # -- what is watched

    def watch(self) -> None:
        sys.addaudithook(self._event)
        sys.stdout, sys.stderr = _Stream(self, "output"), _Stream(self, "error output")
        os.register_at_fork(after_in_child=self._in_child)
        self._freeze()
        self.follow(True)

    def _in_child(self) -> None:
        """What a forked process prints goes to the real output: its memory, and what it keeps there, is lost."""
        sys.settrace(None)
        for name, number in (("stdout", 1), ("stderr", 2)):
            real = io.FileIO(number, "w", closefd=False)
            setattr(sys, name, io.TextIOWrapper(real, encoding="utf-8", write_through=True))

    def follow(self, on: bool) -> None:
        """Note the lines that the program runs, or pause while the auditor is at work."""
        self.busy = not on
        sys.settrace(self._path if on and len(self.lines) < MOST_LINES else None)

    def _event(self, event: str, args: tuple[Any, ...]) -> None:
        if self.busy or event in ("import", "compile", "exec"):
            return
        if event == "open":
            self._opened(args[0], args[1], args[2])
        elif event in WATCHED and self.by_program(sys._getframe(1)):
            self._did(event, args)

    def _did(self, event: str, args: tuple[Any, ...]) -> None:
        if event in LOOKERS:
            self.find("read", f"{event}() looks at the memory of the process, where the rows are")
        elif event in BLINDERS:
            self.find("changed", f"{event}() stops the auditor from following the program")
        elif event in PLACERS:
            self.say("file", f"{event}: {args!r}")
        elif event in STARTERS:
            started = args[1:] if event == "subprocess.Popen" else args  # with its folder and environment
            self.say("process", repr(started))
            self.note("it starts other programs: what they read and write by themselves is not compared")
        elif event == "os.putenv":
            self.say("process", repr(args))
        else:
            self.say("network", repr(args[1:] if event in SENDERS else args))
            self.note("it uses the network: what is sent by other than Python's own sockets is not seen")

    def note(self, text: str) -> None:
        if text not in self.notes:
            self.notes.append(text)

    def _opened(self, path: Any, mode: Any, flags: Any) -> None:
        if not isinstance(path, (str, bytes, os.PathLike)):
            return
        real = os.path.realpath(os.fsdecode(path))
        writes = (isinstance(mode, str) and any(c in mode for c in "wax+")) or (
            mode is None and flags & (3 | os.O_CREAT)
        )
        if writes and (real.startswith("/dev/shm/") or not real.startswith(("/dev/", "/proc/"))):
            self.written.add(real)
        elif real in self.data and self.by_program(sys._getframe(2)):
            self.find("read", f"the data file {os.path.basename(real)!r} is read around the library")

    def _freeze(self) -> None:
        """Clocks, seeds and names of temporary files are the same in every run."""
        random.seed(0)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(0)
        for name in CLOCKS:
            for clock, frozen in ((name, 1.7e9), (f"{name}_ns", 17 * 10**17)):
                setattr(time, clock, self._clock(getattr(time, clock), frozen))
        numbers = (f"audit{i}" for i in range(10**9))
        tempfile.tempdir = str(self.scratch)
        tempfile._name_sequence = numbers  # type: ignore[attr-defined]

    def _clock(self, real: Any, frozen: Any) -> Any:
        return lambda: frozen if sys._getframe(1).f_code.co_filename.startswith(self.home) else real()

    def _path(self, frame: Any, event: str, arg: Any) -> Any:
        if len(self.lines) >= MOST_LINES:
            sys.settrace(None)
        elif frame.f_code.co_filename.startswith(self.home):
            self.lines.append(frame.f_lineno)
            return self._path
        return None

    def files(self) -> None:
        """What the program left behind, as messages."""
        here = []
        for path in sorted(self.scratch.rglob("*")):
            if path.is_file() and not path.is_symlink():
                here.append(str(path))
            else:
                what = f"link to {os.readlink(path)}" if path.is_symlink() else "folder"
                self.say("file", f"{path.relative_to(self.scratch)}: {what}", line=0)
        for name in sorted({*here, *self.written} - self.data):
            try:
                body = Path(name).read_bytes()
            except OSError:
                continue
            shown = name.removeprefix(str(self.scratch) + os.sep)
            self.say("file", f"{shown}: {body.decode('utf-8', 'backslashreplace')}", line=0)


class _Stream(io.TextIOBase):
    """Keeps what is printed, line by line."""

    def __init__(self, trace: Trace, kind: str) -> None:
        self._trace, self._kind, self._part = trace, kind, ""

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return "utf-8"

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._part += text
        *lines, self._part = self._part.split("\n")
        for line in lines:
            self._trace.say(self._kind, line)
        return len(text)

    def flush(self) -> None:
        pass

    def end(self) -> None:
        if self._part:
            self.write("\n")

    def fileno(self) -> int:
        raise OSError("the output is recorded")


class Fingerprint:
    """The functions, classes and constants of the library as they are now: a program must not replace them."""

    def __init__(self) -> None:
        self._held: list[tuple[str, Any, str, Any, Any]] = []
        for name, module in list(sys.modules.items()):
            if name.startswith("privjail") and "_pb2" not in name and isinstance(module, types.ModuleType):
                self._take(name, vars(module))
                for attribute, value in list(vars(module).items()):
                    if isinstance(value, type) and value.__module__ == name:
                        self._take(f"{name}.{attribute}", vars(value))

    def _take(self, where: str, names: Any) -> None:
        for name, value in list(names.items()):
            if _fixed(name, value):
                # A function can be changed in place, too: its code is compared as well.
                self._held.append((f"{where}.{name}", names, name, value, getattr(value, "__code__", None)))

    def replaced(self) -> list[str]:
        return [
            where for where, names, name, value, code in self._held
            if names.get(name) is not value or getattr(value, "__code__", None) is not code
        ]  # fmt: skip


def _fixed(name: str, value: Any) -> bool:
    if name.startswith("__") and name not in ("__init__", "__post_init__", "__call__"):
        return False
    plain = isinstance(value, (int, float, str, bytes, frozenset)) and name.isupper()
    return plain or callable(value) or isinstance(value, (property, staticmethod, classmethod))
