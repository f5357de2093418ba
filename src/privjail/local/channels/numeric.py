"""What the channels for numbers share: a decoded report is an unbiased guess of the number."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from functools import cached_property

import numpy as np

from privjail.local.channels.channel import Floats, TableChannel
from privjail.local.channels.domain import Grid


class NumericChannel(TableChannel):
    """A channel on a grid of numbers; E[decoded report | d] is d itself, exactly."""

    domain: Grid

    @abstractmethod
    def position(self, output: int) -> Fraction:
        """The unbiased guess of the grid position: Σ_o P[o|d] · position(o) = d for every d."""

    @cached_property
    def guesses(self) -> Floats:
        """The number that each output stands for."""
        return np.array([float(self.domain.number(self.position(o))) for o in self.outputs()])
