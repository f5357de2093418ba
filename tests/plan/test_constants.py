"""Public constants: one node for one value of one type, however it was written."""

from __future__ import annotations

import datetime
import math

import numpy
import pytest

from privjail.rowwise import literal
from privjail.plan.node import Lit, _is_bool, _is_float, _is_int, children


class Kelvin(float):
    """A float by another name."""


class Rank(int):
    """A whole number by another name."""


@pytest.mark.parametrize("value", [0.0, -0.0, 0.1, 5e-324, -1.7976931348623157e308, math.inf, math.nan])
def test_a_float_is_one_constant_to_the_last_bit(value):
    made = Lit.of(value)

    assert (
        made is Lit.of(numpy.float64(value)) is Lit.of(Kelvin(value)) is literal(value) is literal(numpy.float64(value))
    )
    assert made.type_ == "float" and str(made.value) == str(value)
    assert _is_float(value) and not _is_int(value) and not _is_bool(value)


@pytest.mark.parametrize("value", [0, -1, 2**63, -(10**30)])
def test_a_whole_number_is_one_constant(value):
    made = Lit.of(value)

    assert made is Lit.of(Rank(value)) is literal(value)
    assert made.type_ == "int" and type(made.value) is int and made.value == value


def test_numbers_of_numpy_are_of_their_own_type():
    for given, type_, value in (
        (numpy.bool_(True), "bool", True),
        (numpy.int64(3), "int", 3),
        (numpy.float32(0.5), "float", 0.5),
        (numpy.array(True), "bool", True),
    ):
        assert Lit.of(given) is Lit.of(value) and Lit.of(given).type_ == type_
    with pytest.raises(TypeError):
        Lit.of(numpy.array([True]))


def test_a_moment_with_a_time_zone_is_the_same_moment_without_one():
    plain = datetime.datetime(2024, 3, 1, 12, 30)
    for hours in (0, 5, -11):
        zone = datetime.timezone(datetime.timedelta(hours=hours))
        assert Lit.of((plain + datetime.timedelta(hours=hours)).replace(tzinfo=zone)) is Lit.of(plain)
    assert Lit.of(plain).value == plain and Lit.of(datetime.date(1970, 1, 2)).spelling == str(86_400 * 10**6)


def test_one_and_one_and_true_and_their_texts_are_different():
    given = [1, 1.0, True, "1", "1.0", "True", -0.0, 0.0, 0, False, None, ""]

    assert len({Lit.of(each) for each in given}) == len({literal(each) for each in given}) == len(given)


def test_what_is_known_of_every_constant_is_what_would_be_found():
    from privjail.ops.columns.carried import Constant

    made = Lit.of(0.3)

    assert children(made) == () and made.height() == 1 and made.shown() == made.spell_out() == ""
    assert children(Constant(made)) == (made,) and Constant(made).height() == 2
