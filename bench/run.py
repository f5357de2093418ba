"""Everything that `make bench` measures: accuracy, then speed. Writes docs/accuracy.md and docs/benchmarks.md."""

from __future__ import annotations

import accuracy
import speed

if __name__ == "__main__":
    accuracy.main()
    speed.main()
