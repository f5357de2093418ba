"""Cost grows linearly in bins and in records: counted, not timed (bench/encrypted_counts.py)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from encrypted_counts import counted

MESSAGE = 160  # bytes of a message beside its numbers


def test_submissions_cost_a_constant_and_a_part_that_is_linear_in_bins_and_records():
    for bins, n in ((16, 3), (16, 12), (64, 3)):
        found = counted(bins, n, methods=())["submissions"]
        assert found["values added"] == 2 * n * bins  # by either server
        assert found["products"] == 2 * n * 12 * bins  # three tests, β and β² in two halves; 16 and 64 are squares
        assert "ciphertext operations" not in found
        assert 0 <= found["bytes from owners"] - n * (3 * bins + 232) < n * 60 + MESSAGE
        assert 0 <= found["bytes to D"] - n * (32 + 32 + 12 + 112 + 1) < MESSAGE
        assert 0 <= found["bytes to C"] - n * 25 < MESSAGE


def test_a_release_does_not_depend_on_records_and_is_linear_in_bins():
    few, more, wider = (
        counted(bins, n, methods=("block_tree",))["block_tree"] for bins, n in ((16, 1), (16, 9), (48, 1))
    )
    for name in ("bytes to D", "noise drawn"):
        assert few[name] == more[name]
    assert wider["bytes to D"] - few["bytes to D"] in (4 * 32, 4 * 32 + 1)  # a length of one byte or two
    assert wider["noise drawn"] - few["noise drawn"] >= 2 * 32 and wider["noise drawn"] < 4 * 48
    assert "ciphertext operations" not in wider
