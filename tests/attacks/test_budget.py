"""THREATS.md, section F: attempts to spend more than there is, or to learn from what is refused."""

from __future__ import annotations

import itertools
import math
import os
import random
import threading
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import privjail as pj
from privjail import session
from privjail.budget.ledger import Ledger
from privjail.budget.notions import ZCDP, ApproxDP, Loss, Notion, PureDP, RenyiDP
from privjail.errors import InternalError
from privjail.mechanisms.mechanism import Mechanism
from privjail.pandas import read_csv
from privjail.release import Query

from ..budget.people import SCHEMA, People, rows
from ..plan.trees import new_source

BAD: list[Any] = [math.nan, math.inf, -math.inf, 0, -0.1, 5e-324, 1e-300, True, "0.1", None, np.True_, np.nan, [0.1]]


@pytest.mark.parametrize("eps", BAD, ids=repr)
def test_no_release_takes_such_an_eps_v39(eps: Any) -> None:
    """V-39: every way out refuses it, and charges nothing."""
    people = People(budget=1)
    n = people.df.shape[0]
    counts = people.df.region.value_counts(sort=False)
    ways: list[Any] = [
        lambda: n.reveal(eps=eps), lambda: n.reveal(eps=eps, delta=0.1), lambda: n.reveal(rho=eps),
        lambda: n.reveal(eps=0.1, delta=eps if eps is not None else 0), lambda: pj.laplace_mechanism(n, eps=eps),
        lambda: pj.gaussian_mechanism(n, eps=eps, delta=0.1), lambda: pj.gaussian_mechanism(n, rho=eps),
        lambda: pj.exponential_mechanism(counts, eps=eps), lambda: pj.noisy_max(counts, eps=eps),
        lambda: pj.noisy_min(counts, eps=eps), lambda: pj.top_k(counts, 2, eps=eps),
        lambda: pj.above_threshold(counts, 3, eps=eps), lambda: pj.reveal_all([n, n], eps=eps),
        lambda: n.error(eps=eps), lambda: n.eps_for(error=eps), lambda: people.df.age.mean(eps=eps),
    ]  # fmt: skip
    for way in ways:
        with pytest.raises(pj.DPError):
            way()
    assert people.cost() == 0


