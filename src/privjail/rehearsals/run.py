"""``with pj.rehearsal() as bill:`` and ``privjail rehearse program.py``."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from privjail import records, session
from privjail.errors import DPError, PlanError
from privjail.rehearsals.bill import Bill
from privjail.rehearsals.stage import Stage

ROWS = 10_000


@contextmanager
def rehearsal(rows: int = ROWS) -> Iterator[Bill]:
    """Run a block on made-up rows that fit the schema: nothing is charged, and no data is touched.

    Releases give answers of the right shape, and no meaning. ``bill`` lists each of them with its price, the error to
    expect and the line that asked. It works in process, and connected to a jail: then the schema is the jail's.

    >>> with pj.rehearsal() as bill:
    ...     x = df["age"].mean(eps=0.5)
    >>> bill.total
    {'patients': 0.5}
    """
    if isinstance(rows, bool) or not isinstance(rows, int) or not 1 <= rows <= 10**7:
        raise PlanError(f"a rehearsal needs a number of made-up rows from 1 to 10,000,000, got {rows!r}")
    bill, stage, before = Bill(rows), Stage(rows), session.rehearsing()
    with suppress(DPError):
        bill.left = dict(session.budget_left())
    session.stand_in(stage)
    records._current.append(bill.records)
    try:
        yield bill
    finally:
        records._current.pop()
        bill.totals = stage.totals()
        bill.left = stage.left | bill.left
        for name, rest in dict(session.budget_left()).items():
            bill.left.setdefault(name, _whole(rest, bill.totals.get(name)))
        session.stand_in(before)


def _whole(rest: object, spent: object) -> object:
    """What was left before the rehearsal spent its part."""
    return rest + spent if isinstance(rest, float) and isinstance(spent, float) else None


def rehearse(program: str, arguments: Sequence[str] = (), rows: int = ROWS) -> tuple[Bill, int]:
    """Run a program file as if it were started, in a rehearsal; the bill, and the program's exit code."""
    if not Path(program).is_file():
        raise PlanError(f"there is no program {program!r}", do="privjail rehearse program.py")
    argv, path = sys.argv, sys.path[:]
    code = 0
    sys.argv, sys.path[0:0] = [program, *arguments], [str(Path(program).resolve().parent)]
    try:
        with rehearsal(rows) as bill:
            try:
                runpy.run_path(program, run_name="__main__")
            except SystemExit as e:
                code = e.code if isinstance(e.code, int) else 0 if e.code is None else 1
            except Exception:  # noqa: BLE001  (whatever the program raises is the program's)
                traceback.print_exc()
                code = 1
    finally:
        sys.argv, sys.path[:] = argv, path
    return bill, code


def main(arguments: Sequence[str]) -> int:
    """The command: a program and its arguments; ``--rows N`` before them."""
    given = list(arguments)
    rows = ROWS
    if given[:1] == ["--rows"] and len(given) > 1 and given[1].isdigit():
        rows, given = int(given[1]), given[2:]
    if not given or given[0] in ("--help", "-h"):
        print("usage: privjail rehearse [--rows N] program.py [arguments]\n\n" + HELP)
        return 0 if given else 2
    try:
        bill, code = rehearse(given[0], given[1:], rows)
    except DPError as e:
        print(f"privjail: error: {e}", file=sys.stderr)
        return 1
    print("\nrehearsal: nothing was charged, no data was touched; answers above have no meaning\n")
    print(bill)
    return code


HELP = "Run a program on made-up rows, and show what it would cost: every line that releases something, and the total."
