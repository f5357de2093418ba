"""s.str: functions of text.

On categories they are carried out by pandas itself, on the public labels, at the client: whatever pandas offers works,
and the jail is given a dictionary. On free text they are operations of ops/columns/text.py.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from privjail.errors import PlanError
from privjail.ops.columns.pattern import read
from privjail.ops.columns.recode import Recode
from privjail.ops.columns.text import Text
from privjail.pandas.refusals import RefusedAttribute
from privjail.plan.domain import CategoryDomain, TextDomain, type_name
from privjail.plan.node import Lit
from privjail.rowwise import is_missing, literal

if TYPE_CHECKING:
    from privjail.pandas.frame import PrivDataFrame
    from privjail.pandas.series import PrivSeries

EVERY = r"[\s\S]"  # any character, also the end of a line
#: Offered on categories, by pandas itself; on free text they have no rule.
BY_LABEL = {
    "capitalize", "casefold", "center", "decode", "encode", "find", "index", "isalpha", "islower", "isnumeric",
    "istitle", "isupper", "isascii", "ljust", "normalize", "partition", "rfind", "rindex", "rjust", "rpartition",
    "rsplit", "slice_replace", "swapcase", "title", "translate", "wrap",
}  # fmt: skip
_FIRST = '`df["s"].str.extract("([a-z]+)")` for the first, `df["s"].str.count("[a-z]+")` for their number'
_MANY = "how many matches a text has is private"
REFUSED = {
    "findall": (_MANY, _FIRST),
    "extractall": (_MANY, _FIRST),
    "join": ("a column holds texts, not lists", '`df["s"] + "-" + df["s"]`'),
    "get_dummies": ("which parts occur is private", 'test for each: `df["s"].str.contains("word", regex=False)`'),
}  # fmt: skip


class Strings:
    """Text functions, on free text or on the labels of categories."""

    def __init__(self, series: PrivSeries) -> None:
        domain = series.domain
        if not isinstance(domain, (TextDomain, CategoryDomain)):
            raise RefusedAttribute(
                f"PrivSeries.str is refused: a {type_name(domain)} column holds no text",
                do='convert it first: `df["a"].astype("string").str.len()`',
            )
        if isinstance(domain, CategoryDomain) and not all(isinstance(label, str) for label in domain.categories):
            raise RefusedAttribute(
                "PrivSeries.str is refused: the categories are no text",
                do='convert it first: `df["a"].astype("string").str.len()`',
            )
        self._series = series
        self._labels = domain.categories if isinstance(domain, CategoryDomain) else None

    # -- carrying out

    def _apply(self, f: str, *arguments: Any) -> PrivSeries:
        """A function of ops/columns/text.py."""
        return self._series._new(Text(f, self._series._expr, tuple(literal(a) for a in arguments)))

    def _recoded(self, images: Sequence[Any]) -> PrivSeries:
        assert self._labels is not None
        shown = [None if is_missing(image) else image for image in images]
        pairs = tuple((Lit.of(label), literal(image)) for label, image in zip(self._labels, shown, strict=True))
        return self._series._new(Recode(self._series._expr, pairs, 0))

    def _by_label(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """What pandas makes of the public labels."""
        import pandas

        assert self._labels is not None
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", "This pattern is interpreted")  # groups of contains("a(b|c)")
                found = getattr(pandas.Series(self._labels, dtype=object).str, name)(*args, **kwargs)
        except (TypeError, ValueError, IndexError, re.error) as e:
            raise PlanError(f".str.{name}: {e}") from None
        if isinstance(found, pandas.DataFrame):
            return self._table({column: self._recoded(found[column].tolist()) for column in found.columns})
        if any(isinstance(x, list) for x in found):
            lengths = found.str.len().tolist()
            return Parts(lambda i: self._recoded(found.str.get(i).tolist()), lambda: self._recoded(lengths))
        return self._recoded(found.tolist())

    def _table(self, columns: dict[Any, PrivSeries]) -> PrivDataFrame:
        return self._series._table({name: column._expr for name, column in columns.items()})

    # -- letters and lengths

    def lower(self) -> PrivSeries:
        """Lower case.

        >>> x = df["ward"].str.lower()
        """
        return self._apply("lower") if self._labels is None else self._series_by_label("lower")

    def upper(self) -> PrivSeries:
        """Upper case.

        >>> x = df["ward"].str.upper()
        """
        return self._apply("upper") if self._labels is None else self._series_by_label("upper")

    def _series_by_label(self, name: str, *args: Any, **kwargs: Any) -> PrivSeries:
        found: PrivSeries = self._by_label(name, *args, **kwargs)
        return found

    def strip(self, to_strip: str | None = None) -> PrivSeries:
        """Without white space (or other characters) at both ends.

        >>> x = df["patient"].str.strip()
        """
        return self._stripped("strip", to_strip)

    def lstrip(self, to_strip: str | None = None) -> PrivSeries:
        """Without white space (or other characters) at the beginning.

        >>> x = df["patient"].str.lstrip("P")
        """
        return self._stripped("lstrip", to_strip)

    def rstrip(self, to_strip: str | None = None) -> PrivSeries:
        """Without white space (or other characters) at the end.

        >>> x = df["patient"].str.rstrip()
        """
        return self._stripped("rstrip", to_strip)

    def _stripped(self, name: str, chars: str | None) -> PrivSeries:
        if self._labels is not None:
            return self._series_by_label(name, chars)
        return self._series if chars == "" else self._apply(name, chars)

    def len(self) -> PrivSeries:
        """The number of characters.

        >>> x = df["patient"].str.len()
        """
        return self._apply("len") if self._labels is None else self._series_by_label("len")

    def zfill(self, width: int) -> PrivSeries:
        """Filled with zeros on the left.

        >>> x = df["patient"].str.zfill(8)
        """
        return self._apply("zfill", width) if self._labels is None else self._series_by_label("zfill", width)

    def pad(self, width: int, side: str = "left", fillchar: str = " ") -> PrivSeries:
        """Filled with a character on the left or right.

        >>> x = df["patient"].str.pad(8, fillchar="_")
        """
        if self._labels is not None:
            return self._series_by_label("pad", width, side, fillchar)
        return self._apply("pad", width, side, fillchar)

    def repeat(self, repeats: int) -> PrivSeries:
        """The text several times.

        >>> x = df["ward"].str.repeat(2)
        """
        if self._labels is not None:
            return self._series_by_label("repeat", repeats)
        if type(repeats) is not int or not 1 <= repeats <= 16:
            raise PlanError(".str.repeat takes a whole number from 1 to 16")
        found = self._series
        for _ in range(repeats - 1):
            found = found + self._series
        return found

    # -- tests

    def startswith(self, pat: Any, na: bool | None = False) -> PrivSeries:
        """Whether the text begins with a public text, or one of several.

        >>> x = df["ward"].str.startswith("s")
        """
        return self._filled(self._any_of("startswith", pat), na)

    def endswith(self, pat: Any, na: bool | None = False) -> PrivSeries:
        """Whether the text ends with a public text, or one of several.

        >>> x = df["ward"].str.endswith("y")
        """
        return self._filled(self._any_of("endswith", pat), na)

    def _any_of(self, name: str, pat: Any) -> PrivSeries:
        if self._labels is not None:
            return self._series_by_label(name, pat)
        found = [self._apply(name, each) for each in (pat if isinstance(pat, tuple) else (pat,))]
        result = found[0]
        for each in found[1:]:
            result = result | each
        return result

    def contains(
        self, pat: str, case: bool = True, flags: int = 0, na: bool | None = False, regex: bool = True
    ) -> PrivSeries:
        """Whether the text contains a pattern, or a plain text.

        >>> x = df["ward"].str.contains("ger|card")
        """
        if self._labels is not None:
            found = self._series_by_label("contains", pat, case=case, flags=flags, regex=regex)
        elif not regex or isinstance(pat, str) and _literal(pat) and case and not flags:
            text = self if case else Strings(self.lower())
            found = text._apply("contains", pat if case else pat.lower())
        else:
            found = self._apply("matches", _pattern(pat, case, flags))
        return self._filled(found, na)

    def match(self, pat: str, case: bool = True, flags: int = 0, na: bool | None = False) -> PrivSeries:
        """Whether the text begins with a pattern.

        >>> x = df["patient"].str.match("P[0-9]+")
        """
        if self._labels is not None:
            return self._filled(self._series_by_label("match", pat, case=case, flags=flags), na)
        return self._filled(self._apply("matches", _pattern(pat, case, flags, r"\A(?:", ")")), na)

    def fullmatch(self, pat: str, case: bool = True, flags: int = 0, na: bool | None = False) -> PrivSeries:
        """Whether all of the text is a pattern.

        >>> x = df["patient"].str.fullmatch("P[0-9]{4}")
        """
        if self._labels is not None:
            return self._filled(self._series_by_label("fullmatch", pat, case=case, flags=flags), na)
        return self._filled(self._apply("matches", _pattern(pat, case, flags, r"\A(?:", r")\Z")), na)

    def isdecimal(self) -> PrivSeries:
        """Whether the text is decimal digits and nothing else.

        >>> x = df["patient"].str.isdecimal()
        """
        return self._made_of("isdecimal", r"\d")

    def isdigit(self) -> PrivSeries:
        """Whether the text is digits and nothing else.

        >>> x = df["patient"].str.isdigit()
        """
        return self._made_of("isdigit", rf"[\d{_digits()}]")

    def isalnum(self) -> PrivSeries:
        """Whether the text is letters and digits and nothing else.

        >>> x = df["patient"].str.isalnum()
        """
        return self._made_of("isalnum", r"[^\W_]")

    def isspace(self) -> PrivSeries:
        """Whether the text is white space and nothing else.

        >>> x = df["patient"].str.isspace()
        """
        return self._made_of("isspace", r"\s")

    def _made_of(self, name: str, chars: str) -> PrivSeries:
        if self._labels is None:
            return self.fullmatch(f"{chars}+")
        return self._filled(self._series_by_label(name), na=False)

    def count(self, pat: str, flags: int = 0) -> PrivSeries:
        """How often a pattern occurs.

        >>> x = df["ward"].str.count("r")
        """
        if self._labels is not None:
            return self._series_by_label("count", pat, flags)
        return self._apply("count", _pattern(pat, True, flags))

    @staticmethod
    def _filled(answer: PrivSeries, na: bool | None) -> PrivSeries:
        """Where the text is missing: False, as pandas' own text has it, or what was asked for."""
        return answer if na is None or is_missing(na) else answer.fillna(na)

    # -- parts

    def slice(self, start: int | None = None, stop: int | None = None, step: int | None = None) -> PrivSeries:
        """The characters from one position to another.

        >>> x = df["patient"].str.slice(0, 2)
        """
        if self._labels is not None:
            return self._series_by_label("slice", start, stop, step)
        if step not in (None, 1) or any(x is not None and type(x) is not int for x in (start, stop)):
            raise PlanError(".str.slice takes two positions, without a step")
        if (start or 0) >= 0 and (stop is None or stop >= 0):
            return self._apply("slice", start, stop)
        return self._from_the_end(start or 0, stop)

    def _from_the_end(self, start: int, stop: int | None) -> PrivSeries:
        """A slice with positions counted from the end, as a pattern."""
        if start >= 0:
            pattern = rf"\A{EVERY}{{{start}}}({EVERY}*){EVERY}{{{-(stop or 0)}}}\Z"
        elif stop is None or stop < 0:
            length = max(0, (stop or 0) - start)
            pattern = rf"({EVERY}{{0,{length}}}){EVERY}{{{-(stop or 0)}}}\Z"
        else:
            raise PlanError(".str[a:b] takes positions from one end", do="slice twice: .str[-5:].str[:2]")
        empty = self._apply("slice", 0, 0)
        return self._apply("extract", pattern.replace(EVERY + "{0}", ""), 1).fillna(empty)

    def get(self, i: int) -> PrivSeries:
        """The character at a position; missing where the text is shorter.

        >>> x = df["patient"].str.get(0)
        """
        if self._labels is not None:
            return self._series_by_label("get", i)
        if type(i) is not int:
            raise PlanError(".str.get takes a position")
        one = self.slice(i, i + 1 if i != -1 else None)
        return one.where(self.len() > (i if i >= 0 else -i - 1))

    def __getitem__(self, key: Any) -> PrivSeries:
        if isinstance(key, slice):
            return self.slice(key.start, key.stop, key.step)
        if type(key) is int:
            return self.get(key)
        raise PlanError(".str[…] takes a position or a slice")

    __iter__ = None  # else Python would iterate over positions 0, 1, 2, … for ever

    def replace(
        self, pat: Any, repl: Any = None, n: int = -1, case: bool | None = None, flags: int = 0, regex: bool = False
    ) -> PrivSeries:
        """A text, or a pattern with regex=True, replaced.

        >>> x = df["patient"].str.replace("P", "")
        """
        if self._labels is not None:
            return self._series_by_label("replace", pat, repl, n=n, case=case, flags=flags, regex=regex)
        if isinstance(pat, dict):
            found = self
            for old, new in pat.items():
                found = Strings(found.replace(old, new, n, case, flags, regex))
            return found._series
        if n != -1 or not isinstance(repl, str):
            raise PlanError(
                "in free text every occurrence is replaced, by a text", do="leave out n=; write the new text"
            )
        if not regex and (case is None or case):
            return self._apply("replace", pat, repl)
        spelled = pat if regex else re.escape(pat)
        new = repl if regex else repl.replace("\\", "\\\\")
        return self._apply("substitute", _pattern(spelled, case is not False, flags), new)

    def removeprefix(self, prefix: str) -> PrivSeries:
        """Without a text at the beginning.

        >>> x = df["patient"].str.removeprefix("P")
        """
        if self._labels is not None or not prefix:
            return self._series_by_label("removeprefix", prefix) if self._labels is not None else self._series
        return self._apply("substitute", rf"\A{re.escape(prefix)}", "")

    def removesuffix(self, suffix: str) -> PrivSeries:
        """Without a text at the end.

        >>> x = df["patient"].str.removesuffix("0")
        """
        if self._labels is not None or not suffix:
            return self._series_by_label("removesuffix", suffix) if self._labels is not None else self._series
        return self._apply("substitute", rf"{re.escape(suffix)}\Z", "")

    def extract(self, pat: str, flags: int = 0, expand: bool = True) -> PrivDataFrame | PrivSeries:
        """What the groups of a pattern match first: a column for each (expand=False: of one group, a series).

        >>> number = df["patient"].str.extract("P([0-9]+)", expand=False)
        """
        if self._labels is not None:
            found: PrivDataFrame | PrivSeries = self._by_label("extract", pat, flags=flags, expand=expand)
            return found
        spelled = _pattern(pat, True, flags)
        groups = read(spelled).groups
        columns = {name or i: self._apply("extract", spelled, i + 1) for i, name in enumerate(groups)}
        if not columns:
            raise PlanError("the pattern has no group (…) to extract", do='.str.extract("([0-9]+)")')
        return self._table(columns) if expand or len(columns) > 1 else next(iter(columns.values()))

    def split(
        self, pat: str | None = None, n: int = -1, expand: bool = False, regex: bool | None = None
    ) -> PrivDataFrame | Parts:
        """The parts between separators: .str[i] takes one; with n and expand=True a table of n + 1 columns.

        >>> first = df["patient"].str.split("0").str[0]
        """
        if self._labels is not None:
            parts: PrivDataFrame | Parts = self._by_label("split", pat, n=n, expand=expand, regex=regex)
            return parts
        if regex or regex is None and pat is not None and len(pat) > 1 and not _literal(pat):
            raise PlanError("free text is split at a plain text", do="use .str.extract(pattern), or regex=False")
        most = max(n, 0)
        if pat is None and most:
            raise PlanError(
                "free text is split at white space without n", do='name the separator: .str.split(" ", n=1)'
            )
        part = _word if pat is None else lambda text, i: text._apply("part", pat, i, most)
        if not expand:
            return Parts(lambda i: part(self, i), lambda: self._length_of(pat, most))
        if not most:
            raise PlanError(
                "how many columns the parts need is private", do='say it: .str.split(",", n=1, expand=True), or .str[0]'
            )
        return self._table({i: part(self, i) for i in range(most + 1)})

    def _length_of(self, pat: str | None, most: int) -> PrivSeries:
        if pat is None:
            return self._apply("count", r"\S+")
        found = self._apply("count", re.escape(pat)) + 1
        return found.clip(upper=most + 1) if most else found

    def cat(
        self, others: Any = None, sep: str | None = None, na_rep: str | None = None, join: str = "left"
    ) -> PrivSeries:
        """Joined with another column, or several, row by row.

        >>> x = df["sex"].str.cat(df["ward"], sep="/")
        """
        if others is None:
            raise PlanError("all rows joined in one text would show them", do='join columns: df["a"].str.cat(df["b"])')
        found = self._series if na_rep is None else self._series.fillna(na_rep)
        for other in others if isinstance(others, (list, tuple)) else [others]:
            found = found + sep if sep else found
            found = found + (other if na_rep is None else other.fillna(na_rep))
        return found

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *(BY_LABEL if self._labels is not None else ())]

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            if name.startswith("_"):
                raise AttributeError(name)
            if name in BY_LABEL and self._labels is not None:
                if name.startswith("is"):
                    return lambda: self._filled(self._by_label(name), na=False)
                return lambda *args, **kwargs: self._by_label(name, *args, **kwargs)
            if name in REFUSED:
                why, instead = REFUSED[name]
                raise RefusedAttribute(f".str.{name} is not offered: {why}", do=instead)
            if name in BY_LABEL:
                raise RefusedAttribute(
                    f".str.{name} is not offered on free text: categories have it",
                    do='declare a category, or use `df["s"].str.lower()`, `df["s"].str.extract("([a-z]+)")`',
                )
            names = [n for n in dir(type(self)) if not n.startswith("_")]
            near = get_close_matches(name, names, 3)
            do = f"did you mean {', '.join(near)}?" if near else f"use one of {', '.join(names)}"
            raise RefusedAttribute(f".str.{name} is not offered: there is no such function of text", do=do)


