"""Print the table of outcomes: python -m tests.habits.measure [program] [-v]."""

import sys
from collections import Counter

from tests.habits.corpus import OUTCOMES, programs, run

wanted = [a for a in sys.argv[1:] if not a.startswith("-")]
total = Counter()
for program in programs():
    if wanted and program.name not in wanted:
        continue
    lines = run(program)
    counted = Counter(line.outcome for line in lines)
    total += counted
    print(f"{program.name:10} {len(lines):4}  " + "  ".join(f"{o} {counted[o]}" for o in OUTCOMES))
    if "-v" in sys.argv:
        for line in lines:
            if line.outcome in ("dead end", "raw error"):
                print(f"    [{line.outcome}] {line.typed}\n        {line.said.replace(chr(10), ' / ')[:330]}")
print("total", sum(total.values()), {o: total[o] for o in OUTCOMES})
