"""Cost grows linearly in bins and in records: counted, not timed (bench/encrypted_counts.py)."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from encrypted_counts import counted

DEGREE = 4096
MESSAGE = 160  # bytes of a message beside its numbers; ciphertexts are compressed, and vary by as much


def test_submissions_cost_a_constant_and_a_part_that_is_linear_in_bins_and_records():
    for bins, n in ((16, 3), (16, 12), (48, 3)):
        found = counted(bins, n, methods=())["submissions"]
        assert found["coefficients added"] == n * (DEGREE + bins)
        assert found["products"] == n * 2 * (
            27 * bins + 30 * DEGREE
        )  # C's 27 rows, and D's, three of which have two digits
        assert found["ciphertext operations"] == 8  # for one batch, whatever is in it
        assert 0 <= found["bytes from owners"] - n * 7 * (DEGREE + bins) < n * 60 + MESSAGE
        assert 0 <= found["bytes to D"] - n * (7 * DEGREE + 8 * 27) - 8 * DEGREE < MESSAGE
        assert found["bytes to C"] < 60_000


def test_a_release_does_not_depend_on_records_and_is_linear_in_bins():
    few, more, wider = (counted(bins, n, methods=("ours",))["ours"] for bins, n in ((16, 1), (16, 9), (48, 1)))
    for name in ("bytes to D", "noise drawn", "ciphertext operations"):
        assert few[name] == more[name]
    assert wider["bytes to D"] - few["bytes to D"] == 8 * 32
    assert wider["noise drawn"] - few["noise drawn"] >= 2 * 32 and wider["noise drawn"] < 4 * 48
    assert few["ciphertext operations"] == wider["ciphertext operations"]
