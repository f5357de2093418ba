"""The definitions and basic theorems: sets, post-processing, composition, Laplace noise, randomised response."""

from __future__ import annotations

from typing import Any

from privjail.verify.proofs.symbolic import Obligation, start


def _reals(names: str) -> Any:
    import z3

    return z3.Reals(names)


def definition() -> list[Obligation]:
    import z3

    P, Q, p, q, c, D, H = _reals("P Q p q c D H")
    excess = p - c * q
    positive = z3.If(excess > 0, excess, 0)
    mass = z3.And(p >= 0, q >= 0, c >= 1)
    zero, one = z3.RealVal(0), z3.RealVal(1)
    return [
        start(
            "definition", "sets from points", "The empty set: P = Q = 0, and P ≤ c·Q.",
            mass, c * Q >= P, [(P, zero), (Q, zero)], [(P, one), (Q, zero)], "P = 1",
        ),
        Obligation(
            "sets from points", "definition",
            "If every outcome has p ≤ c·q, every set S has P(S) ≤ c·Q(S). Induction over the outcomes in S: the step.",
            z3.Implies(z3.And(mass, c * Q >= P, p <= c * q), P + p <= c * (Q + q)),
            z3.Implies(z3.And(mass, c * Q >= P, p <= c * q), P + p <= Q + c * q),
            "the factor is left out for the outcomes so far",
        ),
        start(
            "definition", "hockey-stick sums", "No outcome yet: D = H = 0, so D ≤ H, and D = H.",
            mass, z3.And(D <= H, D == H), [(D, zero), (H, zero)], [(D, zero), (H, one)], "H = 1",
        ),
        Obligation(
            "hockey-stick bounds every set", "definition",
            "Let D = P(S) − c·Q(S), H = Σ max(0, p − c·q). Then D ≤ H, whether the next outcome is in S or not: "
            "the step.",
            z3.Implies(z3.And(mass, D <= H), z3.And(D + excess <= H + positive, H + positive >= D)),
            z3.Implies(z3.And(mass, D <= H), z3.And(D + excess <= H, D <= H)),
            "the sum forgets the outcome",
        ),
        Obligation(
            "hockey-stick is reached", "definition",
            "The set S* of the outcomes with p > c·q has P(S*) − c·Q(S*) = H exactly: the step. So H is the "
            "smallest δ.",
            z3.Implies(z3.And(mass, D == H), z3.If(excess > 0, D + excess, D) == H + positive),
            z3.Implies(z3.And(mass, D == H), z3.If(excess > -1, D + excess, D) == H + positive),
            "another cut than p > c·q",
        ),
        Obligation(
            "pure implies approximate", "definition",
            "c-indistinguishable laws are (c′, δ)-indistinguishable for all c′ ≥ c, δ ≥ 0.",
            z3.Implies(z3.And(Q >= 0, c * Q >= P, c <= D, H >= 0), P <= D * Q + H),
            z3.Implies(z3.And(Q >= 0, c * Q >= P, c >= D, H >= 0), P <= D * Q + H),
            "a smaller factor",
        ),
    ]  # fmt: skip


def post_processing() -> list[Obligation]:
    import z3

    A, B, p, q, c, k, D, H = _reals("A B p q c k D H")
    X, Y = z3.DeclareSort("X"), z3.DeclareSort("Y")
    g, S, T = z3.Function("g", X, Y), z3.Function("S", Y, z3.BoolSort()), z3.Function("T", X, z3.BoolSort())
    x, y = z3.Const("x", X), z3.Const("y", X)
    preimage = T(x) == S(g(x))
    excess = p - c * q
    positive = z3.If(excess > 0, excess, 0)
    mass = z3.And(p >= 0, q >= 0, c >= 1)
    zero, one = z3.RealVal(0), z3.RealVal(1)
    nothing = [(A, zero), (B, zero), (D, zero), (H, zero)]
    return [
        start(
            "post-processing", "all three sums", "No outcome yet: A = B = D = H = 0.",
            mass, z3.And(A == B, D <= H, c * B >= A), nothing, [(A, one), *nothing[1:]], "A = 1",
        ),
        Obligation(
            "deterministic g", "post-processing",
            "Pr[g(M) ∈ S] = Pr[M ∈ T] with T = g⁻¹(S): the step over outcomes x of mass p. Any bound on all T then "
            "bounds all S.",
            z3.Implies(z3.And(A == B, preimage), A + z3.If(S(g(x)), p, 0) == B + z3.If(T(x), p, 0)),
            z3.Implies(z3.And(A == B, T(y) == S(g(y))), A + z3.If(S(g(x)), p, 0) == B + z3.If(T(x), p, 0)),
            "T is the preimage at another point only",
        ),
        Obligation(
            "randomised, (ε, δ)", "post-processing",
            "A kernel sends x into S with chance k ∈ [0, 1]. Then Σ (p − c·q)·k ≤ Σ max(0, p − c·q) = δ: the step.",
            z3.Implies(z3.And(mass, k >= 0, k <= 1, D <= H), D + excess * k <= H + positive),
            z3.Implies(z3.And(mass, k >= 0, D <= H), D + excess * k <= H + positive),
            "k may be above 1",
        ),
        Obligation(
            "randomised, pure", "post-processing",
            "With p ≤ c·q: Σ p·k ≤ c·Σ q·k: the step.",
            z3.Implies(z3.And(mass, k >= 0, c * B >= A, p <= c * q), A + p * k <= c * (B + q * k)),
            z3.Implies(z3.And(mass, c * B >= A, p <= c * q), A + p * k <= c * (B + q * k)),
            "k may be negative",
        ),
    ]  # fmt: skip


