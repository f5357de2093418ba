"""Patterns mean what Python's re means by them, in Polars too; what has no such meaning is refused."""

from __future__ import annotations

import random
import re

import polars as pl
import pytest

from privjail.errors import PlanError
from privjail.ops.columns.characters import ANY, merged, named_set, rest
from privjail.ops.columns.pattern import HEAVIEST, read, read_groups, read_replaced, template

ATOMS = ["a", "b", "1", " ", r"\d", r"\w", r"\s", ".", "[ab]", "[^a]", "[a-c1]", r"\W", "é", r"\.", "K", "s", "]"]
REPEATS = ["*", "+", "?", "{2}", "{1,2}", "*?", "+?", "{0,3}", "{,2}"]


def written(pick: random.Random, depth: int = 3) -> str:
    r = pick.random()
    if depth == 0 or r < 0.45:
        return pick.choice(ATOMS)
    first, second = written(pick, depth - 1), written(pick, depth - 1)
    if r < 0.6:
        return first + second
    if r < 0.7:
        return f"(?:{first}|{second})"
    if r < 0.8:
        return f"({first}){pick.choice(['', '', '?', '??'])}"
    return f"(?:{first}){pick.choice(REPEATS)}"


@pytest.mark.parametrize("seed", range(4))
def test_random_patterns_find_what_python_finds(seed):
    """Searching, extracting, counting and replacing: Python's re on the analyst's text, and Polars on our spelling."""
    pick = random.Random(seed)
    texts = ["".join(pick.choice("ab1 é.K\n_kſs]") for _ in range(pick.randint(0, 8))) for _ in range(50)]
    column, taken = pl.Series(texts), 0
    for _ in range(250):
        pattern = pick.choice(("", "", "^")) + written(pick) + pick.choice(("", "", "$"))
        pattern = pick.choice(("", "", "(?i)")) + pattern
        try:
            found = read(pattern)
        except PlanError:
            continue
        taken += 1
        true = re.compile(pattern)
        hits = [true.search(text) for text in texts]
        assert column.str.contains(found.rust()).to_list() == [bool(h) for h in hits], pattern
        assert [bool(found.python().search(text)) for text in texts] == [bool(h) for h in hits], pattern
        if found.groups:
            check_groups(pattern, column, hits)
        if not found.tree.can_be_empty and not pattern.endswith("$"):
            made = column.str.replace_all(read_replaced(pattern).rust(False), "<${0}>")
            assert made.to_list() == [true.sub(r"<\g<0>>", text) for text in texts], pattern
            counted = column.str.count_matches(found.rust(False))
            assert counted.to_list() == [sum(1 for _ in true.finditer(text)) for text in texts], pattern
    assert taken > 150


def check_groups(pattern, column, hits):
    try:
        found = read_groups(pattern)
    except PlanError:
        return
    for i in range(1, len(found.groups) + 1):
        assert column.str.extract(found.rust(), i).to_list() == [h[i] if h else None for h in hits], pattern


def test_sets_are_those_of_python():
    for letter in "dws":
        inside = named_set(letter)
        sample = [*range(0x3000), 0xFF11, 0x1D7D8, 0x10FFFF]
        for code in sample:
            hit = re.match(f"\\{letter}", chr(code)) is not None
            assert hit is any(a <= code <= b for a, b in inside), (letter, hex(code))
        assert rest(rest(inside)) == inside


