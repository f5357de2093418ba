"""Run one line of an analyst's program, and print every function of the library that it calls; see test_walk.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType

import pandas
import privjail
from privjail import pandas as pd

SOURCE = str(Path(privjail.__file__).parent) + "/"
SCHEMA = {"age": {"type": "Int64", "range": [0, 120]}, "sex": {"type": "category", "categories": ["F", "M"]}}


def ours(frame: FrameType | None) -> FrameType | None:
    """This frame, or the next one out that is the library's."""
    while frame is not None and not frame.f_code.co_filename.startswith(SOURCE):
        frame = frame.f_back
    return frame


def place(frame: FrameType | None) -> list[str] | None:
    return None if frame is None else [frame.f_code.co_filename.removeprefix(SOURCE), frame.f_code.co_qualname]


def main() -> None:
    rows = pandas.DataFrame({"age": [30, 50, 70], "sex": ["F", "M", "F"]})
    df = pd.from_frame(rows, "people", SCHEMA, budget=1)
    calls: list[tuple[list[str] | None, list[str] | None]] = []

    def note(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            calls.append((place(ours(frame.f_back)), place(frame)))

    sys.setprofile(note)
    try:
        df[df.age > 40].groupby("sex").size().reveal(eps=0.1)
    finally:
        sys.setprofile(None)
    print(json.dumps(calls))


if __name__ == "__main__":
    main()
