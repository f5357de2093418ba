"""Public draws for simulations: a fixed list of numbers that looks random. Noise of releases is never drawn here."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

import numpy

Array = numpy.ndarray[Any, Any]


@lru_cache(maxsize=64)
def uniform(name: str, *shape: int) -> Array:
    """Numbers strictly between 0 and 1, the same for the same name and shape."""
    size = int(numpy.prod(shape))
    words = numpy.frombuffer(hashlib.shake_256(name.encode()).digest(4 * size), dtype="<u4")
    found: Array = ((words + 0.5) / 2.0**32).reshape(shape)
    return found


@lru_cache(maxsize=64)
def normal(name: str, *shape: int) -> Array:
    """Standard normal numbers (Box and Muller)."""
    one, two = uniform(name + " radius", *shape), uniform(name + " angle", *shape)
    found: Array = numpy.sqrt(-2 * numpy.log(one)) * numpy.cos(2 * numpy.pi * two)
    return found


def laplace(name: str, scale: float, *shape: int) -> Array:
    """Numbers with the law of Laplace noise of this scale."""
    found: Array = scale * _laplace(name, *shape)
    return found


@lru_cache(maxsize=64)
def _laplace(name: str, *shape: int) -> Array:
    u = uniform(name, *shape) - 0.5
    found: Array = -numpy.sign(u) * numpy.log1p(-2 * numpy.abs(u))
    return found
