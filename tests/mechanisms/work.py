"""Work that is counted instead of timed: every step of the mechanisms' code, and the shape of all that it works on."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import privjail.mechanisms

FOLDER = str(Path(privjail.mechanisms.__file__).parent)
Steps = list[tuple[str, int, str, tuple[Any, ...]]]


def work(run: Callable[[], Any]) -> Steps:
    """Each bytecode that runs in mechanisms/, and, line by line, the shapes of the arrays and lists at hand."""
    steps: Steps = []

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(FOLDER):
            return None
        frame.f_trace_opcodes = True
        sizes = tuple(_size(x) for x in frame.f_locals.values()) if event in ("line", "return") else ()
        steps.append((frame.f_code.co_name, frame.f_lineno, event, sizes))
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        run()
    finally:
        sys.settrace(before)
    return steps


def _size(x: Any) -> Any:
    if isinstance(x, np.ndarray):
        return x.shape, str(x.dtype)
    return len(x) if isinstance(x, (list, tuple, bytes)) else type(x).__name__
