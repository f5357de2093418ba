"""Regular expressions that mean the same everywhere and take linear time.

A pattern is read by this parser into sets of characters, sequences, choices, repeats and groups. Each engine is given
a spelling of that tree, not the analyst's text, so that no dialect can read it in its own way: every set of characters
is spelled by its code points, whatever ``\\w`` or a dot would mean there.

What has no such meaning is refused: references to groups and looking around (no linear time), word boundaries and flags
(dialects disagree), repeats of what can be empty (they disagree on what it captures).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import NoReturn

from privjail.errors import PlanError
from privjail.ops.columns.characters import ANY, SURROGATES, Ranges, merged, named_set, rest

LONGEST = 500  # characters of a pattern
HEAVIEST = 4_000  # ranges of characters in a pattern, each as often as it may be repeated
#: What re.IGNORECASE takes for these letters besides the other case.
MORE_CASES = {"k": "K", "s": "ſ", "i": "İı"}


def refuse(pattern: str, why: str) -> NoReturn:
    raise PlanError(
        f"the pattern {pattern[:80]!r} is not taken: {why}",
        do="use characters, classes, groups, |, ^, $ and repeats; or plain text with regex=False",
    )


# -- the tree


@dataclass(frozen=True)
class Tree:
    """A part of a pattern. ``kind``: chars, seq, alt, group, repeat, start or end."""

    kind: str
    parts: tuple[Tree, ...] = ()
    chars: Ranges = ()
    low: int = 0
    high: int | None = 0
    lazy: bool = False
    captures: bool = False
    newline: bool = False  # of an end: there may be a line end before it

    @cached_property
    def can_be_empty(self) -> bool:
        match self.kind:
            case "chars":
                return False
            case "start" | "end":
                return True
            case "repeat":
                return self.low == 0 or self.parts[0].can_be_empty
            case "alt":
                return any(part.can_be_empty for part in self.parts)
        return all(part.can_be_empty for part in self.parts)

    @cached_property
    def weight(self) -> int:
        """How many ranges of characters an engine has to hold, at least."""
        if self.kind == "repeat":
            return self.parts[0].weight * max(1, self.low if self.high is None else self.high)
        return len(self.chars) + sum(part.weight for part in self.parts)

    def spelled(self, dialect: str, extract: bool) -> str:
        """The pattern in a dialect: "rust" or "python". ``extract``: an end may take in the line end before it."""
        parts = [part.spelled(dialect, extract) for part in self.parts]
        match self.kind:
            case "chars":
                return "[" + "".join(_point(a, dialect) + "-" + _point(b, dialect) for a, b in self.chars) + "]"
            case "start":
                return r"\A"
            case "end":
                last = r"\z" if dialect == "rust" else r"\Z"
                return rf"(?:\n?{last})" if self.newline and extract else last
            case "alt":
                return "(?:" + "|".join(parts) + ")"
            case "group":
                return ("(" if self.captures else "(?:") + parts[0] + ")"
            case "repeat":
                times = f"{{{self.low}}}" if self.high == self.low else f"{{{self.low},{_or_empty(self.high)}}}"
                return f"(?:{parts[0]}){times}{'?' if self.lazy else ''}"
        return "".join(parts)


def _point(code: int, dialect: str) -> str:
    return f"\\x{{{code:x}}}" if dialect == "rust" else f"\\U{code:08x}"


def _or_empty(high: int | None) -> str:
    return "" if high is None else str(high)


# -- the parser


@dataclass
class _Reader:
    pattern: str
    at: int = 0
    groups: list[str | None] = field(default_factory=list)
    ignore_case: bool = False

    def peek(self, text: str) -> bool:
        return self.pattern.startswith(text, self.at)

    def take(self, text: str) -> bool:
        hit = self.peek(text)
        self.at += len(text) if hit else 0
        return hit

    def next(self) -> str:
        if self.at >= len(self.pattern):
            refuse(self.pattern, "it ends too early")
        self.at += 1
        return self.pattern[self.at - 1]

    def choices(self, depth: int) -> Tree:
        if depth > 20:
            refuse(self.pattern, "its groups are nested too deep")
        found = [self.sequence(depth)]
        while self.take("|"):
            found.append(self.sequence(depth))
        return found[0] if len(found) == 1 else Tree("alt", tuple(found))

    def sequence(self, depth: int) -> Tree:
        found: list[Tree] = []
        while self.at < len(self.pattern) and not self.peek("|") and not self.peek(")"):
            found.append(self.repeated(self.item(depth)))
        return Tree("seq", tuple(found))

    def item(self, depth: int) -> Tree:
        c = self.next()
        match c:
            case "(":
                return self.group(depth)
            case "[":
                return Tree("chars", chars=self.character_class())
            case ".":
                return Tree("chars", chars=ANY)
            case "^":
                return Tree("start")
            case "$":
                return Tree("end", newline=True)
            case "\\":
                return self.escape()
            case "*" | "+" | "?" | "{":
                refuse(self.pattern, f"there is nothing that {c!r} could repeat (write \\{c} for the character)")
        return Tree("chars", chars=self.cased(((ord(c), ord(c)),)))

    def escape(self) -> Tree:
        c = self.next()
        if c in "dwsDWS":
            return Tree("chars", chars=named_set(c))
        if c in "AZ":
            return Tree("start" if c == "A" else "end")
        if c in "bB":
            refuse(self.pattern, "word boundaries differ between engines; write (^|\\W) and (\\W|$) around the word")
        if c.isdigit() and c != "0":
            refuse(self.pattern, "a reference to a group takes more than linear time")
        code = self.escaped(c)
        return Tree("chars", chars=self.cased(((code, code),)))

    def escaped(self, c: str) -> int:
        """The code point of an escaped character."""
        if c in "tnrfv":
            return ord({"t": "\t", "n": "\n", "r": "\r", "f": "\f", "v": "\v"}[c])
        if c in "xu":
            digits = self.pattern[self.at : self.at + (2 if c == "x" else 4)]
            if re.fullmatch("[0-9a-fA-F]{2}|[0-9a-fA-F]{4}", digits) and len(digits) == (2 if c == "x" else 4):
                self.at += len(digits)
                code = int(digits, 16)
                if not SURROGATES[0] <= code <= SURROGATES[1]:
                    return code
        elif not c.isalnum():
            return ord(c)
        refuse(self.pattern, f"\\{c} has no meaning here")

    def group(self, depth: int) -> Tree:
        captures, name = True, None
        if self.take("?"):
            if self.take(":"):
                captures = False
            elif self.take("P<"):
                end = self.pattern.find(">", self.at)
                name = self.pattern[self.at : end] if end > 0 else ""
                if not name.isidentifier() or not name.isascii() or name in self.groups:
                    refuse(self.pattern, "a group needs a name of its own, of letters and digits")
                self.at = end + 1
            else:
                refuse(self.pattern, "looking around, flags and references inside of a pattern have no rule")
        if captures:
            self.groups.append(name)
        inner = self.choices(depth + 1)
        if not self.take(")"):
            refuse(self.pattern, "a group is not closed")
        return Tree("group", (inner,), captures=captures)

    def repeated(self, item: Tree) -> Tree:
        low, high = self.times()
        if low is None:
            return item
        if item.can_be_empty or _captures(item) and high != 1:
            refuse(
                self.pattern, "what can be empty, or is a capturing group, is not repeated (write (?:…) for a group)"
            )
        lazy = self.take("?")
        if self.at < len(self.pattern) and self.pattern[self.at] in "*+?{":
            refuse(self.pattern, "a repeat is not repeated")
        if high is not None and not 0 <= low <= high or low > 1000 or (high or 0) > 1000:
            refuse(self.pattern, "a repeat takes {m,n} with m ≤ n ≤ 1000")
        return Tree("repeat", (item,), low=low, high=high, lazy=lazy)

    def times(self) -> tuple[int | None, int | None]:
        for sign, found in (("*", (0, None)), ("+", (1, None)), ("?", (0, 1))):
            if self.take(sign):
                return found
        if not self.peek("{"):
            return None, None
        hit = re.compile(r"\{([0-9]{1,4})?(,)?([0-9]{1,4})?\}", re.ASCII).match(self.pattern, self.at)
        if hit is None or (hit[1] is None and hit[3] is None):
            refuse(self.pattern, "a { begins a repeat {m,n}; write \\{ for the character")
        self.at = hit.end()
        low = int(hit[1] or 0)
        return low, (int(hit[3]) if hit[3] else None) if hit[2] else low

    def character_class(self) -> Ranges:
        negated = self.take("^")
        found: list[tuple[int, int]] = []
        first = True
        while first or not self.peek("]"):
            first = False
            low, named = self.class_item()
            if named is not None:
                found += named
                continue
            high = low
            if self.peek("-") and not self.peek("-]"):
                self.at += 1
                high, named = self.class_item()
                if named is not None or high < low:
                    refuse(self.pattern, "a range of characters needs two of them, in order")
            found += self.cased(((low, high),))
        self.at += 1
        ranges = rest(merged(found)) if negated else merged(found)
        return ranges or refuse(self.pattern, "a class holds no character at all")

    def class_item(self) -> tuple[int, Ranges | None]:
        c = self.next()
        if c != "\\":
            return ord(c), None
        c = self.next()
        return (0, named_set(c)) if c in "dwsDWS" else (self.escaped(c), None)

    def cased(self, ranges: Ranges) -> Ranges:
        """A set without regard to case, if that is wanted."""
        if not self.ignore_case:
            return ranges
        found = list(ranges)
        for low, high in ranges:
            if high - low > 1000:
                refuse(self.pattern, "so wide a range of characters has no rule without regard to case")
            for c in map(chr, range(low, high + 1)):
                if not c.isascii() and c.lower() + c.upper() != c + c:
                    refuse(self.pattern, "letters beyond a to z have no rule without regard to case")
                if c.isascii() and c.isalpha():
                    found += [(ord(x), ord(x)) for x in c.swapcase() + MORE_CASES.get(c.lower(), "")]
        return merged(found)


def _captures(tree: Tree) -> bool:
    return tree.captures or any(map(_captures, tree.parts))


def _misplaced_end(tree: Tree, last: bool) -> bool:
    """Whether something comes after an end: then engines would disagree on the line end before it."""
    if tree.kind == "end":
        return not last
    *before, final = tree.parts or (Tree("seq"),)
    if tree.kind == "seq":
        return any(_misplaced_end(part, False) for part in before) or _misplaced_end(final, last)
    return any(_misplaced_end(part, last and tree.kind != "repeat") for part in tree.parts)


@dataclass(frozen=True)
class Pattern:
    """A pattern that was read: its tree, and the names of its capturing groups (None: without a name)."""

    tree: Tree
    groups: tuple[str | None, ...]

    def rust(self, extract: bool = True) -> str:
        return self.tree.spelled("rust", extract)

    def python(self, extract: bool = True) -> re.Pattern[str]:
        return _compiled(self.tree.spelled("python", extract))


@lru_cache(maxsize=256)
def _compiled(spelling: str) -> re.Pattern[str]:
    return re.compile(spelling)


@lru_cache(maxsize=1024)
def read(pattern: str) -> Pattern:
    """Read a pattern, or refuse it. ``(?i)`` at its beginning: without regard to case."""
    if len(pattern) > LONGEST:
        refuse(pattern, f"it is longer than {LONGEST} characters")
    reader = _Reader(pattern)
    reader.ignore_case = reader.take("(?i)")
    tree = reader.choices(0)
    if reader.at < len(pattern):
        refuse(pattern, "a ) closes nothing")
    if tree.weight > HEAVIEST:
        refuse(pattern, "its repeats and classes make it too large")
    if _misplaced_end(tree, True):
        refuse(pattern, "nothing can come after $")
    return Pattern(tree, tuple(reader.groups))


def _end_in_group(tree: Tree, inside: bool = False) -> bool:
    if tree.kind == "end":
        return inside
    return any(_end_in_group(part, inside or tree.captures) for part in tree.parts)


def read_groups(pattern: str) -> Pattern:
    """Read a pattern whose groups are extracted."""
    found = read(pattern)
    if not found.groups:
        refuse(pattern, "it has no capturing group (…)")
    if _end_in_group(found.tree):
        refuse(pattern, "a $ inside of a capturing group has no rule; put it behind the group")
    return found


def read_replaced(pattern: str) -> Pattern:
    """Read a pattern whose matches are replaced or counted."""
    found = read(pattern)
    if found.tree.can_be_empty:
        refuse(pattern, "it matches the empty text")
    return found


def template(pattern: str, replacement: str) -> tuple[int | str, ...]:
    """A replacement as a list of texts and numbers of groups: \\1, \\g<1> or \\g<name>."""
    groups, out = read(pattern).groups, []
    at = 0
    for hit in re.compile(r"\\(?:([1-9])|g<(\w+)>|(\\)|(.?))", re.ASCII | re.DOTALL).finditer(replacement):
        out.append(replacement[at : hit.start()])
        at = hit.end()
        number = hit[1] or hit[2]
        if hit[3]:
            out.append("\\")
        elif number is None:
            refuse(pattern, "a replacement knows \\1 to \\9, \\g<name> and \\\\")
        else:
            place = int(number) if number.isdigit() else groups.index(number) + 1 if number in groups else -1
            if not 0 <= place <= len(groups):
                refuse(pattern, f"it has no group {number}")
            out.append(place)  # type: ignore[arg-type]
    return tuple(x for x in (*out, replacement[at:]) if x != "")
