"""Models on private tables, with scikit-learn's names and habits: ordinary programs that see noisy sums only.

from privjail import learn
model = learn.AdditiveClassifier().fit(df[features], df["income"], eps=1, delta=1e-5)
model.predict(public_table)
"""

from __future__ import annotations

from privjail.learn.additive import AdditiveClassifier, LogisticRegression

__all__ = ["AdditiveClassifier", "LogisticRegression"]
