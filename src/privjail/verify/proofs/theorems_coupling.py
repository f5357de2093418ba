"""Mechanisms that choose, for arbitrary counts, any number of them and every α in (0, 1): by coupling shifted noise."""

from __future__ import annotations

from typing import Any

from privjail.verify.proofs.symbolic import Obligation, start


def _max(a: Any, b: Any) -> Any:
    import z3

    return z3.If(a >= b, a, b)


def _coupling(kind: str, low: int, high: int, width: int, sort: str) -> list[Obligation]:
    """Counts move by something in [low, high]; then the winning noise moves by at most ``width``.

    ``sort``: "whole" noise, where of equal scores the first wins, or "real" noise, where no two scores are equal.
    """
    import z3

    names = "M N x y u v r s"
    M, N, x, y, u, v, r, s = z3.Ints(names) if sort == "whole" else z3.Reals(names)
    t = z3.Int("t") if sort == "whole" else z3.RealVal(0)
    ties = z3.And(t >= 0, t <= 1)
    best = "x_j + r_j + [j < i]" if sort == "whole" else "x_j + r_j"
    equal = " (t = [j < i] settles equal scores.)" if sort == "whole" else ""
    kind = f"{kind}, {sort} noise"

    def near(a: Any, b: Any) -> Any:
        return z3.And(a + low <= b, b <= a + high)

    shifted = z3.And(M - x - width <= N - y, N - y <= M - x + width)
    moved = f"M + {low} ≤ N ≤ M + {high}".replace(" + -", " − ")
    return [
        Obligation(
            f"the rivals' best, {kind}: the start", "noisy max",
            f"One rival, which moves from u to v; its noise r is the same on both sides: {moved} for M = u + r, N = "
            f"v + r.",
            z3.Implies(z3.And(near(u, v), ties), near(u + r + t, v + r + t)),
            z3.Implies(z3.And(near(u, v), ties), near(u + r + t, v + s + t)),
            "its noise is another one on D′",
        ),
        Obligation(
            f"the rivals' best, {kind}", "noisy max",
            f"M, N: the largest {best} over the rivals so far, on D and on D′. If {moved}, and one more rival moves "
            f"from "
            f"u to v in the same way (same noise r), the maxima keep that. The step, so for any number m of "
            f"counts.{equal}",
            z3.Implies(z3.And(near(M, N), near(u, v), ties), near(_max(M, u + r + t), _max(N, v + r + t))),
            z3.Implies(z3.And(near(M, N), near(u, v), ties), near(_max(M, u + r + t), N)),
            "the rival is forgotten on D′",
        ),
        Obligation(
            f"the winning noise, {kind}", "noisy max",
            f"i wins iff r_i ≥ r* with r* = M − x_i, on D′ iff r_i ≥ N − x′_i. The two differ by at most {width}.",
            z3.Implies(z3.And(near(M, N), near(x, y)), shifted),
            z3.Implies(z3.And(near(M, N), near(x, y)), M - x == N - y),
            "they do not differ at all",
        ),
    ]  # fmt: skip


