"""What an owner consents to, in plain words: made from the study file alone, which is all that she has to believe."""

from __future__ import annotations

from privjail.encrypted.study import Study


def consent(study: Study) -> list[str]:
    """One sentence or two for each thing that an owner may want to know."""
    terms = study.terms
    if terms.attributes:
        asked = "; ".join(f"{each.name} ({_some(each.labels)})" for each in terms.attributes)
        what = f"You are asked for: {asked}."
    else:
        what = f"You are asked for one of {terms.bins} groups."
    said = [
        what,
        "Your answer is encrypted on your device. Two organisations each get a part of it that means nothing alone. "
        "Only if both break their word together can they read it.",
        "What is published are counts with noise: how many people are in each group, more or less. Each organisation "
        "adds enough noise on its own.",
        terms.promise,
        f"All that will ever be published together changes the odds of any guess about you by a factor of at most "
        f"{_factor(float(terms.budget))} (ε = {terms.budget}).",
    ]
    if terms.least > 1:
        said.append(f"Nothing is published before {terms.least:,} people have submitted.")
    if terms.opens or terms.closes:
        begin = f" from {terms.opens}" if terms.opens else ""
        end = f" until {terms.closes}; nothing is published before that" if terms.closes else ""
        said.append(f"Answers are taken{begin}{end}.")
    said += [
        "You can answer once. What you sent cannot be taken back or changed: nobody can find it among the others.",
        f"Compare this with what the organisation that decrypts tells you: {study.fingerprint}. If it differs, do not "
        "answer: somebody else would read it.",
    ]
    return said


def _some(labels: tuple[str, ...]) -> str:
    shown = ", ".join(labels[:6])
    return shown if len(labels) <= 6 else f"{shown}, … {len(labels)} in all"


def _factor(epsilon: float) -> str:
    import math

    if epsilon > 20:
        return "more than 400 million: that is no protection"
    factor = math.exp(epsilon)
    return f"{factor:.2f}" if factor < 10 else f"{factor:,.0f}"