def sequential() -> list[Obligation]:
    import z3

    P, Q, p, q, c, d = _reals("P Q p q c d")
    r, t, delta = _reals("r t delta")
    adaptive = z3.And(p >= 0, q >= 0, c >= 1, d >= 1, r >= 0, r <= 1, t >= 0, t <= 1, delta >= 0, r <= d * t + delta)
    positive = z3.If(p - c * q > 0, p - c * q, 0)
    both = z3.And(P >= 0, Q >= 0, p >= 0, q >= 0, c >= 1, d >= 1, c * Q >= P)
    one, two = z3.RealVal(1), z3.RealVal(2)
    return [
        start(
            "sequential", "pure, any number of mechanisms", "No answer yet: P = Q = 1 and c = 1 = e⁰.",
            z3.And(p >= 0, q >= 0, d >= 1), z3.And(P >= 0, Q >= 0, c >= 1, c * Q >= P),
            [(P, one), (Q, one), (c, one)], [(P, two), (Q, one), (c, one)], "P = 2",
        ),
        Obligation(
            "pure, any number of mechanisms", "sequential",
            "P ≤ c·Q for the answers so far (c = e^{ε₁+…}), p ≤ d·q for the next, given them: P·p ≤ (c·d)·(Q·q). "
            "The step.",
            z3.Implies(z3.And(both, p <= d * q), P * p <= c * d * (Q * q)),
            z3.Implies(z3.And(both, p <= d * q), P * p <= c * (Q * q)),
            "the second factor is not paid",
        ),
        Obligation(
            "(ε, δ), adaptive", "sequential",
            "First answer x has p, q; the second mechanism, chosen by x, falls into S_x with r ≤ d·t + δ₂. Then "
            "p·r ≤ c·d·q·t + δ₂·p + max(0, p − c·q). Summed over x: Pr[S] ≤ e^{ε₁+ε₂} Pr′[S] + δ₂ + δ₁.",
            z3.Implies(adaptive, p * r <= c * d * q * t + delta * p + positive),
            z3.Implies(adaptive, p * r <= c * d * q * t + delta * p),
            "δ₁ is not paid",
        ),
    ]  # fmt: skip


def parallel() -> list[Obligation]:
    import z3

    P, Q, p, q, c, d, top = _reals("P Q p q c d top")
    moved, moves = z3.Bools("moved moves")
    law = z3.And(P >= 0, Q >= 0, p >= 0, q >= 0, c >= 1, d >= 1, c <= top, d <= top)
    so_far = z3.If(moved, c * Q >= P, P == Q)
    here = z3.If(moves, p <= d * q, p == q)
    after = z3.If(z3.Or(moved, moves), P * p <= top * (Q * q), P * p == Q * q)
    one, two, no = z3.RealVal(1), z3.RealVal(2), z3.BoolVal(False)
    return [
        start(
            "parallel", "at most one part moves", "No part yet: P = Q = 1, and none has moved.",
            z3.And(c >= 1), z3.And(P >= 0, Q >= 0, so_far),
            [(P, one), (Q, one), (moved, no)], [(P, two), (Q, one), (moved, no)], "P = 2",
        ),
        Obligation(
            "at most one part moves", "parallel",
            "The parts so far moved (P ≤ c·Q) or did not (P = Q); the next moves (p ≤ d·q) or does not; not both. Then "
            "P·p ≤ max(c, d)·Q·q, and P·p = Q·q if neither moved. The step, for any number of parts.",
            z3.Implies(z3.And(law, so_far, here, z3.Not(z3.And(moved, moves))), after),
            z3.Implies(z3.And(law, so_far, here), after),
            "two parts may move",
        )
    ]  # fmt: skip


