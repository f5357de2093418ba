"""Synthetic tables: made-up rows whose counts are close to those of a private table.

from privjail import synth
model = synth.Synthesizer().fit(df, eps=1, delta=1e-5)
model.sample(1000)
"""

from __future__ import annotations

from privjail.synth.synthesizer import Synthesizer

__all__ = ["Synthesizer"]
