"""Functions of one value, followed through each of their branches: apply and map of columns of too many values.

The function is called here, with a stand-in for "some value of the column". Computing with it builds a column. Where
the function decides (``if x > 10``), it is called once more for the other answer, and the results are put together by
``where``. The jail is given an ordinary plan and none of the analyst's code.

A missing number is NaN in pandas, and every comparison with NaN but ``!=`` is false: so it is here.
"""

from __future__ import annotations

import dis
import operator
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import CodeType
from typing import TYPE_CHECKING, Any, NoReturn

from privjail.errors import PlanError
from privjail.pandas.refusals import RefusedAttribute
from privjail.plan.domain import BoolDomain, CategoryDomain, TextDomain, TimeDomain
from privjail.prisoner import Prisoner
from privjail.rowwise import is_missing, literal

if TYPE_CHECKING:
    from privjail.pandas.series import PrivSeries

MOST_PATHS = 64  # ways through a function
NAMES = {"isinstance", "type", "hasattr", "issubclass", "id", "callable", "repr", "str", "format", "isscalar",
         "__class__", "getattr"}  # fmt: skip
#: Methods of columns that a single number has, too, or that mean the same for it.
METHODS = {"clip", "round", "fillna", "isna", "notna", "isnull", "notnull", "astype", "between", "isin", "abs"}
INSTEAD = "use arithmetic, comparisons, .where(…), .str and .dt on whole columns"
ASTYPE = {int: "Int64", float: "Float64", bool: "boolean", str: "string"}


@dataclass
class Path:
    """One way through the function: the decisions that it must take, and those that it met."""

    given: tuple[bool, ...]
    met: list[PrivSeries] = field(default_factory=list)

    def decide(self, condition: PrivSeries) -> bool:
        self.met.append(condition)
        place = len(self.met) - 1
        return self.given[place] if place < len(self.given) else True


_paths: list[Path] = []  # the one that is being followed, last


class Value:
    """Stands for some value of a column."""

    __slots__ = ("_series",)
    __hash__ = None  # type: ignore[assignment]
    __array_priority__ = 1000

    def __init__(self, series: PrivSeries) -> None:
        self._series = series

    def __bool__(self) -> bool:
        if not _paths:
            _refuse("a decision on a value that the function has kept")
        condition = self._series
        if isinstance(condition.domain, BoolDomain):
            return _paths[-1].decide(condition.fillna(False))
        # A missing number is NaN, which is true; so is a missing text, which pandas gives as NaN.
        condition = condition != ("" if _is_text(condition) else 0)
        return _paths[-1].decide(condition.fillna(True))

    def __getattr__(self, name: str) -> Any:
        """Methods of texts, parts of dates: as the column's accessors have them."""
        if name.startswith("__"):
            raise AttributeError(name)
        series = self._series
        if _is_text(series):
            method = getattr(series.str, name)
            return lambda *args, **kwargs: Value(method(*args, **kwargs))
        if isinstance(series.domain, TimeDomain):
            part = getattr(series.dt, name)
            return (lambda *args, **kwargs: Value(part(*args, **kwargs))) if callable(part) else Value(part)
        if name not in METHODS:
            _refuse(f"x.{name}")
        found = getattr(series, name)
        return lambda *args, **kwargs: Value(found(*args, **kwargs))

    def __getitem__(self, key: Any) -> Value:
        return Value(self._series.str[key])

    def __contains__(self, text: Any) -> bool:
        return bool(Value(self._series.str.contains(text, regex=False)))

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Value:
        return Value(getattr(ufunc, method)(*(_series_of(x) for x in inputs), **kwargs))

    def __array__(self, *args: Any, **kwargs: Any) -> NoReturn:
        _refuse("a function of numpy or pandas that needs the value itself", 'for missing values: df["a"].isna()')

    def __float__(self) -> NoReturn:
        _refuse("float(x) or a function of math", "use numpy's function of whole columns, e.g. np.log(x)")

    def __int__(self) -> NoReturn:
        _refuse("int(x)", 'round the column: df["a"].astype("Int64")')

    __index__ = __int__

    def __str__(self) -> NoReturn:
        _refuse("text made of a value", 'convert the column: df["a"].astype("string")')

    __repr__ = __str__

    def __format__(self, spec: str) -> NoReturn:
        self.__str__()

    def __iter__(self) -> NoReturn:
        _refuse("a loop over a value")

    __len__ = __iter__

    def __round__(self, digits: int = 0) -> Value:
        return Value(self._series.round(digits or 0))