def _winner() -> list[Obligation]:
    """i wins iff r_i ≥ r*: for whole noise, where the first of equal scores wins, and for real noise."""
    import z3

    a, b, M, x, r, t = z3.Ints("a b M x r t")
    A, B, L, X, R = z3.Reals("A B L X R")
    before, wins = z3.Bools("before wins")
    one = z3.If(before, 1, 0)
    so_far = wins == (x + r >= M)
    below, above = z3.Implies(wins, L <= X + R), z3.Implies(X + R > L, wins)
    # i beats all rivals so far, and the next one, whose noisy score is B: strictly, since no two are equal.
    next_wins = z3.And(wins, X + R > B)
    return [
        Obligation(
            "the first of equal scores, whole noise", "noisy max",
            "a: the noisy score of i, b: of a rival j. i is taken before j iff a > b, or a = b and i comes first. "
            "For whole "
            "numbers that is a ≥ b + [j < i].",
            z3.If(before, a > b, a >= b) == (a >= b + one),
            z3.If(before, a > b, a >= b) == (a >= b),
            "equal scores both win",
        ),
        start(
            "noisy max", "i wins iff r_i ≥ r*, whole noise",
            "One rival: i wins iff x + r ≥ M, where M = b + [j < i].",
            wins == z3.If(before, x + r > b, x + r >= b), so_far, [(M, b + one)], [(M, b)], "M = b",
        ),
        Obligation(
            "i wins iff r_i ≥ r*, whole noise", "noisy max",
            "If i beats all rivals so far iff x + r ≥ M, it beats them and one more, a = x_j + r_j + [j < i], iff x "
            "+ r ≥ "
            "max(M, a); and that is r ≥ max(M, a) − x = r*. The step.",
            z3.Implies(so_far, z3.And(z3.And(wins, x + r >= a) == (x + r >= _max(M, a)),
                                      (x + r >= _max(M, a)) == (r >= _max(M, a) - x))),
            z3.Implies(so_far, z3.And(wins, x + r >= a) == (x + r >= M)),
            "the next rival is forgotten",
        ),
        start(
            "noisy max", "i wins iff r_i ≥ r*, real noise",
            "One rival: i wins iff x + r > M, where M = b. So winning implies r ≥ M − x, and r > M − x implies "
            "winning.",
            wins == (X + R > B), z3.And(below, above), [(L, B)], [(L, B + 1)], "M = b + 1",
        ),
        Obligation(
            "i wins iff r_i ≥ r*, real noise", "noisy max",
            "Winning implies r ≥ r*, and r > r* implies winning; r = r* has probability 0. Kept by one more rival, "
            "whose "
            "noisy score is B, with r* = max(M, B) − x: the step.",
            z3.Implies(z3.And(below, above), z3.And(z3.Implies(next_wins, _max(L, B) - X <= R),
                                                    z3.Implies(_max(L, B) - X < R, next_wins))),
            z3.Implies(z3.And(below, above), z3.Implies(R > L - X, next_wins)),
            "the next rival is forgotten",
        ),
    ]  # fmt: skip


