"""Mechanisms that choose, for arbitrary counts, any number of them and every α in (0, 1): by coupling shifted noise."""

from __future__ import annotations

from typing import Any

from privjail.verify.symbolic import Obligation


def _max(a: Any, b: Any) -> Any:
    import z3

    return z3.If(a >= b, a, b)


def _coupling(kind: str, low: int, high: int, width: int) -> list[Obligation]:
    """Counts move by something in [low, high]; then the winning noise moves by at most ``width``."""
    import z3

    M, N, x, y, u, v = z3.Ints("M N x y u v")
    r, t = z3.Ints("r t")

    def near(a: Any, b: Any) -> Any:
        return z3.And(a + low <= b, b <= a + high)

    shifted = z3.And(M - x - width <= N - y, N - y <= M - x + width)
    return [
        Obligation(
            f"the rivals' best, {kind}", "noisy max",
            f"M, N: the largest x_j + r_j + [j < i] over the rivals so far, on D and on D′. If M + {low} ≤ N ≤ M + "
            f"{high}, and one "
            f"more rival moves from u to v with u + {low} ≤ v ≤ u + {high} (same noise r), the maxima keep that. "
            "The step, so for "
            "any number m of counts. (t = [j < i] settles equal scores.)",
            z3.Implies(z3.And(near(M, N), near(u, v), t >= 0, t <= 1), near(_max(M, u + r + t), _max(N, v + r + t))),
            z3.Implies(z3.And(near(M, N), near(u, v), t >= 0, t <= 1), near(_max(M, u + r + t), N)),
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
    return [
        *_coupling("counts (all move one way)", 0, 1, 1),
        *_coupling("scores (each moves either way)", -1, 1, 2),
        Obligation(
            "the tail is the sum of the law", "noisy max",
            "G(k) = Pr[X ≥ k] of discrete Laplace noise: α^k/(1 + α) for k ≥ 0, 1 − α^{1−k}/(1 + α) for k < 0. "
            "G(k) − G(k + 1) "
            "= (1 − α)/(1 + α)·α^|k| in both cases (w = α^|k|), and G → 0.",
            z3.Implies(z3.And(ratio, w > 0), law),
            z3.Implies(z3.And(ratio, w > 0), up - up_next == mass * w * alpha),
            "a law that is shifted by one",
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
            "geometric noise has such tails, too", "noisy max",
            "One-sided noise: G(k) = α^k for k ≥ 0 and 1 below: α·G(k) ≤ G(k + 1) ≤ G(k) for all whole k (w = α^k "
            "where k ≥ 0).",
            z3.Implies(z3.And(ratio, w > 0, w <= 1), z3.And(alpha * here <= there, there <= here)),
            z3.Implies(z3.And(ratio, w > 0, w <= 1), z3.And(here <= there, there <= here)),
            "a shift for nothing",
        ),
        _real_tail(),
        Obligation(
            "over all noise of the rivals", "noisy max",
            "Given the rivals' noise, Pr[i wins] is p on D, q on D′ with p ≤ c·q. Weighted sums over that noise "
            "keep it: the step.",
            z3.Implies(mixture, P + weight * p <= c * (Q + weight * q)),
            z3.Implies(z3.And(c >= 1, c * Q >= P, p <= c * q), P + weight * p <= c * (Q + weight * q)),
            "weights may be negative",
        ),
    ]  # fmt: skip


def _real_tail() -> Obligation:
    """Exponential noise on the reals, as the library's noisy max has it (permute and flip has the same law)."""
    import z3

    t, s, alpha, e_t, e_s, e_one = z3.Reals("t s alpha e_t e_s e_one")
    # e_t = e^{−t/b} and e_s = e^{−s/b} at t ≤ s ≤ t + 1, α = e^{−1/b}: exp falls, and one unit is the factor α.
    falls = z3.And(alpha > 0, alpha < 1, t <= s, s <= t + 1, e_s <= e_t, e_s >= alpha * e_t, e_t > 0)
    anchored = z3.And(z3.Implies(t <= 0, e_t >= 1), z3.Implies(s >= 0, e_s <= 1), z3.Implies(s <= 1, e_s >= alpha))
    upper = z3.And(z3.Implies(s <= 0, e_s >= 1), z3.Implies(t >= 0, e_t <= 1))
    G, H = z3.If(t <= 0, 1, e_t), z3.If(s <= 0, 1, e_s)
    return Obligation(
        "exponential noise on the reals", "noisy max",
        "G(t) = min(1, e^{−t/b}). A shift from t to s ≤ t + 1: α·G(t) ≤ G(s) ≤ G(t), from the facts that exp "
        "falls, that "
        "e^{−(t+1)/b} = α·e^{−t/b} and that e⁰ = 1. So the law that the library draws from has the same coupling.",
        z3.Implies(z3.And(falls, anchored, upper), z3.And(alpha * G <= H, H <= G)),
        z3.Implies(z3.And(falls, anchored, upper), z3.And(G <= H, H <= G)),
        "a shift for nothing",
    )  # fmt: skip


def exponential() -> list[Obligation]:
    import z3

    W, V, w, v, b = z3.Reals("W V w v b")
    near = z3.And(w > 0, v > 0, b >= 1, w <= b * v, v <= b * w)
    sums = z3.And(W > 0, V > 0, b * V >= W, b * W >= V)
    return [
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