def test_a_hundred_threads_release_exactly_what_there_is_v36() -> None:
    """V-36, through the public door."""
    people = People(budget=1)
    n = people.df[people.df.sex == "F"].shape[0]
    won: list[float] = []
    other: list[BaseException] = []
    start = threading.Barrier(100)

    def analyst() -> None:
        start.wait()
        for _ in range(3):
            try:
                won.append(n.reveal(eps=0.01))
            except pj.BudgetExceeded:
                pass
            except BaseException as problem:  # noqa: BLE001
                other.append(problem)

    threads = [threading.Thread(target=analyst) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not other and len(won) == 100 and people.cost() == 1


def _program(df: Any) -> list[str]:
    """A program with releases of all kinds; the verdict of each step."""
    verdicts = []
    steps: list[Any] = [
        lambda: df.shape[0].reveal(eps=0.2),
        lambda: df[df.age > 40].income.sum().reveal(eps=0.2),
        lambda: df.region.value_counts(sort=False).reveal(eps=0.1),
        lambda: pj.noisy_max(df.region.value_counts(sort=False), eps=0.1),
        lambda: [g.age.mean(eps=0.1) for _, g in df.groupby("sex")],
        lambda: df.head(5).shape[0].reveal(eps=0.3),
        lambda: df.shape[0].reveal(eps=0.9),
        lambda: df[df.sex == "M"].shape[0].reveal(eps=0.05),
        lambda: df.income.cumsum(),
    ]
    for step in steps:
        try:
            step()
            verdicts.append("ok")
        except pj.DPError as problem:
            verdicts.append(f"{type(problem).__name__}: {problem}")
    return verdicts


def test_cost_and_verdicts_do_not_depend_on_the_data_v26() -> None:
    """V-26: the same program on different data costs the same and is refused at the same place."""
    frames = [rows(12), rows(1), rows(0).astype(rows(1).dtypes.to_dict()), rows(300)]
    same = rows(30)
    same["sex"], same["age"] = "F", 10**9
    frames.append(same)
    wild = rows(30)
    wild["income"] = [math.nan, math.inf, -math.inf, 1e308, -1e308] * 6
    frames.append(wild)
    seen = set()
    for frame in frames:
        people = People(budget=1, frame=frame)
        verdicts = [v.replace(people.name, "people") for v in _program(people.df)]
        seen.add((tuple(verdicts), people.cost()))
    assert len(seen) == 1
    assert any("BudgetExceeded" in v for v in seen.pop()[0])


class Breaking(Mechanism):
    """A mechanism that fails once it has the data."""

    loss = Loss(pure=Fraction(1, 4))

    def check(self, value: Any) -> None:
        return None

    def proportional(self, notion: Notion, value: Any) -> bool:
        return True

    def calibrate(self, value: Any) -> Any:
        raise TypeError

    def sample(self, value: Any, exact: Any, noise: Any) -> Any:
        raise RuntimeError("broken")


def test_a_failure_after_the_charge_stays_charged_v25(monkeypatch: pytest.MonkeyPatch) -> None:
    """V-25: whether the sampler or the engine fails; never a refund once data may have been touched."""
    people = People(budget=1)
    value = people.df.shape[0]._value
    with pytest.raises(InternalError, match="stays charged"):
        session.release([Query(value, Breaking())])
    assert people.cost() == Fraction(1, 4)

    def fail(_: Any) -> Any:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(session.jail().engine, "evaluate", fail)
        with pytest.raises(InternalError):
            people.df.shape[0].reveal(eps=0.25)
    assert people.cost() == Fraction(1, 2)
    people.df.shape[0].reveal(eps=0.25)  # and the next release still works


def test_what_public_facts_refuse_is_not_charged_v25() -> None:
    """V-25, the other half: noise that cannot be drawn is refused before the charge."""
    people = People(budget=ApproxDP(1, 0.5))
    n = people.df.shape[0]
    for ask in (
        lambda: n.reveal(eps=1, delta=1e-99),  # δ below what the discrete law can promise
        lambda: n.reveal(eps=31, delta=1e-6),
        lambda: pj.top_k(people.df.region.value_counts(sort=False), 4, eps=0.1),
        lambda: pj.top_k(people.df.region.value_counts(sort=False), 1.5, eps=0.1),  # type: ignore[arg-type]
    ):
        with pytest.raises(pj.DPError):
            ask()
    assert people.cost() == (0, 0)
    wide = People(budget=ZCDP(1))
    with pytest.raises(pj.DPError):
        (wide.df.shape[0] * 1e9 + 1e-9).reveal(rho=1e-6)  # σ of more than 2**54 steps of the grid
    assert wide.cost() == 0


def test_answers_beyond_all_floats_do_not_fail_after_the_charge() -> None:
    people = People()
    huge = people.df.shape[0] * 1e308 * 1e308
    assert abs(huge.reveal(eps=1)) == math.inf and huge.error(eps=1) == math.inf


def _csv(path: Path) -> Path:
    rows().to_csv(path, index=False)
    return path


def test_one_file_is_one_account_by_whatever_path_v33(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """V-33 (in one process): spelled differently, through symbolic and hard links, relative, or in a linked folder."""
    real = _csv(tmp_path / "people.csv")
    (tmp_path / "soft.csv").symlink_to(real)
    os.link(real, tmp_path / "hard.csv")
    (tmp_path / "folder").mkdir()
    (tmp_path / "alias").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    spellings: list[Any] = [
        str(real), "people.csv", "./people.csv", "folder/../people.csv", tmp_path / "alias" / "people.csv",
        "soft.csv", "hard.csv", f"{tmp_path}//people.csv", Path("alias/alias/soft.csv"),
    ]  # fmt: skip
    for i, path in enumerate(spellings):
        read_csv(path, SCHEMA, budget=1).shape[0].reveal(eps=0.1)
        assert pj.consumed_privacy_budget()[str(real)] == pytest.approx(0.1 * (i + 1))
    frame = read_csv("soft.csv", SCHEMA, budget=1)
    frame.shape[0].reveal(eps=0.1)
    with pytest.raises(pj.BudgetExceeded):
        frame.shape[0].reveal(eps=0.1)
    # Another schema is another table of the same data.
    with pytest.raises(pj.BudgetExceeded):
        read_csv("hard.csv", {"age": SCHEMA["age"]}, budget=1).shape[0].reveal(eps=0.1)


def test_files_are_told_apart_by_256_bits_v60(tmp_path: Path) -> None:
    """V-60: two files of one identity would be one table."""
    one, two = (read_csv(_csv(tmp_path / name), SCHEMA)._rows.cells[0].root.partition for name in ("a.csv", "b.csv"))
    assert one != two and len(one.removeprefix("file:")) * 4 == 256


def test_groups_of_a_file_opened_twice_are_not_free_v33(tmp_path: Path) -> None:
    """V-33: two openings with one schema are one table; with two schemas their partitions are not known to agree."""
    path = _csv(tmp_path / "people.csv")
    one, two = read_csv(path, SCHEMA), read_csv(str(path) + "", SCHEMA)
    one[one.sex == "F"].shape[0].reveal(eps=0.1)
    two[two.sex == "M"].shape[0].reveal(eps=0.1)
    assert pj.consumed_privacy_budget()[str(path)] == 0.1
    three = read_csv(path, {"sex": SCHEMA["sex"]})
    three[three.sex == "M"].shape[0].reveal(eps=0.1)
    assert pj.consumed_privacy_budget()[str(path)] == 0.2
    assert (one.shape[0] + three.shape[0]).distance.value == 2


def test_budget_and_unit_cannot_be_replaced_v33(tmp_path: Path) -> None:
    """V-33: opening again with a larger budget, another notion, or rows instead of users is refused."""
    path = _csv(tmp_path / "people.csv")
    read_csv(path, SCHEMA, budget=1, unit="who", max_rows_per_unit=3)
    link = tmp_path / "link.csv"
    link.symlink_to(path)
    for again in (path, link):
        for change in (
            {"budget": 1e5}, {"budget": pj.ZCDP(1)}, {"unit": None, "max_rows_per_unit": None},
            {"max_rows_per_unit": 1}, {"max_rows_per_unit": None}, {"unit": "age"},
        ):  # fmt: skip
            options: dict[str, Any] = {"budget": 1, "unit": "who", "max_rows_per_unit": 3} | change
            with pytest.raises(pj.BudgetError):
                read_csv(again, SCHEMA, **options)
    read_csv(link, SCHEMA, budget=1, unit="who", max_rows_per_unit=3)


def test_a_file_that_changes_keeps_its_account_v37(tmp_path: Path) -> None:
    """V-37, as far as one process goes: the account outlives the frame (but not the process: KNOWN_LIMITS)."""
    path = _csv(tmp_path / "people.csv")
    old = read_csv(path, SCHEMA, budget=1)
    big = old[old.age > 40]
    big.shape[0].reveal(eps=0.5)
    rows(40).to_csv(path, index=False)
    new = read_csv(path, SCHEMA, budget=1)
    assert new.shape[0].reveal(eps=0.4) == pytest.approx(40, abs=100)
    big.shape[0].reveal(eps=0.1)  # the same table, computed anew
    with pytest.raises(pj.BudgetExceeded):
        old.shape[0].reveal(eps=0.1)


def test_a_new_file_does_not_get_the_account_of_a_deleted_one(tmp_path: Path) -> None:
    """File systems give the numbers of deleted files to new ones; an account is not inherited that way."""
    for i in range(20):
        path = _csv(tmp_path / f"people{i}.csv")
        read_csv(path, SCHEMA, budget=1 + i).shape[0].reveal(eps=1)
        assert pj.consumed_privacy_budget()[str(path)] == 1
        path.unlink()


# -- V-42: an adversary who chooses each ε after seeing the answers so far


def _transcripts(notion: Notion, seed: int, depth: int) -> dict[tuple[Any, ...], tuple[float, float]]:
    """Both exact probabilities of every transcript of an adaptive adversary against randomised response.

    Each step chooses ε (and which way to lean) from the answers so far, and is stopped by the ledger alone.
    """
    source = new_source()
    root = source.cells[0]

    def play(answers: tuple[int, ...], paid: list[Any], left: float, right: float) -> None:
        ledger = Ledger()
        ledger.open(root, "data", notion)
        for cost in paid:
            ledger.charge([(root, cost)])
        rng = random.Random(hash((seed, answers)))
        for eps in sorted((Fraction(rng.randrange(1, 200), 100) for _ in range(3)), reverse=True):
            cost = notion.cost(Loss(pure=eps))
            try:
                ledger.charge([(root, cost)])
            except pj.BudgetExceeded:
                continue
            if len(answers) == depth:
                break
            p = math.exp(eps) / (1 + math.exp(eps))
            for answer in (0, 1):
                up, down = (p, 1 - p) if answer else (1 - p, p)
                play((*answers, answer), [*paid, cost], left * up, right * down)
            return
        found[answers] = (left, right)

    found: dict[tuple[Any, ...], tuple[float, float]] = {}
    play((), [], 1.0, 1.0)
    return found


@pytest.mark.parametrize("seed", range(6))
def test_an_adaptive_adversary_gets_no_more_than_the_limit_v42(seed: int) -> None:
    """V-42: exact transcripts of adaptive randomised response, in every notion."""
    eps = 1.5
    for left, right in _transcripts(PureDP(eps), seed, 9).values():
        assert abs(math.log(left / right)) <= eps + 1e-9

    delta = Fraction(1, 100)
    pairs = list(_transcripts(ApproxDP(eps, delta), seed, 9).values())
    assert sum(max(0.0, p - math.exp(eps) * q) for p, q in pairs) <= 0.01

    pairs = list(_transcripts(ZCDP(0.5), seed, 9).values())
    for order in (1.5, 2, 4, 16):
        divergence = math.log(sum(p**order * q ** (1 - order) for p, q in pairs)) / (order - 1)
        assert divergence <= order * 0.5 + 1e-9

    notion = RenyiDP(3, 0.01)
    pairs = list(_transcripts(notion, seed, 9).values())
    order = float(notion.order)
    assert notion.limit is not None
    assert math.log(sum(p**order * q ** (1 - order) for p, q in pairs)) / (order - 1) <= float(notion.limit[0]) + 1e-9
    assert sum(max(0.0, p - math.exp(3) * q) for p, q in pairs) <= 0.01


def test_a_wrong_filter_would_be_caught_v42() -> None:
    """The same check refutes a ledger that charges pure losses at half their ρ."""

    class Cheap(ZCDP):
        def cost(self, loss: Loss) -> Any:
            return (super().cost(loss)[0] / 4,)

    worst = 0.0
    for seed in range(6):
        pairs = list(_transcripts(Cheap(0.5), seed, 9).values())
        worst = max(worst, math.log(sum(p**2 / q for p, q in pairs)))
    assert worst > 2 * 0.5


# -- V-41: groups that can change together


class NameAndShame(Mechanism):
    """(0, δ)-DP, at every distance: with probability δ the exact value goes out, else nothing."""

    delta = Fraction(1, 10)
    loss = Loss(approx=(Fraction(0), delta), what="name and shame")

    def __init__(self, claims_proportional: bool) -> None:
        self.claims_proportional = claims_proportional

    def proportional(self, notion: Notion, value: Any) -> bool:
        return self.claims_proportional

    def check(self, value: Any) -> None:
        return None

    def calibrate(self, value: Any) -> Any:
        raise TypeError

    def sample(self, value: Any, exact: Any, noise: Any) -> Any:
        raise TypeError

    def law(self, exact: int) -> dict[Any, Fraction]:
        return {exact: self.delta, None: 1 - self.delta}


def test_groups_that_change_together_are_charged_apart_only_for_proportional_losses_v41() -> None:
    """V-41, by brute force: after head, neighbours can differ in two groups. A loss that does not shrink with the
    distance then happens twice; the rule of the maximum would charge it once."""
    people = People(budget=ApproxDP(10, 0.9))
    groups = [g.shape[0]._value for _, g in people.df.head(2).groupby("sex")]
    # head(2) of (F, F, M) and of (M, F, F, M), as counts of F and M:
    left, right = (2, 0), (1, 1)

    def true_delta(mechanism: NameAndShame) -> Fraction:
        laws = [[mechanism.law(n) for n in pair] for pair in (left, right)]
        total = Fraction(0)
        for out in itertools.product({None, *left, *right}, repeat=2):
            p, q = (math.prod(law.get(x, Fraction(0)) for law, x in zip(both, out, strict=True)) for both in laws)
            total += max(Fraction(0), p - q)
        return total

    def charge(mechanism: NameAndShame) -> Fraction:
        ledger = Ledger()
        ledger.open(groups[0].cells[0].root, "people", ApproxDP())
        jail = type(session.jail())(engine=None, ledger=ledger)
        for value in groups:
            ledger.charge(jail.charges(Query(value, mechanism)))  # type: ignore[arg-type]
        return ledger.accounts()[0].total()[1]

    honest, lying = NameAndShame(False), NameAndShame(True)
    assert true_delta(honest) == Fraction(19, 100)  # 1 - (1 - δ)²
    assert charge(lying) == Fraction(1, 10) < true_delta(lying)
    assert charge(honest) == Fraction(2, 10) >= true_delta(honest)


def test_a_private_table_of_a_frame_is_a_new_data_set_each_time() -> None:
    """A frame in the analyst's own process is already hers; each from_frame has an account of its own."""
    one, two = People(frame=rows(3)), People(frame=rows(3))
    one.df.shape[0].reveal(eps=0.1)
    assert two.cost() == 0
