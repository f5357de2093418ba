"""What the machine refused, in one sentence and with what to do: no disk space, no permission, no such file."""

from __future__ import annotations

import errno
import os
import re
import socket
import sqlite3
import urllib.parse
from pathlib import Path

from privjail.errors import DPError

LOOPBACK = ("127.0.0.1", "::1", "localhost")  # names of this machine, to itself
UNBOUND = re.compile(r"Failed to bind to address (.+):(\d+)")  # gRPC's words
LITTLE = 64 * 1024  # bytes: less than an entry of the ledger and its log need

FULL = ("is full", "free some space there, then do it again; what could not be written was not done")
READ_ONLY = ("is read-only", "make it writable, or use another folder")
FORBIDDEN = ("may not be used by this user", "run this as the user who owns it, or change its owner or mode")
#: error number → (what is wrong with the file, what to do)
FILES = {
    errno.ENOSPC: ("cannot be written: the disk is full", FULL[1]),
    errno.EDQUOT: ("cannot be written: the disk quota is used up", FULL[1]),
    errno.EROFS: ("cannot be written: the disk is read-only", READ_ONLY[1]),
    errno.EACCES: FORBIDDEN,
    errno.EPERM: FORBIDDEN,
    errno.ENOENT: ("cannot be opened: no such file or folder", "check the path"),
    errno.ENOTDIR: ("is inside something that is not a folder", "check the path"),
    errno.EISDIR: ("is a folder, and a file is needed", "check the path"),
    errno.EEXIST: ("exists already", "use another name"),
    errno.ELOOP: ("is a symbolic link, which is not followed here", "name the file itself"),
    errno.ENAMETOOLONG: ("has too long a name", "use a shorter one"),
    errno.EIO: ("cannot be read or written: the disk failed", "check the disk; restore the file from a copy"),
    errno.EMFILE: ("cannot be opened: too many files are open", "raise the limit: ulimit -n"),
}
ADDRESSES = {
    errno.EADDRINUSE: ("another process listens on it", "stop that process, or choose another port"),
    errno.EADDRNOTAVAIL: ("this machine has no such address", "use 127.0.0.1, 0.0.0.0 or an address of this machine"),
    errno.EACCES: ("this user may not listen on it", "choose a port above 1023"),
}


def explained(error: BaseException) -> DPError | None:
    """The message for an error of the machine; None for an error that is a bug of ours."""
    if isinstance(error, OSError):
        wrong, do = FILES.get(error.errno or 0, (f"cannot be used: {error.strerror or type(error).__name__}", None))
        where = repr(os.fspath(error.filename)) if isinstance(error.filename, (str, bytes, os.PathLike)) else "a file"
        return DPError(f"{where} {wrong}", do=do)
    if isinstance(error, sqlite3.Error):
        return _of_database(getattr(error, "sqlite_errorname", type(error).__name__))
    bound = UNBOUND.match(str(error)) if isinstance(error, RuntimeError) else None
    if bound is None:
        return None
    host, port = bound[1].strip("[]"), int(bound[2])
    try:
        check_listen(host, port, "the server")
    except DPError as found:
        return found
    return DPError(f"the server cannot listen on {host}:{port}", do="try again, or choose another port")


def _of_database(name: str) -> DPError:
    """SQLite's error by its name: the text may quote what is stored."""
    if name.startswith(("SQLITE_FULL", "SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_IOERR", "SQLITE_PERM")):
        do = "see that the disk of its folder is neither full nor read-only, and that this user may write there"
        return DPError(f"a database file cannot be written ({name})", do=do)
    if name.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return DPError(f"a database file is in use by another process ({name})", do="do it again when that has ended")
    do = "put the newest complete copy of its folder back: an older one would allow spent budget to be spent again"
    return DPError(f"a database file is damaged or cut short ({name})", do=do)


def disk_fault(folder: Path) -> tuple[str, str] | None:
    """Why nothing can be written into a folder, if the disk or its mode is the reason: (what is wrong, what to do)."""
    try:
        disk = os.statvfs(folder)
    except OSError:
        return "is gone", "put it back, or mount its disk"
    if disk.f_flag & os.ST_RDONLY:
        return READ_ONLY
    if disk.f_bavail * disk.f_frsize < LITTLE or (disk.f_files and not disk.f_favail):
        return FULL
    return None if os.access(folder, os.W_OK | os.X_OK) else FORBIDDEN


def safe_url(url: str) -> bool:
    """Whether a web address is reached through TLS, or is on this machine."""
    try:
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK))


def check_listen(host: str, port: int, what: str) -> None:
    """Check that a server can listen on an address, by trying: gRPC does not say why it cannot."""
    address = f"{host}:{port}"
    try:
        family, kind, protocol, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(place)
            probe.listen(1)
    except socket.gaierror:
        raise DPError(
            f"{what} cannot listen on {address}: the name {host!r} is not known", do="use an address"
        ) from None
    except OSError as e:
        wrong, do = ADDRESSES.get(e.errno or 0, (e.strerror or "it is refused", "choose another address"))
        raise DPError(f"{what} cannot listen on {address}: {wrong}", do=do) from None
