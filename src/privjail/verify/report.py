"""The pages that `make verify` writes: docs/verified.md (what was checked) and docs/proofs.md (what was proved)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from privjail.verify.checks import draws, exact_choice, exact_noise, refuted, sound
from privjail.verify.checks.published import Finding
from privjail.verify.checks.refuted import Refutation
from privjail.verify.checks.row import Row, Watch
from privjail.verify.proofs.symbolic import THEOREMS, Obligation, obligations, proved, vacuous
from privjail.verify.proofs.symbolic import refuted as is_refuted

Check = Callable[[bool, Watch], list[Row]]
CHECKS: dict[str, Check] = {
    **exact_noise.CHECKS,
    **exact_choice.CHECKS,
    **draws.CHECKS,
    **refuted.CHECKS,
    **sound.CHECKS,
}


@dataclass
class Findings:
    """Everything that a run found."""

    rows: list[Row] = field(default_factory=list)
    refutations: list[Refutation] = field(default_factory=list)
    proofs: list[tuple[Obligation, bool]] = field(default_factory=list)
    published: list[Finding] = field(default_factory=list)

    @property
    def problems(self) -> list[str]:
        """Claims of ours that do not hold, wrong ones that were not refuted, and obligations that were not proved."""
        bad = [f"{row.mechanism}: {row.claim} ({row.inputs}) does not hold" for row in self.rows if not row.holds]
        bad += [f"{r.name} was not refuted" for r in self.refutations if not (r.exact or r.statistical)]
        for each in (f for f in self.published if not f.good):
            said = "was not found again" if each.case.wrong else "was refuted, but is right"
            bad.append(f"{each.case.needs[0]}, {each.case.what} {said}")
        return bad + [
            f"{o.theorem} / {o.name} was not proved, or its mutant was" for o, good in self.proofs if not good
        ]


def prove(watch: Watch) -> list[tuple[Obligation, bool]]:
    """Each obligation: proved, its mutant refuted, its hypotheses possible."""
    found = []
    for each in obligations():
        found.append((each, proved(each.claim) and is_refuted(each.mutant) and not vacuous(each.claim)))
        watch()
    return found


def verified_page(found: Findings, seconds: float) -> str:
    """docs/verified.md."""
    good = sum(row.holds for row in found.rows)
    parts = [
        "# What has been verified",
        "",
        f"Written by `make verify` (`python -m privjail.verify`); do not edit. This run: {good} of "
        f"{len(found.rows)} checks hold, "
        f"{sum(bool(r.exact or r.statistical) for r in found.refutations)} of {len(found.refutations)} wrong claims "
        f"refuted, {sum(f.case.wrong and f.judged is not None and f.judged.refuted for f in found.published)} of "
        f"{sum(f.case.wrong for f in found.published)} known bugs of published packages found again, "
        f"{sum(ok for _, ok in found.proofs)} of {len(found.proofs)} obligations proved (see [proofs](proofs.md)); "
        f"{seconds / 60:.0f} minutes. How to read it, and how to check a mechanism of your own: [verify](verify.md).",
        "",
        *_noisy_max(found.rows),
        *_rows("What this library runs", [r for r in found.rows if r.ours]),
        *_rows("Reference laws, and what others run", [r for r in found.rows if not r.ours]),
        *_refutations(found.refutations),
        *_published(found.published),
    ]
    return "\n".join(parts) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _table(heads: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    shown = ["| " + " | ".join(map(_cell, line)) + " |" for line in lines]
    return ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads), *shown, ""]


def _noisy_max(rows: list[Row]) -> list[str]:
    """Noisy max over counts: ε whatever m is, beside the m·ε of composition."""
    counts = [row for row in rows if row.size and "counts" in row.inputs]
    kinds = list(dict.fromkeys(row.mechanism for row in counts))
    lines = []
    for m in sorted({row.size for row in counts}):
        by_kind = {row.mechanism: row for row in counts if row.size == m}
        lines.append([str(m), f"{m}·ε", *(_verdict(by_kind[kind]) for kind in kinds)])
    text = (
        "Counts of rows: one row added moves any of the m counts up by one. Composition prices the m noisy counts "
        "at m·ε. The position "
        "of the largest alone costs ε for every m. Beside the verdict: the share of ε that is reached over all "
        "pairs tried."
    )
    return ["## Report noisy max", "", text, "", *_table(["m", "composition", *kinds], lines)]


def _verdict(row: Row) -> str:
    return f"{'ε' if row.holds else '**not ε**'}; {row.reached}"


def _rows(title: str, rows: list[Row]) -> list[str]:
    lines = [[r.mechanism, r.claim, r.inputs, r.how, "holds" if r.holds else "**refuted**", r.reached] for r in rows]
    return [f"## {title}", "", *_table(["mechanism", "claim", "inputs", "how", "verdict", "reached"], lines)]


def _mark(said: bool | None) -> str:
    return "—" if said is None else "refuted" if said else "not refuted"


def _refutations(found: list[Refutation]) -> list[str]:
    lines = [[r.name, r.wrong, _mark(r.exact), r.exact_found, _mark(r.statistical), r.statistical_found] for r in found]
    both = sum(r.exact is True and r.statistical is True for r in found)
    text = f"{len(found)} wrong claims; {both} are refuted by both checkers. "
    text += "A bound of the black box holds with 99.99 % confidence."
    heads = ["variant", "what is wrong", "exact", "exact finding", "black box", "black-box finding"]
    return ["## Broken variants", "", text, "", *_table(heads, lines)]


PUBLISHED = """Known bugs, found again by running the package's own code: installed from PyPI into an environment of
its own (or run in this one, where it has that very version), draws made there, judged by the checkers
above. Controls are claims that must not be refuted.

