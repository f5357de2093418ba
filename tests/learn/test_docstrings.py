"""Every model, and every function of privjail.numpy, explains itself with an example that runs."""

from __future__ import annotations

import inspect

import pytest

from privjail import learn, stats, synth
from privjail import numpy as np
from tests.pandas.test_docstrings import names, run  # noqa: F401

PUBLIC = [getattr(learn, name) for name in learn.__all__ if inspect.isclass(getattr(learn, name))]
PUBLIC += [synth.Synthesizer, np.clip_norm, np.normalize, np.eye, np.sigmoid, np.mean]
PUBLIC += [learn.cross_val_score, stats.linear_regression, stats.logistic_regression, stats.ttest, stats.ab_test]
PUBLIC += [stats.chi2_test]


@pytest.mark.parametrize("thing", PUBLIC, ids=lambda x: x.__name__)
def test_an_example_runs(thing, names):  # noqa: F811
    examples, failures = run(thing, {**names, "learn": learn, "np": np, "synth": synth, "stats": stats})

    assert examples, "an example is missing"
    assert not failures, failures
