"""`python -m privjail.verify`: try to refute every claim, and write docs/verified.md and docs/proofs.md."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from privjail.verify.checks import published
from privjail.verify.checks.broken import BROKEN
from privjail.verify.checks.refuted import variants
from privjail.verify.proofs.symbolic import obligations
from privjail.verify.report import CHECKS, Findings, proofs_page, prove, verified_page

#: How often each check ticks in a full run; only the bars depend on it.
TICKS = {"Laplace": 216, "Gaussian": 177, "thresholded histogram": 60, "local randomisers": 88,
         "choices": 14, "exponential mechanism": 11_466,
         "noisy max": 191_582, "above-threshold": 57_606, "OpenDP's noisy max": 1, "black box": 10,
         "draws": 1, "Rényi cost": 16}  # fmt: skip


def run(fast: bool, console: Console) -> Findings:
    """Every check, with a bar for each."""
    found = Findings()
    columns = TextColumn("{task.description:<24}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=console) as progress:
        for name, check in CHECKS.items():
            task = progress.add_task(name, total=None if fast else TICKS.get(name))
            found.rows += check(fast, lambda task=task: progress.advance(task))  # type: ignore[misc]
            _finish(progress, task)
        task = progress.add_task("proofs (z3)", total=len(obligations()))
        found.proofs = prove(lambda: progress.advance(task))
        if not fast:
            last = progress.add_task("broken variants", total=len(BROKEN))
            found.refutations = variants(lambda: progress.advance(last))
            others = progress.add_task("published packages", total=len(published.CASES))
            found.published = published.findings(lambda: progress.advance(others))
    return found


def _finish(progress: Progress, task: TaskID) -> None:
    done = max(1, int(progress.tasks[task].completed))
    progress.update(task, total=done, completed=done)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m privjail.verify", description=__doc__)
    parser.add_argument(
        "--out", type=Path, default=Path("docs"), help="the folder for verified.md and proofs.md (default: docs)"
    )
    parser.add_argument("--fast", action="store_true", help="small domains only, about half a minute; writes nothing")
    options = parser.parse_args(arguments)
    if not options.fast and not options.out.is_dir():
        parser.error(f"{options.out} is no folder; name one with --out")
    console = Console(stderr=True)
    start = time.monotonic()
    found = run(options.fast, console)
    if not options.fast:
        (options.out / "verified.md").write_text(verified_page(found, time.monotonic() - start), encoding="utf-8")
        (options.out / "proofs.md").write_text(proofs_page(found.proofs), encoding="utf-8")
        console.print(f"wrote {options.out / 'verified.md'} and {options.out / 'proofs.md'}")
    for problem in found.problems:
        console.print(f"[bold red]problem[/] {problem}")
    console.print(f"{len(found.rows)} checks, {len(found.refutations)} wrong claims, {len(found.proofs)} obligations")
    return 1 if found.problems else 0


if __name__ == "__main__":
    sys.exit(main())