def noisy_max() -> list[Obligation]:
    import z3

    alpha, w, P, Q, p, q, c, weight = z3.Reals("alpha w P Q p q c weight")
    ratio = z3.And(alpha > 0, alpha < 1)
    one = z3.RealVal(1)
    up, up_next = w / (1 + alpha), alpha * w / (1 + alpha)  # k ≥ 0, w = α^k
    down, down_next = one - alpha * w / (1 + alpha), one - w / (1 + alpha)  # k < 0, w = α^−k ≤ 1
    mass = (1 - alpha) / (1 + alpha)
    tails = z3.And(alpha * up <= up_next, up_next <= up, alpha * down <= down_next, down_next <= down)
    law = z3.And(up - up_next == mass * w, down - down_next == mass * w)
    k = z3.Int("k")
    here, there = z3.If(k >= 0, w, one), z3.If(k >= 0, alpha * w, one)  # G(k), G(k + 1) of one-sided noise
    mixture = z3.And(weight >= 0, c >= 1, c * Q >= P, p <= c * q)
    v = z3.Real("v")
    across = z3.And(
        w > 0, w <= 1, v > 0, v <= 1, z3.If(k >= 0, v == alpha * w, w == alpha * v),
        z3.Implies(k == 0, w == 1), z3.Implies(k == -1, v == 1),
    )  # fmt: skip

    def tail(at: Any, power: Any) -> Any:
        return z3.If(at >= 0, power / (1 + alpha), one - alpha * power / (1 + alpha))

    here_two = tail(k, w)
    return [
        *_winner(),
        *_coupling("counts (all move one way)", 0, 1, 1, "whole"),
        *_coupling("counts (all move one way)", 0, 1, 1, "real"),
        *_coupling("scores (each moves either way)", -1, 1, 2, "whole"),
        *_coupling("scores (each moves either way)", -1, 1, 2, "real"),
        Obligation(
            "the tail is the sum of the law", "noisy max",
            "G(k) = Pr[X ≥ k] of discrete Laplace noise: α^k/(1 + α) for k ≥ 0, 1 − α^{1−k}/(1 + α) for k < 0. "
            "G(k) − G(k + 1) "
            "= (1 − α)/(1 + α)·α^|k| in both cases (w = α^|k|), and G → 0.",
            z3.Implies(z3.And(ratio, w > 0), law),
            z3.Implies(z3.And(ratio, w > 0), up - up_next == mass * w * alpha),
            "a law that is shifted by one",
        ),
        start(
            "noisy max", "powers stay between 0 and 1", "α⁰ = 1.",
            ratio, z3.And(w > 0, w <= 1), [(w, one)], [(w, one + one)], "α⁰ = 2",
        ),
        Obligation(
            "powers stay between 0 and 1", "noisy max",
            "0 < α^n ≤ 1 for every n ≥ 0: the step from n to n + 1.",
            z3.Implies(z3.And(ratio, w > 0, w <= 1), z3.And(alpha * w > 0, alpha * w <= 1)),
            z3.Implies(z3.And(ratio, w > 0, w <= 1), z3.And(alpha * w > 0, alpha * w <= alpha / 2)),
            "powers stay below α/2",
        ),
        Obligation(
            "a shift of one costs 1/α", "noisy max",
            "α·G(k) ≤ G(k + 1) ≤ G(k) for all whole k and every α in (0, 1), with w = α^|k| ≤ 1.",
            z3.Implies(z3.And(ratio, w > 0, w <= 1), tails),
            z3.Implies(z3.And(ratio, w > 0), tails),
            "w may be above 1",
        ),
        Obligation(
            "a shift of one across 0", "noisy max",
            "The same in one formula, for all whole k: w = α^|k|, v = α^|k+1|, and G(k) by the sign of k, G(k + 1) "
            "by that of "
            "k + 1. (For k < 0 ≤ k + 1 the two formulas of the tail meet.)",
            z3.Implies(z3.And(ratio, across), z3.And(alpha * here_two <= tail(k + 1, v), tail(k + 1, v) <= here_two)),
            z3.Implies(z3.And(ratio, across), z3.And(alpha * here_two <= tail(k + 1, w), tail(k + 1, v) <= here_two)),
            "the power does not change",
        ),
        Obligation(
            "geometric noise has such tails, too", "noisy max",
            "One-sided noise: G(k) = α^k for k ≥ 0 and 1 below: α·G(k) ≤ G(k + 1) ≤ G(k) for all whole k (w = α^k "
            "where k ≥ 0).",
            z3.Implies(z3.And(ratio, w > 0, w <= 1), z3.And(alpha * here <= there, there <= here)),
            z3.Implies(z3.And(ratio, w > 0, w <= 1), z3.And(here <= there, there <= here)),
            "a shift for nothing",
        ),
        *_real_tails(),
        start(
            "noisy max", "over all noise of the rivals", "No noise yet: P = Q = 0.",
            z3.And(c >= 1), c * Q >= P, [(P, z3.RealVal(0)), (Q, z3.RealVal(0))],
            [(P, one), (Q, z3.RealVal(0))], "P = 1",
        ),
        Obligation(
            "over all noise of the rivals", "noisy max",
            "Given the rivals' noise, Pr[i wins] is p on D, q on D′ with p ≤ c·q. Weighted sums over that noise "
            "keep it: the step.",
            z3.Implies(mixture, P + weight * p <= c * (Q + weight * q)),
            z3.Implies(z3.And(c >= 1, c * Q >= P, p <= c * q), P + weight * p <= c * (Q + weight * q)),
            "weights may be negative",
        ),
    ]  # fmt: skip


