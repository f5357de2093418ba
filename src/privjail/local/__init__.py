"""Data that people randomise themselves, with strengths that they pick and may keep secret.

>>> from privjail import local
>>> careful, open_ = local.Warner("3/5"), local.Warner("4/5")
>>> for s in local.strengths({"careful": careful, "open": open_}, {"careful": "1/2", "open": "1/2"}).values():
...     print(s)
careful: E = 0.405465 while hidden, ε = 0.405465 once known
open: E = 1.098612 while hidden, ε = 1.386294 once known
"""

from privjail.local.channel import Channel
from privjail.local.domain import Categories, Grid
from privjail.local.duchi import Duchi
from privjail.local.estimate import Estimate
from privjail.local.hashing import LocalHashing
from privjail.local.kary import KaryResponse, Warner
from privjail.local.laplace import GridLaplace
from privjail.local.mean import Mean
from privjail.local.pbp import Strength, strengths
from privjail.local.piecewise import Piecewise
from privjail.local.respondent import Memory, Respondent
from privjail.local.survey import Survey
from privjail.local.table import Table, processed, rounds
from privjail.local.unary import Unary

__all__ = [
    "Categories",
    "Channel",
    "Duchi",
    "Estimate",
    "Grid",
    "GridLaplace",
    "KaryResponse",
    "LocalHashing",
    "Mean",
    "Memory",
    "Piecewise",
    "Respondent",
    "Strength",
    "Survey",
    "Table",
    "Unary",
    "Warner",
    "processed",
    "rounds",
    "strengths",
]
