"""The checker that Coq has proved right, as a program of its own: it reads certificates and answers each.

It is built by `make prove` from proofs/Certified.v and is not part of the installed package.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from privjail.errors import DPError

NAME = "certified_checker"


class Answer(NamedTuple):
    """``ok``, ``refuted`` or ``cannot check``, and why not."""

    verdict: str
    reason: str


def program() -> Path:
    """Where the checker is: as PRIVJAIL_CERTIFIED says, in the folder where `make prove` builds it, or in the path."""
    here = Path(__file__).resolve().parents[3] / "proofs" / "build" / NAME
    for place in (os.environ.get("PRIVJAIL_CERTIFIED"), here, shutil.which(NAME)):
        if place is not None and Path(place).is_file():
            return Path(place)
    raise DPError(
        "the certified checker is not built",
        do="run make prove in a clone of the repository, or set PRIVJAIL_CERTIFIED to its path",
    )


def check_certified(certificates: Iterable[Any], built: Path | None = None) -> list[Answer]:
    """Ask the certified checker (or the one that is ``built`` there) about some certificates, all in one run."""
    lines = [json.dumps(each) for each in certificates]
    if not lines:
        return []
    asked = "".join(line + "\n" for line in lines)
    done = subprocess.run([built or program()], input=asked, capture_output=True, text=True, check=False)
    answers = done.stdout.splitlines()
    if done.returncode or len(answers) != len(lines):
        raise DPError("the certified checker ended without an answer")
    return [Answer(verdict, reason.strip()) for verdict, _, reason in (line.partition(":") for line in answers)]