class Parts:
    """The parts of a split text: a list in each row, of which one position can be taken."""

    def __init__(self, take: Callable[[int], PrivSeries], length: Callable[[], PrivSeries]) -> None:
        self._take, self._length = take, length

    @property
    def str(self) -> Parts:
        return self

    def get(self, i: int) -> PrivSeries:
        if type(i) is not int:
            raise PlanError("one part is taken by its position", do='df["name"].str.split(",").str[0]')
        return self._take(i)

    __getitem__ = get
    __iter__ = None

    def len(self) -> PrivSeries:
        return self._length()

    def __getattr__(self, name: Any) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise RefusedAttribute(
            f"lists of parts have no {name}",
            do='take one part: `df["s"].str.split(",").str[0]`; '
            'count the rows that have a part: `df["s"].str.contains("q").sum().reveal(eps=0.1)`',
        )


def _word(text: Strings, i: int) -> PrivSeries:
    """A word, counted from the beginning or the end."""
    if i >= 0:
        return text._apply("extract", rf"\A\s*(?:\S+\s+){{{i}}}(\S+)" if i else r"(\S+)", 1)
    last = rf"(?:\s+\S+){{{-i - 1}}}" if i < -1 else ""
    return text._apply("extract", rf"(\S+){last}\s*\Z", 1)


