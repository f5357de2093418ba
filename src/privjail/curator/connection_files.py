"""Further connection files of a user, for another machine or program: each has a token of its own, which can be ended.

They say who she is and nothing more: grants, groups and the end of her access are hers, whatever file she uses.
"""

from __future__ import annotations

import datetime
import secrets
from typing import Any

from privjail.curator.checks import check_name, the_user
from privjail.curator.folder import JailFolder
from privjail.errors import PlanError
from privjail.server.ledger.state import State, UserEntry
from privjail.server.tokens import token_hash

MOST = 20  # of one user


def add_file(folder: JailFolder, user: str, file: str) -> dict[str, Any]:
    """One more connection file, or a new one in place of that of the same name. Returns its contents."""
    check_name(file)
    token = secrets.token_urlsafe(32)

    def make(state: State) -> dict[str, Any]:
        the_user(state, user)
        known = state.users[user]
        if not known.active(datetime.datetime.now(datetime.UTC)):
            raise PlanError(f"the token of {user!r} is no longer accepted", do=f"privjail user add {user}")
        if file not in known.files and len(known.files) >= MOST:
            raise PlanError(f"{user!r} has {MOST} connection files", do="end one that is not used any more")
        return {"type": "token", "name": user, "file": file, "token": token_hash(token)}

    folder._decide(make)
    return {
        "address": folder.config["address"],
        "user": user,
        "token": token,
        "certificate": (folder.path / "jail.crt").read_text(encoding="ascii"),
    }


def end_file(folder: JailFolder, user: str, file: str) -> None:
    """End one connection file; the others stay as they are."""

    def make(state: State) -> dict[str, Any]:
        the_user(state, user)
        if file not in state.users[user].files:
            raise PlanError(f"{user!r} has no connection file {file!r}", do="see: privjail user list")
        return {"type": "token", "name": user, "file": file, "token": None}

    folder._decide(make)


def renew(folder: JailFolder, user: UserEntry, digest: str) -> dict[str, Any]:
    """A new token in place of the one that its owner came with. That of her first file ends all others, too."""
    for file, token in user.files.items():
        if token == digest:
            return add_file(folder, user.name, file)
    return folder.add_user(user.name, None, renews=True)
