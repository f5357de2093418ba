"""Data that people randomise themselves, with strengths that they pick and may keep secret.

>>> from privjail import local
>>> careful, open_ = local.Warner("3/5"), local.Warner("4/5")
>>> for s in local.strengths({"careful": careful, "open": open_}, {"careful": "1/2", "open": "1/2"}).values():
...     print(s)
careful: E = 0.405465 while hidden, ε = 0.405465 once known
open: E = 1.098612 while hidden, ε = 1.386294 once known
"""

from privjail.local.channels.channel import Channel
from privjail.local.channels.domain import Categories, Grid
from privjail.local.channels.duchi import Duchi
from privjail.local.channels.hashing import LocalHashing
from privjail.local.channels.kary import KaryResponse, Warner
from privjail.local.channels.laplace import GridLaplace
from privjail.local.channels.pbp import Strength, strengths
from privjail.local.channels.piecewise import Piecewise
from privjail.local.channels.table import Table, processed, rounds
from privjail.local.channels.unary import Unary
from privjail.local.estimation.estimate import Estimate
from privjail.local.estimation.mean import Mean
from privjail.local.survey.respondent import Memory, Respondent
from privjail.local.survey.survey import Survey

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