def _digits() -> str:
    """The characters that are digits but no decimal ones, as ranges of a class."""
    from privjail.ops.columns.characters import merged

    codes = [i for i in range(0x10000) if chr(i).isdigit() and not chr(i).isdecimal()]
    return "".join(f"{chr(a)}-{chr(b)}" for a, b in merged([(i, i) for i in codes]))


def _literal(text: str) -> bool:
    """Whether a pattern matches exactly itself: no character of it has a meaning of its own."""
    return not set(text) & set(".^$*+?{}[]\\|()")


def _pattern(pat: Any, case: bool = True, flags: int = 0, before: str = "", after: str = "") -> str:
    """A pattern of the analyst, with its flags spelled in front."""
    if isinstance(pat, re.Pattern):
        pat, flags = str(pat.pattern), flags | pat.flags & ~re.UNICODE
    if not isinstance(pat, str):
        raise PlanError(f"a pattern is text, not {type(pat).__name__}", do='.str.contains("a|b")')
    ignore = not case or bool(flags & re.IGNORECASE)
    if flags & ~(re.IGNORECASE | re.UNICODE):
        raise PlanError("of the flags of a pattern only re.IGNORECASE has a rule", do="leave out flags=")
    if pat.startswith("(?i)"):
        pat, ignore = pat[4:], True
    return f"{'(?i)' if ignore else ''}{before}{pat}{after}"
