"""What a schema says of a column must fit the column's type: fill, bounds, categories and marks."""

from __future__ import annotations

import datetime
import math
from typing import Any

import pytest

from privjail.catalogue.schema import read_schema
from privjail.errors import SchemaError

BIG = 10**400
LETTERS = {"type": "category", "categories": ["a", "b"]}


@pytest.mark.parametrize(
    ("declared", "says"),
    [
        ({"type": "Int64", "fill": 1.5}, "whole numbers"),
        ({"type": "Int64", "range": [0, 5], "fill": 1.5}, "whole numbers"),
        ({"type": "Int64", "fill": 2**63}, "64 bits"),
        ({"type": "Int64", "fill": BIG}, "64 bits"),
        ({"type": "Int64", "fill": math.nan}, "finite"),
        ({"type": "Int64", "range": [0, 9], "fill": math.nan}, "finite"),
        ({"type": "Int64", "fill": math.inf}, "finite"),
        ({"type": "Int64", "fill": True}, "finite numbers"),
        ({"type": "Int64", "fill": "1"}, "finite numbers"),
        ({"type": "Int64", "fill": [1]}, "finite numbers"),
        ({"type": "Int64", "range": [0.5, 1]}, "whole numbers"),
        ({"type": "Int64", "range": [0, BIG]}, "64 bits"),
        ({"type": "Int64", "range": [False, True]}, "finite numbers"),
        ({"type": "Int64", "range": ["0", "1"]}, "finite numbers"),
        ({"type": "Int64", "range": [0, math.nan]}, "finite"),
        ({"type": "Int64", "range": [2, 1]}, "lower ≤ upper"),
        ({"type": "Int64", "range": 5}, r"\[lower, upper\]"),
        ({"type": "Int64", "categories": [1]}, "no categories"),
        ({"type": "Int64", "ordered": True}, "no ordered"),
        ({"type": "Float64", "fill": math.nan}, "finite"),
        ({"type": "Float64", "range": [0, 1], "fill": math.nan}, "finite"),
        ({"type": "Float64", "fill": BIG}, "Float64 can hold"),
        ({"type": "Float64", "range": [0, BIG]}, "Float64 can hold"),
        ({"type": "Float64", "fill": "x"}, "finite numbers"),
        ({"type": "Float64", "range": [0, 1], "fill": 2}, "outside the range"),
        ({"type": "datetime", "fill": 3}, "needs dates"),
        ({"type": "datetime", "fill": "soon"}, "no date"),
        ({"type": "datetime", "fill": "0001-01-01T00:00:00+14:00"}, "no date"),
        ({"type": "datetime", "range": [1, 2]}, "needs dates"),
        ({"type": "datetime", "range": ["2020-01-01", None], "fill": "2019-01-01"}, "outside the range"),
        ({"type": "boolean", "fill": 1}, "does not fit"),
        ({"type": "boolean", "fill": "true"}, "does not fit"),
        ({"type": "boolean", "range": [0, 1]}, "no range"),
        ({"type": "boolean", "outside": "null"}, "no outside"),
        ({"type": "string", "fill": 1}, "does not fit"),
        ({"type": "string", "range": ["a", "z"]}, "no range"),
        ({"type": "string", "na_value": {"?": 1}}, "na_value"),
        ({"type": "string", "na_value": [["?"]]}, "na_value"),
        ({**LETTERS, "fill": "c"}, "does not fit"),
        ({**LETTERS, "fill": ["a"]}, "does not fit"),
        ({**LETTERS, "fill": {"a": 1}}, "does not fit"),
        ({**LETTERS, "ordered": "no"}, "true or false"),
        ({**LETTERS, "outside": "clip"}, "no outside"),
        ({"type": "category", "categories": [0, 1], "fill": True}, "does not fit"),
        ({"type": "category", "categories": [1, "1"]}, "written the same"),
        ({"type": "category", "categories": [math.nan]}, "must be text"),
        ({"type": "category", "categories": [["a"]]}, "must be text"),
        ({"type": "category", "categories": []}, "needs a list"),
        ({"type": "category", "categories": "ab"}, "needs a list"),
    ],
)
def test_what_does_not_fit_the_type_is_an_error(declared: dict[str, Any], says: str) -> None:
    with pytest.raises(SchemaError, match=says) as refused:
        read_schema({"v": declared})
    assert "'v'" in str(refused.value)


@pytest.mark.parametrize(
    ("declared", "fill"),
    [
        ({"type": "Int64", "fill": 2.0}, 2),
        ({"type": "Int64", "fill": -(2**63)}, -(2**63)),
        ({"type": "Float64", "range": [0, 5], "fill": 2}, 2.0),
        ({"type": "datetime", "fill": datetime.date(1970, 1, 2)}, 86_400 * 10**6),
        ({"type": "boolean", "fill": False}, False),
        ({"type": "string", "fill": ""}, ""),
        ({"type": "category", "categories": [1, True], "fill": True}, True),
    ],
)
def test_what_fits_is_taken_as_the_column_holds_it(declared: dict[str, Any], fill: Any) -> None:
    found = read_schema({"v": declared})["v"]
    assert found.fill == fill and type(found.fill) is type(fill) and not found.domain.nullable
