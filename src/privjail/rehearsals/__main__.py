"""``python -m privjail.rehearsals program.py``: the same as ``privjail rehearse``, also in a thin install."""

from __future__ import annotations

import sys

from privjail.rehearsals.run import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
