"""The rooms of privjail.local: each imports only from those before it."""

from __future__ import annotations

import re
from pathlib import Path

ROOMS = ["channels", "estimation", "survey", "planning"]
SOURCE = Path(__file__).parents[2] / "src" / "privjail" / "local"


def test_a_room_imports_only_from_those_before_it():
    for height, room in enumerate(ROOMS):
        files = list((SOURCE / room).glob("*.py"))
        assert files
        for path in files:
            used = set(re.findall(r"from privjail\.local\.(\w+)", path.read_text(encoding="utf-8")))
            assert used <= set(ROOMS[: height + 1]), f"{path.name} in {room} imports {used}"
