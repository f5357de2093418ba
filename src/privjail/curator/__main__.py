"""The command ``privjail``: starts the command line, or says which packages are missing."""

from __future__ import annotations

import os
import sys

#: what `pip install 'privjail-dp[jail]'` brings, and a thin analyst's install does not
EXTRAS = {"polars", "pyarrow", "opendp", "dp_accounting", "typer", "rich", "click", "cryptography"}


def main() -> None:
    try:
        # privjail/__init__.py checks this too, but if the other package was installed last, that file is the other's.
        from privjail.distribution import check_alone

        check_alone()
    except ImportError as mixed:
        print(f"privjail: {mixed}", file=sys.stderr)
        raise SystemExit(1) from None
    if sys.argv[1:2] == ["encrypted"]:
        # Must be set before NumPy is loaded: one thread multiplies its small matrices faster than several.
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if sys.argv[1:2] == ["rehearse"]:  # a thin install can do this
        from privjail.rehearsals.run import main as rehearse

        raise SystemExit(rehearse(sys.argv[2:]))
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
