"""The hand-written tree that PrivJail is measured against: ../shared/bench/manual_dp.py, imported, not copied."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from types import ModuleType

MISSING = "the hand-written tree is not here: name the folder of manual_dp.py in $PRIVJAIL_BENCH"


def load(style: str = "loop") -> ModuleType | None:
    """The module, with its quality function set; None if it is not here."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "bench"
    path = Path(os.environ.get("PRIVJAIL_BENCH") or beside) / "manual_dp.py"
    if not path.exists():
        return None
    spec = importlib.util.spec_from_file_location("manual_dp", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.quality = getattr(module, f"quality_{style}")
    return module
