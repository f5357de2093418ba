""".str on columns of free text, and + of two texts. (On categories functions are applied to the labels: see Recode.)"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

from privjail.errors import PlanError, engine_gap
from privjail.ops.columns.characters import named_set
from privjail.ops.columns.pattern import read, read_groups, read_replaced, template
from privjail.plan.domain import BoolDomain, Domain, IntDomain, TextDomain
from privjail.plan.expr import Expr
from privjail.plan.node import Lit, node

MOST_MADE = 1_000  # characters of a text that an operation made longer; a longer one is null
MOST_NEW = 32  # characters of a replacement, which may come once for each character

TEXT, COUNT, PLACE, CHARS = (
    "text",
    "a whole number from 0 to 1000",
    "a whole number ≥ 0 below 2**31, or None",
    "text or None",
)
INDEX = "a whole number from -1000 to 1000"
FITS: dict[str, Callable[[Any], bool]] = {
    TEXT: lambda x: isinstance(x, str),
    CHARS: lambda x: x is None or isinstance(x, str) and x != "",
    COUNT: lambda x: type(x) is int and 0 <= x <= 1000,
    INDEX: lambda x: type(x) is int and -1000 <= x <= 1000,
    PLACE: lambda x: x is None or type(x) is int and 0 <= x < 2**31,
}


class Function(NamedTuple):
    """A function of one text: what its arguments are, what comes out, and the same on one Python string."""

    arguments: tuple[str, ...]
    gives: type[Domain]
    python: Callable[..., Any]
    nulls: bool = False  # the result can be null where the text is not


@cache
def _white() -> str:
    """All white space as Python knows it: engines strip less. Found when it is needed, not at import."""
    return "".join(chr(i) for low, high in named_set("s") for i in range(low, high + 1))


def _grown(length: Any, count: Any, old: int, new: int, groups: int) -> Any:
    """The most characters of a text in which ``count`` matches of at least ``old`` characters are replaced.

    ``new``: characters of the replacement itself; ``groups``: how many groups it names, each a part of the text.
    """
    return length * (1 + groups) + count * (new - old)


def _fits(grown: int, length: int) -> bool:
    return grown <= max(MOST_MADE, length)


def _part(text: str, separator: str, i: int, most: int) -> str | None:
    parts = text.split(separator, most or -1)
    return parts[i] if -len(parts) <= i < len(parts) else None


def _group(text: str, pattern: str, group: int) -> str | None:
    hit = read_groups(pattern).python().search(text)
    return None if hit is None else hit[group]


def _replaced(text: str, old: str, new: str) -> str | None:
    return (
        text.replace(old, new) if _fits(_grown(len(text), text.count(old), len(old), len(new), 0), len(text)) else None
    )


def _substituted(text: str, pattern: str, new: str) -> str | None:
    found, parts = read_replaced(pattern).python(False), template(pattern, new)
    count = sum(1 for _ in found.finditer(text))
    if not _fits(_grown(len(text), count, 1, *_sizes(pattern, new)), len(text)):
        return None
    return found.sub(lambda hit: "".join(x if isinstance(x, str) else hit[x] or "" for x in parts), text)


def _sizes(pattern: str, new: str) -> tuple[int, int]:
    """How many characters a replacement has, and how many groups it names."""
    parts = template(pattern, new)
    texts = [x for x in parts if isinstance(x, str)]
    return sum(map(len, texts)), len(parts) - len(texts)


def _padded(text: str, width: int, side: str, fill: str) -> str:
    return text.rjust(width, fill) if side == "left" else text.ljust(width, fill)


FUNCTIONS: dict[str, Function] = {
    "lower": Function((), TextDomain, str.lower),
    "upper": Function((), TextDomain, str.upper),
    "strip": Function((CHARS,), TextDomain, str.strip),
    "lstrip": Function((CHARS,), TextDomain, str.lstrip),
    "rstrip": Function((CHARS,), TextDomain, str.rstrip),
    "len": Function((), IntDomain, len),
    "startswith": Function((TEXT,), BoolDomain, str.startswith),
    "endswith": Function((TEXT,), BoolDomain, str.endswith),
    "contains": Function((TEXT,), BoolDomain, lambda s, part: part in s),
    "slice": Function((PLACE, PLACE), TextDomain, lambda s, start, stop: s[start:stop]),
    "replace": Function((TEXT, TEXT), TextDomain, _replaced, True),
    "pad": Function((COUNT, TEXT, TEXT), TextDomain, _padded),
    "zfill": Function((COUNT,), TextDomain, str.zfill),
    # The part of a text between separators; cut at most so many times (0: at all of them).
    "part": Function((TEXT, INDEX, COUNT), TextDomain, _part, True),
    # The next four take a pattern of pattern.py.
    "matches": Function((TEXT,), BoolDomain, lambda s, pattern: read(pattern).python().search(s) is not None),
    "extract": Function((TEXT, COUNT), TextDomain, _group, True),
    "substitute": Function((TEXT, TEXT), TextDomain, _substituted, True),
    "count": Function(
        (TEXT,), IntDomain, lambda s, pattern: sum(1 for _ in read_replaced(pattern).python(False).finditer(s))
    ),
}


@node
class Text(Expr):
    """One text function, applied to each value; null stays null.

    Domain: any text, true/false, or a whole number ≥ 0. Null where there is no such part or match, and where a
    replacement could make a text longer than 1,000 characters: without a limit, a few of them fill the jail's memory.
    """

    kind = "text"
    f: str
    a: Expr
    arguments: tuple[Lit, ...]

    def __post_init__(self) -> None:
        if self.f not in FUNCTIONS or len(self.arguments) != len(FUNCTIONS[self.f].arguments):
            raise PlanError(f"no text function {self.f!r} with {len(self.arguments)} arguments")
        if not isinstance(self.a.domain, TextDomain):
            raise PlanError(f".str needs text, not {self.a.domain.dtype}")
        function = FUNCTIONS[self.f]
        values = [each.value for each in self.arguments]
        for value, wanted in zip(values, function.arguments, strict=True):
            if not FITS[wanted](value):
                raise PlanError(f".str.{self.f} takes {wanted}, not {value!r}")
        _check(self.f, values)
        nullable = self.a.domain.nullable or function.nulls
        domain = IntDomain(nullable, 0, None) if function.gives is IntDomain else function.gives(nullable)
        self.computed_from(self.a, domain=domain)

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        arguments = [each.value for each in self.arguments]
        column = _kept(self.f, inputs[0], arguments) if self.f in ("replace", "substitute") else inputs[0]
        found = _POLARS[self.f](column.str, *arguments)
        return found.cast(pl.Int64()) if self.f in ("len", "count") else found

    def python(self, *inputs: Any) -> Any:
        return FUNCTIONS[self.f].python(inputs[0], *(each.value for each in self.arguments))

    def sql(self, sql: Any, *inputs: Any) -> Any:
        if self.f not in _SQL:  # lower and upper: engines know other letters, and other rules of case
            raise engine_gap(f"str.{self.f} on free text", sql.name)
        return _SQL[self.f](sql, inputs[0], *(each.value for each in self.arguments))

    def text(self, *inputs: str) -> str:
        return f"{inputs[0]}.str.{self.f}({', '.join(repr(a.value) for a in self.arguments)})"


def _check(f: str, arguments: list[Any]) -> None:
    """What a function asks of its arguments beyond their types."""
    if f in ("replace", "part") and arguments[0] == "":
        raise PlanError(f".str.{f} needs a text to look for")
    if f in ("replace", "substitute") and len(arguments[1]) > MOST_NEW:
        raise PlanError(f"a replacement has at most {MOST_NEW} characters")
    if f == "pad" and (arguments[1] not in ("left", "right") or len(arguments[2]) != 1):
        raise PlanError(".str.pad takes side 'left' or 'right', and one character to fill with")
    if f == "matches":
        read(arguments[0])
    if f == "extract" and not 1 <= arguments[1] <= len(read_groups(arguments[0]).groups):
        raise PlanError(f"the pattern has no group {arguments[1]}")
    if f in ("substitute", "count"):
        read_replaced(arguments[0])
    if f == "substitute":
        template(*arguments)


def _kept(f: str, column: Any, arguments: list[Any]) -> Any:
    """The texts that do not become too long, so that none is ever made."""
    import polars as pl

    old, new = arguments
    length = column.str.len_chars().cast(pl.Int64())
    if f == "replace":
        count = column.str.count_matches(old, literal=True).cast(pl.Int64())
        grown = _grown(length, count, len(old), len(new), 0)
    else:
        count = column.str.count_matches(read_replaced(old).rust(False)).cast(pl.Int64())
        grown = _grown(length, count, 1, *_sizes(old, new))
    return pl.when(grown <= pl.max_horizontal(length, pl.lit(MOST_MADE, dtype=pl.Int64()))).then(column)


def _sliced(column: Any, start: int | None, stop: int | None) -> Any:
    return column.slice(start or 0, None if stop is None else max(0, stop - (start or 0)))


def _split(column: Any, separator: str, i: int, most: int) -> Any:
    if not most:
        return column.split(separator).list.get(i, null_on_oob=True)
    import polars as pl

    fields = column.splitn(separator, most + 1).struct
    if i >= 0:
        return fields.field(f"field_{i}") if i <= most else _nothing(column, separator)
    # From the end: the i-th of those fields that are there.
    parts = pl.concat_list([fields.field(f"field_{k}") for k in range(most + 1)])
    return parts.list.drop_nulls().list.get(i, null_on_oob=True)


def _nothing(column: Any, separator: str) -> Any:
    import polars as pl

    found = column.splitn(separator, 1).struct.field("field_0")
    return pl.when(found.is_null() & found.is_not_null()).then(found)


def _spell(pattern: str, new: str) -> str:
    """A replacement as Rust writes it."""
    return "".join(x.replace("$", "$$") if isinstance(x, str) else f"${{{x}}}" for x in template(pattern, new))


_POLARS: dict[str, Callable[..., Any]] = {
    "lower": lambda c: c.to_lowercase(),
    "upper": lambda c: c.to_uppercase(),
    "strip": lambda c, chars: c.strip_chars(chars or _white()),
    "lstrip": lambda c, chars: c.strip_chars_start(chars or _white()),
    "rstrip": lambda c, chars: c.strip_chars_end(chars or _white()),
    "len": lambda c: c.len_chars(),
    "startswith": lambda c, prefix: c.starts_with(prefix),
    "endswith": lambda c, suffix: c.ends_with(suffix),
    "contains": lambda c, part: c.contains(part, literal=True),
    "slice": _sliced,
    "replace": lambda c, old, new: c.replace_all(old, new, literal=True),
    "pad": lambda c, width, side, fill: (c.pad_start if side == "left" else c.pad_end)(width, fill),
    "zfill": lambda c, width: c.zfill(width),
    "part": _split,
    "matches": lambda c, pattern: c.contains(read(pattern).rust()),
    "extract": lambda c, pattern, group: c.extract(read_groups(pattern).rust(), group),
    "substitute": lambda c, pattern, new: c.replace_all(read_replaced(pattern).rust(False), _spell(pattern, new)),
    "count": lambda c, pattern: c.count_matches(read_replaced(pattern).rust(False)),
}


def _sql_fits(sql: Any, x: Any, grown: Any) -> Any:
    """A text, or null where what is made of it could be too long."""
    length = sql.characters(x)
    return sql.case((grown <= sql.whole(MOST_MADE)) | (grown <= length), x)


def _sql_replaced(sql: Any, x: Any, old: str, new: str) -> Any:
    x = sql.named(x)
    grown = sql.characters(x) + sql.occurrences(x, old) * sql.whole(len(new) - len(old))
    return sql.replaced(_sql_fits(sql, x, grown), old, new)


def _sql_substituted(sql: Any, x: Any, pattern: str, new: str) -> Any:
    x, read_, (size, groups) = sql.named(x), read_replaced(pattern), _sizes(pattern, new)
    grown = sql.characters(x) * sql.whole(1 + groups) + sql.matches_in(x, read_) * sql.whole(size - 1)
    return sql.substituted(_sql_fits(sql, x, grown), read_, template(pattern, new))


def _sql_sliced(sql: Any, x: Any, start: int | None, stop: int | None) -> Any:
    return sql.substring(x, start or 0, None if stop is None else max(0, stop - (start or 0)))


#: The same in SQL (engines/sql/texts.py).
_SQL: dict[str, Callable[..., Any]] = {
    "strip": lambda sql, x, chars: sql.stripped(x, chars or _white()),
    "lstrip": lambda sql, x, chars: sql.stripped(x, chars or _white(), "LEADING"),
    "rstrip": lambda sql, x, chars: sql.stripped(x, chars or _white(), "TRAILING"),
    "len": lambda sql, x: sql.characters(x),
    "startswith": lambda sql, x, part: sql.starts_with(x, part),
    "endswith": lambda sql, x, part: sql.ends_with(x, part),
    "contains": lambda sql, x, part: sql.contains(x, part),
    "slice": _sql_sliced,
    "replace": _sql_replaced,
    "pad": lambda sql, x, width, side, fill: sql.padded(x, width, side, fill),
    "zfill": lambda sql, x, width: sql.zero_filled(x, width),
    "part": lambda sql, x, separator, i, most: sql.part(x, separator, i, most),
    "matches": lambda sql, x, pattern: sql.found(x, read(pattern)),
    "extract": lambda sql, x, pattern, group: sql.extracted(x, read_groups(pattern), group),
    "substitute": _sql_substituted,
    "count": lambda sql, x, pattern: sql.matches_in(x, read_replaced(pattern)),
}


@node
class Concat(Expr):
    """One text behind another; null where either is, or where the result has more than 1,000 characters."""

    kind = "concat"
    a: Expr
    b: Expr

    def __post_init__(self) -> None:
        for each in (self.a, self.b):
            if not isinstance(each.domain, TextDomain):
                raise PlanError(f"+ joins texts, not {each.domain.dtype}", do='convert with .astype("string") first')
        self.computed_from(self.a, self.b, domain=TextDomain(True))

    def polars(self, *inputs: Any) -> Any:
        import polars as pl

        a, b = inputs
        return pl.when(a.str.len_chars() + b.str.len_chars() <= MOST_MADE).then(a + b)

    def python(self, *inputs: Any) -> Any:
        return inputs[0] + inputs[1] if len(inputs[0]) + len(inputs[1]) <= MOST_MADE else None

    def sql(self, sql: Any, *inputs: Any) -> Any:
        a, b = map(sql.named, inputs)
        fits = (sql.characters(a) + sql.characters(b)) <= sql.whole(MOST_MADE)
        return sql.joined(sql.case(fits, a), b)

    def text(self, *inputs: str) -> str:
        return f"({inputs[0]} + {inputs[1]})"