@pytest.mark.parametrize(
    "pattern, why",
    [
        (r"(a)\1", "linear"), (r"(?=a)", "looking around"), (r"(?<!a)b", "looking around"), (r"\bword\b", "boundaries"),
        ("(a+)+", "not repeated"), ("(?:a*)*", "not repeated"), ("(?:^)+", "not repeated"), ("(?:a|b*)+", "not repeated"),
        ("a**", "repeat"), ("a++", "repeat"), ("*a", "nothing"), ("a{3,2}", "m ≤ n"), ("a{5000}", "repeat"), ("{", "nothing"),
        ("a{x}", "repeat"), ("(a", "not closed"), ("a)", "closes nothing"), ("[a", "too early"), ("[b-a]", "in order"),
        (r"[^\w\W]", "no character"), (r"\p{L}", "no meaning"), (r"\x4", "no meaning"), (r"\ud800", "no meaning"),
        ("a$b", "after"), ("(?:a$)?b", "after"), ("(?i)é", "case"), ("(?s).", "flags"), (r"\w{9}", "too large"),
        ("(" * 30 + ")" * 30, "deep"), ("a" * 501, "longer"), ("(?P<n>a)(?P<n>b)", "name"), ("[a-\\d]", "in order"),
    ],
)  # fmt: skip
def test_what_has_no_meaning_everywhere_is_refused(pattern, why):
    with pytest.raises(PlanError, match="is not taken") as caught:
        read(pattern)
    assert why in str(caught.value)


def test_the_largest_patterns_are_compiled():
    """A pattern that is read is also taken by Polars: what it refuses would be an error of the engine."""
    for pattern in (r"\w{5}", "[a-z]{1000}", ".{1000}", "(?:" + "|".join("abcdefgh") + "){400}", r"(?:\d{4}-){2}\w+\W"):
        assert read(pattern).tree.weight <= HEAVIEST
        assert pl.Series(["x"]).str.contains(read(pattern).rust()).len() == 1


def test_replacements_name_groups():
    assert template("(a)(?P<n>b)", r"x\2\g<n>\g<1>\\y") == ("x", 2, 2, 1, "\\", "y")
    for wrong in (r"\2", r"\g<m>", r"\d", "\\"):
        with pytest.raises(PlanError):
            template("(a)", wrong)


@pytest.mark.parametrize("pattern", [r"\x41", r"\u0041", r"[\x41-\x43]", "[]a]+", "[^]a]", "^a{1,2}$", r"\u00e9"])
def test_escapes_by_code_and_classes_that_begin_with_a_bracket(pattern):
    texts = ["A", "B", "]", "a", "aa", "aaa", "é", "x41", "4"]
    hits = [bool(re.search(pattern, text)) for text in texts]

    assert pl.Series(texts).str.contains(read(pattern).rust()).to_list() == hits
    assert [bool(read(pattern).python().search(text)) for text in texts] == hits


@pytest.mark.parametrize("pattern", [r"\u41", r"\u004", r"\xz1", r"\x"])
def test_an_escape_has_as_many_digits_as_python_asks_for(pattern):
    with pytest.raises(PlanError, match="is not taken"):
        read(pattern)


@pytest.mark.parametrize("letter", "dswDSW")
def test_sets_of_characters_are_those_of_python(letter):
    inside = named_set(letter)
    for character in "a_-Zé1 ²\t٣ſ中\n.":
        found = any(low <= ord(character) <= high for low, high in inside)
        assert found == (re.fullmatch("\\" + letter, character) is not None), character


def test_only_surrogates_are_in_no_text_and_only_a_newline_is_no_dot():
    everything = rest(())
    assert [any(low <= c <= high for low, high in everything) for c in (0xD7FF, 0xD800, 0xDFFF, 0xE000)] == [
        True,
        False,
        False,
        True,
    ]
    assert [c for c in range(32) if not any(low <= c <= high for low, high in ANY)] == [10]


def test_a_set_of_characters_is_kept_in_as_few_ranges_as_possible():
    assert merged([(5, 6), (1, 2), (3, 4), (9, 9), (8, 8), (11, 12)]) == ((1, 6), (8, 9), (11, 12))
    assert merged([(1, 9), (2, 3)]) == ((1, 9),)


def test_how_often_a_part_may_be_repeated():
    for count in ("1000", "0,1000", "1000,1000"):
        assert read(f"a{{{count}}}").python()
    for count in ("1001", "0,1001", "1001,1001", "1001,", "3,2"):
        with pytest.raises(PlanError, match="1000"):
            read(f"a{{{count}}}")
