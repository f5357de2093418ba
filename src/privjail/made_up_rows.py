"""Made-up rows of a served data set, as an ordinary pandas frame, to write a program on before it costs anything."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from privjail import session
from privjail.errors import PlanError

if TYPE_CHECKING:
    import pandas


def made_up(name: str) -> pandas.DataFrame:
    """The made-up rows that the curator of the connected jail allows for a data set; they cost you nothing.

    They are public: use them as you like. ``attrs["origin"]`` says whether they come from the schema alone ("schema":
    nothing of the data is in them), or are synthetic, from noisy counts that the curator paid ``attrs["price"]`` for.

    >>> rows = pj.made_up("patients")  # doctest: +SKIP
    >>> rows.attrs["origin"]           # doctest: +SKIP
    'schema'
    """
    import pandas

    connection = session.connection()
    if connection is None:
        raise PlanError("made-up rows come from a jail", do="pj.connect(…) first; without a jail use pj.rehearsal()")
    found = connection.example(name)
    times = [column.name for column in found.columns if column.domain.dtype.startswith("datetime")]
    rows = pandas.read_csv(io.BytesIO(found.example))
    for each in times:
        if each in rows:
            rows[each] = pandas.to_datetime(rows[each])
    rows.attrs = {"origin": found.example_origin, "price": list(found.example_price)}
    return rows