def _forwarded(act: Callable[..., Any]) -> Callable[..., Any]:
    def method(self: Value, *others: Any) -> Any:
        return Value(act(self._series, *(_series_of(x) for x in others)))

    return method


def _swapped(act: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def method(self: Value, other: Any) -> Any:
        return Value(act(_series_of(other), self._series))

    return method


def _compared(act: Callable[[Any, Any], Any], missing: bool) -> Callable[..., Any]:
    def method(self: Value, other: Any) -> Any:
        return Value(act(self._series, _series_of(other)).fillna(missing))

    return method


for _name in ("lt", "le", "gt", "ge", "eq", "ne"):
    setattr(Value, f"__{_name}__", _compared(getattr(operator, _name), missing=_name == "ne"))
for _name in ("neg", "pos", "abs", "invert"):
    setattr(Value, f"__{_name}__", _forwarded(getattr(operator, _name)))
for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor"):
    setattr(Value, f"__{_name.strip('_')}__", _forwarded(getattr(operator, _name)))
    setattr(Value, f"__r{_name.strip('_')}__", _swapped(getattr(operator, _name)))


class Row:
    """Stands for some row of a table: ``row["a"]`` and ``row.a`` are values of it."""

    __slots__ = ("_table",)

    def __init__(self, table: Any) -> None:
        self._table = table

    def __getitem__(self, name: Any) -> Value:
        if not isinstance(name, str):
            _refuse("several values of a row at once", 'name one column: row["a"]')
        return Value(self._table[name])

    def __getattr__(self, name: str) -> Value:
        if name.startswith("__") or name not in list(self._table.columns):
            raise AttributeError(f"a row has no {name!r}: its columns are {', '.join(map(str, self._table.columns))}")
        return self[name]


def traced(f: Callable[[Any], Any], given: Value | Row, like: PrivSeries) -> PrivSeries:
    """The column of what a function makes of each value; ``like`` is a column of the same rows."""
    if isinstance(f, type) and f in ASTYPE:
        return like.astype(ASTYPE[f])
    _check_names(f)
    found: dict[tuple[bool, ...], Any] = {}
    conditions: dict[tuple[bool, ...], PrivSeries] = {}
    waiting: list[tuple[bool, ...]] = [()]
    while waiting:
        path = Path(waiting.pop())
        answer = _called(f, given, path)
        ways = path.given + (True,) * (len(path.met) - len(path.given))
        for i, condition in enumerate(path.met):
            known = conditions.setdefault(ways[:i], condition)
            if known._expr is not condition._expr:
                _refuse("a function that does not do the same each time that it is called")
        waiting += [(*ways[:i], False) for i in range(len(path.given), len(path.met))]
        found[ways] = answer
        if len(found) + len(waiting) > MOST_PATHS:
            _refuse(f"a function with more than {MOST_PATHS} ways through it")
    made: PrivSeries = _joined(found, conditions, like)
    return made


def _called(f: Callable[[Any], Any], given: Value | Row, path: Path) -> Any:
    _paths.append(path)
    try:
        answer = _series_of(f(given))
    except ArithmeticError as error:  # its own, whatever the value: no data were looked at
        raise PlanError(f"the function fails: {type(error).__name__}: {error!s:.200}", do=INSTEAD) from error
    finally:
        _paths.pop()
    if not isinstance(answer, Prisoner):
        literal(answer)  # refuses what is no constant
    return answer


def _joined(found: dict[tuple[bool, ...], Any], conditions: dict[tuple[bool, ...], PrivSeries], like: Any) -> Any:
    """The answers of all ways, put together by the conditions that lead to them."""
    constants = not any(type(answer) is type(like) for answer in found.values())
    labels = list(dict.fromkeys((type(x), x) for x in found.values())) if constants else []

    def below(way: tuple[bool, ...]) -> Any:
        if way in found:
            answer = found[way]
            return labels.index((type(answer), answer)) if constants else answer
        condition, yes, no = conditions[way], below((*way, True)), below((*way, False))
        return yes if yes is no else _chosen(condition, yes, no)

    result = below(())
    if not constants:
        made = result if isinstance(result, type(like)) else _constant(like, result)
        return made.fillna(False) if isinstance(made.domain, BoolDomain) else made
    codes = result if isinstance(result, type(like)) else _constant(like, result)
    pairs = {code: label for code, (_, label) in enumerate(labels) if not is_missing(label)}
    if not pairs:
        _refuse("a function that gives nothing but missing values")
    return codes.map(pairs)


def _chosen(condition: Any, yes: Any, no: Any) -> Any:
    """One column or constant where the condition holds, another elsewhere."""
    if not isinstance(yes, type(condition)):
        if is_missing(yes) and isinstance(no, type(condition)):
            return no.mask(condition)
        yes = _constant(condition, yes)
    return yes.where(condition, no)


def _constant(like: Any, value: Any) -> Any:
    """A public constant as a column of the same rows."""
    return like.isna().map({True: value, False: value})


def _series_of(x: Any) -> Any:
    return x._series if isinstance(x, Value) else x


def _is_text(series: PrivSeries) -> bool:
    return isinstance(series.domain, (TextDomain, CategoryDomain))


def _check_names(f: Any, seen: set[int] | None = None) -> None:
    """Refuse what would silently take a stand-in for something else: questions about its type or identity.

    Functions that it calls are looked at, too.
    """
    seen = set() if seen is None else seen
    while hasattr(f, "func"):  # functools.partial
        f = f.func
    if not hasattr(f, "__code__") and not isinstance(f, type) and hasattr(type(f).__call__, "__code__"):
        f = type(f).__call__
    code = getattr(f, "__code__", None)
    if id(code) in seen:
        return
    seen.add(id(code))
    for each in _codes(code) if isinstance(code, CodeType) else ():
        for name in each.co_names:
            known = getattr(f, "__globals__", {}).get(name)
            if hasattr(known, "__code__") and not getattr(known, "__module__", "").startswith(("pandas", "numpy")):
                _check_names(known, seen)
        if each.co_exceptiontable:
            _refuse("try inside the function", "write what happens to such values as a condition")
        asked = NAMES & set(each.co_names)
        if asked:
            _refuse(f"{min(asked)}() inside the function", 'for missing values: df["a"].isna(), .fillna(…)')
        if any(step.opname == "IS_OP" or step.opname.endswith("NONE") for step in dis.get_instructions(each)):
            _refuse("the test with 'is' inside the function", 'for missing values: df["a"].isna(), .fillna(…)')


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _codes(inner)


def _refuse(what: str, do: str = INSTEAD) -> NoReturn:
    raise RefusedAttribute(
        f"apply is refused here: {what} needs a single value, and the analyst's code does not run on private data",
        do=do,
    )


def apply_rows(table: Any, f: Callable[[Any], Any]) -> PrivSeries:
    """``df.apply(f, axis=1)``: a function of each row, followed through its branches."""
    names = list(table.columns)
    if not names:
        raise PlanError("the table has no columns")
    return traced(f, Row(table), table[names[0]])
