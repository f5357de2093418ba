"""Models on private tables, with scikit-learn's names and habits: ordinary programs that see noisy sums only.

from privjail import learn
model = learn.AdditiveClassifier().fit(df[features], df["income"], eps=1, delta=1e-5)
model.predict(public_table)
"""

from __future__ import annotations

from typing import NoReturn

from privjail.learn.additive import AdditiveClassifier, LogisticRegression
from privjail.learn.bayes import CategoricalNB, GaussianNB
from privjail.learn.clusters import KMeans
from privjail.learn.encoders import KBinsDiscretizer, OneHotEncoder
from privjail.learn.linear import PCA, LinearRegression, Ridge
from privjail.learn.regressor import AdditiveRegressor
from privjail.learn.scaler import StandardScaler
from privjail.learn.spending import rho_for
from privjail.learn.trees import DecisionTreeClassifier, RandomForestClassifier
from privjail.learn.validation import cross_val_score
from privjail.learn.words import not_offered

__all__ = [
    "AdditiveClassifier",
    "AdditiveRegressor",
    "CategoricalNB",
    "DecisionTreeClassifier",
    "GaussianNB",
    "KBinsDiscretizer",
    "KMeans",
    "LinearRegression",
    "LogisticRegression",
    "OneHotEncoder",
    "PCA",
    "RandomForestClassifier",
    "Ridge",
    "StandardScaler",
    "cross_val_score",
    "rho_for",
]


def __getattr__(name: str) -> NoReturn:
    not_offered(name, __all__)