def laplace() -> list[Obligation]:
    import z3

    alpha, w, v = _reals("alpha w v")
    z, d = z3.Ints("z d")
    x, y, m, total, apart, far = _reals("x y m total apart far")
    size = z3.If(z >= 0, z, -z)
    after = z3.If(z + 1 >= 0, z + 1, -z - 1)
    # w = α^|z|, v = α^|z+1|: the exponent moves by one, so one is α times the other
    powers = z3.And(alpha > 0, alpha < 1, w > 0, z3.If(after == size + 1, v == alpha * w, v * alpha == w))
    tie = z3.Or(after == size + 1, after == size - 1)

    def length(t: Any) -> Any:
        return z3.If(t >= 0, t, -t)

    return [
        Obligation(
            "exponents move by one", "laplace", "| |z + 1| − |z| | = 1 for all whole z.",
            tie, after == size + 1, "always outward",
        ),
        Obligation(
            "one step costs a factor 1/α", "laplace",
            "With w = α^|z|, v = α^|z+1|: α·w ≤ v and α·v ≤ w. So Pr[X = z] and Pr[X = z + 1] differ by at most 1/α; d "
            "steps by at most α^−d (sequential composition of steps), for all whole z and every α in (0, 1).",
            z3.Implies(powers, z3.And(alpha * w <= v, alpha * v <= w)),
            z3.Implies(powers, z3.And(alpha * w <= v * alpha, alpha * v <= w)),
            "a step for nothing",
        ),
        Obligation(
            "real numbers", "laplace",
            "|z − x| − |z − y| ≤ |x − y|: one element; exp is monotone, so densities differ by at most exp(|x − y|/b).",
            length(m - x) - length(m - y) <= length(x - y),
            length(m - x) - length(m - y) <= length(x - y) / 2,
            "half the distance",
        ),
        start(
            "laplace", "vectors", "No element yet: both sums are 0.",
            m == m, total <= apart, [(total, z3.RealVal(0)), (apart, z3.RealVal(0))],
            [(total, z3.RealVal(1)), (apart, z3.RealVal(0))], "the sum begins at 1",
        ),
        Obligation(
            "vectors", "laplace",
            "Σ|z_i − x_i| − Σ|z_i − y_i| ≤ Σ|x_i − y_i| for any number of elements: the step.",
            z3.Implies(total <= apart, total + length(m - x) - length(m - y) <= apart + length(x - y)),
            z3.Implies(total <= apart, total + length(m - x) - length(m - y) <= apart),
            "the element's own distance is left out",
        ),
        Obligation(
            "a larger scale only helps", "laplace",
            "A distance of d steps at scale b costs d/b; for b ≥ d/ε this is at most ε. (b is rounded up to a float.)",
            z3.Implies(z3.And(x > 0, y > 0, m > 0, y >= x / m), x <= m * y),
            z3.Implies(z3.And(x > 0, y > 0, m > 0, y <= x / m), x <= m * y),
            "rounded down",
        ),
        Obligation(
            "rounding to a coarser grid", "laplace",
            "Write x = c·s + u, y = c·t + v with |u|, |v| ≤ c/2 (rounded to s, t) and |x − y| ≤ far·c. Then |s − "
            "t| ≤ far + 1.",
            z3.Implies(z3.And(-z3.Q(1, 2) <= w, w <= z3.Q(1, 2), -z3.Q(1, 2) <= v, v <= z3.Q(1, 2),
                              length((z + w) - (d + v)) <= far), length(z3.ToReal(z) - z3.ToReal(d)) <= far + 1),
            z3.Implies(z3.And(-z3.Q(1, 2) <= w, w <= z3.Q(1, 2), -z3.Q(1, 2) <= v, v <= z3.Q(1, 2),
                              length((z + w) - (d + v)) <= far), length(z3.ToReal(z) - z3.ToReal(d)) <= far),
            "rounding is free",
        ),
    ]  # fmt: skip


def response() -> list[Obligation]:
    import z3

    p, q, c, k = _reals("p q c k")
    law = z3.And(k >= 2, c >= 1, p == c / (c + k - 1), q == (1 - p) / (k - 1))
    two = z3.And(k >= 2, c >= 1, p == c / (c + 1), q == (1 - p) / (k - 1))
    return [
        Obligation(
            "k-ary", "response",
            "The truth with p = c/(c + k − 1), any other answer with q = (1 − p)/(k − 1): p ≤ c·q and q ≤ c·p, for "
            "every k ≥ 2.",
            z3.Implies(law, z3.And(p <= c * q, q <= c * p)),
            z3.Implies(two, z3.And(p <= c * q, q <= c * p)),
            "the p of two answers, for k of them",
        )
    ]  # fmt: skip


ALL = [definition, post_processing, sequential, parallel, laplace, response]
