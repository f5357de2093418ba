"""The command ``privjail``: starts the command line, or says what a thin install lacks."""

from __future__ import annotations

import os
import sys

#: what `pip install 'privjail-dp[jail]'` brings, and a thin analyst's install does not
EXTRAS = {"polars", "pyarrow", "opendp", "dp_accounting", "typer", "rich", "click", "cryptography"}


def main() -> None:
    try:
        # Again: if the other package was installed last, the file that checks first is the other one's.
        from privjail.distribution import check_alone

        check_alone()
    except ImportError as mixed:
        print(f"privjail: {mixed}", file=sys.stderr)
        raise SystemExit(1) from None
    if sys.argv[1:2] == ["encrypted"]:
        # Before NumPy is loaded: its small matrices are multiplied faster by one thread than by several.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        from privjail.curator.cli.root import run

        run()
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] not in EXTRAS:
            raise
        print(
            f"privjail: the package {missing.name!r} is not installed; this command needs the curator's part.\n"
            "  do:   pip install 'privjail-dp[jail]'",
            file=sys.stderr,
        )
        raise SystemExit(1) from None


if __name__ == "__main__":
    main()