def _real_tails() -> list[Obligation]:
    """Noise on the reals: exponential, as the library's noisy max has it, and Laplace."""
    import z3

    t, s, alpha, e_t, e_s = z3.Reals("t s alpha e_t e_s")
    shift = z3.And(alpha > 0, alpha < 1, t <= s, s <= t + 1)
    # e_t = e^{−t/b} and e_s = e^{−s/b} at t ≤ s ≤ t + 1, α = e^{−1/b}: exp falls, and one unit is the factor α.
    falls = z3.And(shift, e_s <= e_t, e_s >= alpha * e_t, e_t > 0)
    anchored = z3.And(z3.Implies(t <= 0, e_t >= 1), z3.Implies(s >= 0, e_s <= 1), z3.Implies(s <= 1, e_s >= alpha))
    upper = z3.And(z3.Implies(s <= 0, e_s >= 1), z3.Implies(t >= 0, e_t <= 1))
    G, H = z3.If(t <= 0, 1, e_t), z3.If(s <= 0, 1, e_s)
    # Here e_t = e^{−|t|/b}, e_s = e^{−|s|/b}; where t < 0 ≤ s their product is e^{−(s − t)/b} ≥ α.
    sizes = z3.And(e_t > 0, e_t <= 1, e_s > 0, e_s <= 1)
    powers = z3.And(
        z3.Implies(t >= 0, z3.And(e_s <= e_t, e_s >= alpha * e_t)),
        z3.Implies(s < 0, z3.And(e_t <= e_s, e_t >= alpha * e_s)),
        z3.Implies(z3.And(t < 0, s >= 0), e_t * e_s >= alpha),
    )
    F = z3.If(t >= 0, e_t / 2, 1 - e_t / 2)
    K = z3.If(s >= 0, e_s / 2, 1 - e_s / 2)
    return [
        Obligation(
            "exponential noise on the reals", "noisy max",
            "G(t) = min(1, e^{−t/b}). A shift from t to s ≤ t + 1: α·G(t) ≤ G(s) ≤ G(t), from the facts that exp "
            "falls, that e^{−(t+1)/b} = α·e^{−t/b} and that e⁰ = 1. With the coupling for real noise this bounds the "
            "law of the "
            "largest score after exponential noise. The library draws it by permute and flip. That both are one law "
            "is shown "
            "in words: with s = e^{−(y − max)/b} the integral ∫ (1/b)·e^{−(y − x_i)/b}·Π_{j≠i} (1 − e^{−(y − "
            "x_j)/b}) dy over y ≥ "
            "max becomes a_i·∫ Π_{j≠i} (1 − a_j·s) ds over [0, 1], where a_j = e^{−(max − x_j)/b}.",
            z3.Implies(z3.And(falls, anchored, upper), z3.And(alpha * G <= H, H <= G)),
            z3.Implies(z3.And(falls, anchored, upper), z3.And(G <= H, H <= G)),
            "a shift for nothing",
        ),
        Obligation(
            "Laplace noise on the reals, both sides of 0", "noisy max",
            "G(t) = Pr[X ≥ t]: e^{−t/b}/2 for t ≥ 0, 1 − e^{t/b}/2 for t < 0. A shift from t to s ≤ t + 1, on one "
            "side of 0 or "
            "across it: α·G(t) ≤ G(s) ≤ G(t). (e_t, e_s: e to the power of −|t|/b and −|s|/b.)",
            z3.Implies(z3.And(shift, sizes, powers), z3.And(alpha * F <= K, K <= F)),
            z3.Implies(z3.And(shift, sizes, z3.substitute(powers, (e_t * e_s >= alpha, e_t >= alpha))),
                       z3.And(alpha * F <= K, K <= F)),
            "across 0 only one side is bounded",
        ),
    ]  # fmt: skip


