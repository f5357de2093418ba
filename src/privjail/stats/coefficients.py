"""The errors of regression coefficients that were solved from noisy sums: b = A⁻¹·c.

Let G be the exact matrix and A = G + N the noisy one, with a noise whose law is known. The exact right-hand side is
G·β plus an error e of sampling, about normal with a variance that the model states; the noisy one has a noise n more.
So the noisy equations say A·b = G·β + e + n. Their solution is simulated with A in the place of G and b in the place of
β (a parametric bootstrap on sufficient statistics: Ferrando, Wang, Sheldon, AISTATS 2022): matrices A + N', right-hand
sides A·b + e' + n', solved in the same way. What these solutions miss b by is how b may miss β; it contains that noise
in A draws coefficients towards zero. The interval is b less the quantiles of that error.

This needs a matrix that is well above its noise in every direction; otherwise a result says that it is unreliable.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy

from privjail.stats.draws import Array, laplace, normal

DRAWS = 4_000
CLEAR = 8.0  # how many times the noise of the matrix its smallest eigenvalue must be
MOST = 40  # coefficients


@dataclass(frozen=True)
class Noisy:
    """A released vector of sums with independent noise of one size on each: Laplace of this scale, or normal."""

    values: Array
    scale: float
    is_normal: bool

    @property
    def deviation(self) -> float:
        return self.scale if self.is_normal else 2**0.5 * self.scale

    def noise(self, name: str) -> Array:
        """Simulated noise: one line for each draw."""
        shape = (DRAWS, len(self.values))
        found: Array = self.scale * normal(name, *shape) if self.is_normal else laplace(name, self.scale, *shape)
        return found


def matrix(values: Array, at: Array) -> Array:
    """A symmetric matrix whose elements stand in a vector at these places; for one vector, or for many at once."""
    found: Array = values[..., at]
    return found


def pairs(size: int) -> tuple[list[tuple[int, int]], Array]:
    """Each pair of columns once, and where a matrix of all pairs finds it."""
    found = [(i, j) for i in range(size) for j in range(i, size)]
    place = {pair: k for k, pair in enumerate(found)}
    at = [[place[min(i, j), max(i, j)] for j in range(size)] for i in range(size)]
    return found, numpy.array(at)


def clear_of_noise(found: Array, deviation: float) -> bool:
    """Whether a noisy matrix can be inverted: noise moves eigenvalues by about twice its size times √size."""
    return bool(numpy.linalg.eigvalsh(found)[0] >= CLEAR * deviation * numpy.sqrt(len(found)))


def root(found: Array) -> Array:
    """R with R·Rᵀ = the matrix without its negative eigenvalues."""
    sizes, vectors = numpy.linalg.eigh((found + found.T) / 2)
    made: Array = vectors * numpy.sqrt(numpy.maximum(sizes, 0.0))
    return made


def misses(found: Array, solution: Array, sides: Array, noise: Array) -> Array:
    """How far simulated solutions lie from the one that was found: matrix + noise, matrix·solution + sides."""
    moved = sides - numpy.einsum("sij,j->si", noise, solution)
    made: Array = numpy.linalg.solve(found + noise, moved[..., None])[..., 0]
    return made


def intervals(found: Array, errors: Array, confidence: float) -> tuple[Array, Array, Array]:
    """Lower and upper ends, and p-values of "it is zero"."""
    tail = (1 - confidence) / 2
    low, high = numpy.quantile(errors, [tail, 1 - tail], axis=0)
    false = (1 + (numpy.abs(errors) >= numpy.abs(found)).sum(axis=0)) / (1 + len(errors))
    return found - high, found - low, false
