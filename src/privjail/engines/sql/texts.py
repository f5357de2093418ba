"""Functions of text in SQL, by code points: the same results as Python's, on every engine that has them.

A text that a function would make too long is taken away before the function sees it, so that none is ever made.
"""

from __future__ import annotations

from collections.abc import Sequence

from privjail.engines.sql.literals import Literals
from privjail.engines.sql.term import Term, build
from privjail.errors import engine_gap
from privjail.ops.columns.pattern import Pattern, Tree
from privjail.plan.domain import TextDomain

MOST_REPEATS = 1000  # of a part of a pattern, in all repeats around it: the most that DuckDB's RE2 takes
TEXT = TextDomain(True)


class Texts(Literals):
    """Text functions as DuckDB spells them."""

    def matches(self, x: Term, pattern: str) -> Term:
        """Whether all of a text matches a pattern; patterns are constants of this library."""
        return build("regexp_full_match(", x, ", ", self.text(pattern), ")")

    def starts_with(self, x: Term, part: str) -> Term:
        return build("starts_with(", x, ", ", self.text(part), ")")

    def ends_with(self, x: Term, part: str) -> Term:
        return build("ends_with(", x, ", ", self.text(part), ")")

    def contains(self, x: Term, part: str) -> Term:
        return build("contains(", x, ", ", self.text(part), ")")

    def characters(self, x: Term) -> Term:
        return build("CAST(length(", x, ") AS BIGINT)")

    def substring(self, x: Term, start: int, length: int | None) -> Term:
        first = min(start, 2**31 - 3) + 1
        most = 2**31 - 1 - first if length is None else min(length, 2**31 - 1 - first)
        return build(f"{self.substring_name}(", x, f", {first:d}, {most:d})")

    substring_name = "substring"

    def stripped(self, x: Term, characters: str, side: str = "BOTH") -> Term:
        """Without these characters at one end (LEADING, TRAILING) or at both."""
        name = {"BOTH": "trim", "LEADING": "ltrim", "TRAILING": "rtrim"}[side]
        return build(f"{name}(", x, ", ", self.text(characters), ")")

    def joined(self, *texts: Term) -> Term:
        """One text behind another; null where one of them is."""
        parts: list[str | Term] = []
        for each in texts:
            parts += [" || ", each] if parts else [each]
        return build("(", *parts, ")")

    def replaced(self, x: Term, old: str, new: str) -> Term:
        return build("replace(", x, ", ", self.text(old), ", ", self.text(new), ")")

    def occurrences(self, x: Term, part: str) -> Term:
        """How often a text is found from left to right, without overlaps: by the characters that vanish with it."""
        gone = self.characters(x) - self.characters(self.replaced(x, part, ""))
        return self.toward_zero(gone, self.whole(len(part)))

    def toward_zero(self, a: Term, b: Term) -> Term:
        return build("(", a, " // ", b, ")")

    def padded(self, x: Term, width: int, side: str, fill: str) -> Term:
        """At least so many characters; longer texts stay (lpad and rpad alone would cut them)."""
        function = "lpad" if side == "left" else "rpad"
        longer = build(f"{function}(", x, f", {width:d}, ", self.text(fill), ")")
        return self.case(self.characters(x) < self.whole(width), longer, x)

    def zero_filled(self, x: Term, width: int) -> Term:
        """Zeros in front, behind a sign if there is one."""
        x = self.named(x)
        signed = self.starts_with(x, "+") | self.starts_with(x, "-")
        behind = self.padded(self.substring(x, 1, None), max(0, width - 1), "left", "0")
        return self.case(signed, self.joined(self.substring(x, 0, 1), behind), self.padded(x, width, "left", "0"))

    # -- parts between separators

    def part(self, x: Term, separator: str, i: int, most: int) -> Term:
        """The i-th part (from the end if negative) of a text that is cut at most so often (0: at all separators)."""
        if most and not -most - 1 <= i <= most:
            return self.null(TEXT)
        parts = self.named(self.split(x, separator))
        number = self.size(parts)
        if most:
            number = self.case(number > self.whole(most + 1), self.whole(most + 1), number)
        number = self.named(number)
        place = self.whole(i) if i >= 0 else number + self.whole(i)
        found = self.element(parts, place)
        if most:  # what follows the last cut holds further separators
            found = self.case(place.equals(self.whole(most)), self.joined_from(parts, most, separator), found)
        return self.case((place >= self.whole(0)) & (place < number), found)

    def split(self, x: Term, separator: str) -> Term:
        return build("string_split(", x, ", ", self.text(separator), ")")

    def size(self, parts: Term) -> Term:
        return build("CAST(len(", parts, ") AS BIGINT)")

    def element(self, parts: Term, place: Term) -> Term:
        return build("list_extract(", parts, ", ", place, " + 1)")

    def joined_from(self, parts: Term, first: int, separator: str) -> Term:
        """All parts from a place on, with separators between them; the empty text if there are none."""
        some = build("list_slice(", parts, f", {first + 1:d}, ", self.size(parts), ")")
        return build("array_to_string(", some, ", ", self.text(separator), ")")

    # -- patterns, in time that is linear in the text

    def found(self, x: Term, pattern: Pattern) -> Term:
        """Whether a pattern is found in a text."""
        return build("regexp_matches(", x, ", ", self.pattern(pattern, True), ")")

    def extracted(self, x: Term, pattern: Pattern, group: int) -> Term:
        """What a group of the first match holds; null where there is no match, or the group has no part in it."""
        x = self.named(x)
        found = build("regexp_extract(", x, ", ", self.pattern(pattern, True), f", {group:d})")
        inner, always = capturing_groups(pattern.tree)[group - 1]
        if inner.can_be_empty and not always:  # '' may be either: the group took no part, or it holds nothing
            raise engine_gap("extracting a group that may be left out and may be empty", self.name)
        return self.case(self.found(x, pattern), found if always else build("nullif(", found, ", ", self.text(""), ")"))

    def substituted(self, x: Term, pattern: Pattern, parts: Sequence[int | str]) -> Term:
        """All matches replaced by texts and numbers of groups."""
        if any(isinstance(each, int) and each > 9 for each in parts):
            raise engine_gap("a replacement that names more than nine groups", self.name)
        new = "".join(each.replace("\\", "\\\\") if isinstance(each, str) else f"\\{each:d}" for each in parts)
        spelled = self.pattern(pattern, False)
        return build("regexp_replace(", x, ", ", spelled, ", ", self.text(new), ", ", self.text("g"), ")")

    def matches_in(self, x: Term, pattern: Pattern) -> Term:
        """How many matches a text holds."""
        return self.size(build("regexp_extract_all(", x, ", ", self.pattern(pattern, False), ")"))

    def pattern(self, pattern: Pattern, extract: bool) -> Term:
        """The pattern as RE2 reads it, which is as Rust does."""
        if repeats(pattern.tree) > MOST_REPEATS:
            raise engine_gap(f"a pattern that repeats a part more than {MOST_REPEATS} times", self.name)
        return self.text(pattern.rust(extract))


def repeats(tree: Tree) -> int:
    """The most often that a part of a pattern is repeated, by all repeats around it."""
    own = max(1, tree.low if tree.high is None else tree.high) if tree.kind == "repeat" else 1
    return own * max([repeats(part) for part in tree.parts], default=1)


def capturing_groups(tree: Tree, always: bool = True) -> list[tuple[Tree, bool]]:
    """The capturing groups in the order of their numbers, each with whether it has a part in every match."""
    found = [(tree, always)] if tree.captures else []
    sure = always and tree.kind != "alt" and not (tree.kind == "repeat" and tree.low == 0)
    for part in tree.parts:
        found += capturing_groups(part, sure)
    return found