def exponential() -> list[Obligation]:
    import z3

    W, V, w, v, b = z3.Reals("W V w v b")
    near = z3.And(w > 0, v > 0, b >= 1, w <= b * v, v <= b * w)
    sums = z3.And(W > 0, V > 0, b * V >= W, b * W >= V)
    return [
        start(
            "exponential", "sums of weights", "One weight: W = w, V = v.",
            near, sums, [(W, w), (V, v)], [(W, w + w), (V, v)], "it is counted twice on D",
        ),
        Obligation(
            "sums of weights", "exponential",
            "Each weight moves by a factor of at most b = e^{ε/2}; then so does their sum: the step.",
            z3.Implies(z3.And(near, sums), z3.And(W + w <= b * (V + v), V + v <= b * (W + w))),
            z3.Implies(z3.And(near, sums), W + w <= V + b * v),
            "the sum so far does not move",
        ),
        Obligation(
            "weight over sum", "exponential",
            "w/W ≤ b²·v/V: e^ε in all. (Written as w·V ≤ b²·v·W.)",
            z3.Implies(z3.And(near, sums), w * V <= b * b * v * W),
            z3.Implies(z3.And(near, sums), w * V <= b * v * W),
            "only the weight is paid for",
        ),
    ]  # fmt: skip


def above_threshold() -> list[Obligation]:
    import z3

    x, y, r, t, line = z3.Ints("x y r t line")
    P, Q, a, b, alpha, w, v = z3.Reals("P Q a b alpha w v")
    moved = z3.And(x - 1 <= y, y <= x + 1)
    shifts = z3.And(alpha > 0, alpha < 1, w > 0, v > 0, alpha * P <= Q, alpha * a <= b, P > 0, Q > 0, a > 0, b > 0)
    return [
        Obligation(
            "those below stay below", "above-threshold",
            "x + r < line + t ⟹ x′ + r < line + (t + 1), for every number that moves by at most one: any number of "
            "them.",
            z3.Implies(z3.And(moved, x + r < line + t), y + r < line + t + 1),
            z3.Implies(z3.And(moved, x + r < line + t), y + r < line + t),
            "the line is not shifted",
        ),
        Obligation(
            "the one above stays above", "above-threshold",
            "x + r ≥ line + t ⟹ x′ + (r + 2) ≥ line + (t + 1).",
            z3.Implies(z3.And(moved, x + r >= line + t), y + r + 2 >= line + t + 1),
            z3.Implies(z3.And(moved, x + r >= line + t), y + r + 1 >= line + t + 1),
            "its noise is shifted by one only",
        ),
        Obligation(
            "the price of both shifts", "above-threshold",
            "One step of the line's noise costs at most 1/α = e^{ε/2}, two steps of the number's noise (of half "
            "the rate) at "
            "most 1/α again: together P·a ≤ α^−2·Q·b = e^ε·Q·b. The shifts are one-to-one, so summing keeps it.",
            z3.Implies(shifts, alpha * alpha * (P * a) <= Q * b),
            z3.Implies(shifts, alpha * (P * a) <= Q * b),
            "one of the two is free",
        ),
    ]  # fmt: skip


def histogram() -> list[Obligation]:
    import z3

    p, q, c, tail, delta = z3.Reals("p q c tail delta")
    hidden = z3.And(c >= 1, tail >= 0, tail <= delta, delta <= 1)
    return [
        Obligation(
            "a key that one row brings in", "histogram",
            "On D the key is absent: hidden with chance 1. On D′ it is shown with chance at most δ. Every set S: "
            "Pr[S] ≤ c·Pr′[S] + δ in both directions (p: is 'hidden' in S; q: the part of the tail in S).",
            z3.Implies(
                z3.And(hidden, z3.Or(p == 0, p == 1), q >= 0, q <= tail),
                z3.And(p <= c * (p * (1 - tail) + q) + delta, p * (1 - tail) + q <= c * p + delta),
            ),
            z3.Implies(
                z3.And(hidden, z3.Or(p == 0, p == 1), q >= 0, q <= tail),
                p * (1 - tail) + q <= c * p,
            ),
            "δ is not paid",
        )
    ]  # fmt: skip


ALL = [exponential, noisy_max, above_threshold, histogram]