**OpenDP's noisy max under zCDP** ([opendp#2911](https://github.com/opendp/opendp/issues/2911): permute and flip, sold
with the ρ = ε²/8 of Gumbel noise) is *not* among the bugs: no published build that we could install has it. The claim
as reported is refuted (the last of the broken variants above). But OpenDP 0.14.0, 0.14.2, 0.15.0, 0.15.1,
0.15.1.dev20261007001, 0.16.0a20261025001 and 0.16.0, each tried once by hand, all draw Gumbel noise under zCDP, and
for that noise the ρ is true: of the scores [1, −1] with scale 1 the worse one comes with frequency 0.117 to 0.122
(Gumbel noise: 0.1192; permute and flip: 0.0677), and `map(1)` is 0.5 = ε²/8 with ε = 2.
"""


def _published(found: list[Finding]) -> list[str]:
    if not found:
        return []
    lines = []
    for each in found:
        said = "could not be run" if each.judged is None else "**refuted**" if each.judged.refuted else "not refuted"
        shown = each.reason if each.judged is None else each.judged.found
        lines.append([each.case.package, each.case.what, each.case.known, said, shown])
    table = _table(["package", "what", "known as", "verdict", "found"], lines)
    return ["## Published packages", "", *PUBLISHED.splitlines(), "", *table]


PROOFS_INTRO = """# What is proved, and for which inputs

Written by `make verify`; do not edit. Each statement below is a formula without quantifiers that z3 shows to hold
for **all** values of its variables: all probabilities, all whole counts, every α = e^−ε in (0, 1), rational or not.
Each has a mutant, a slightly stronger claim, for which z3 must find values that refute it; and its hypotheses must
be satisfiable.

**For all inputs**: every formula on this page. Where a statement runs over any number of outcomes, counts, elements
or mechanisms, there are two formulas: the start and the step of an induction. That start and step add up to the
theorem is argued in words here, not checked by machine: the induction itself, sums over countably many outcomes,
integrals over real noise, and that permute and flip has the law of exponential noise. The coupling of noisy max is
proved for whole noise and for real noise; the library's is real.

**For bounded inputs only**: the tables of [verified.md](verified.md). They hold mechanisms against their laws, on all
neighbours of a small domain; these formulas are about the laws. That the samplers of choices have their laws is
measured there, on scripted bits. That OpenDP's samplers of Laplace and Gaussian noise have theirs is only sampled.
The theorems are those of the definitions of differential privacy (post-processing, sequential and parallel
composition, (ε, δ), Laplace noise) and of report noisy max, where the coupling shifts one noise.

Notation: p, q are probabilities of one outcome on neighbouring D, D′; P, Q sums or products so far; c, d, b ≥ 1 are
powers of e; δ is `delta`; ¬, ∧, ⟹ are written `Not`, `And`, `Implies`.
"""


def proofs_page(found: Sequence[tuple[Obligation, bool]]) -> str:
    """docs/proofs.md."""
    parts = [PROOFS_INTRO]
    for key, title in THEOREMS.items():
        parts.append(f"## {title}\n")
        for each, good in found:
            if each.theorem == key:
                verdict = "proved; the mutant is refuted" if good else "**not proved**"
                parts.append(f"### {each.name}\n\n{each.words}\n\n```text\n{_formula(each.claim)}\n```\n")
                parts.append(f"{verdict[0].upper() + verdict[1:] if good else verdict}: *{each.mutation}*.\n")
    return "\n".join(parts)


def _formula(claim: object) -> str:
    import z3

    z3.set_option(max_args=10_000, max_lines=1_000_000, max_depth=10_000, max_visited=1_000_000)
    return "\n".join(line.rstrip() for line in str(claim).splitlines())
