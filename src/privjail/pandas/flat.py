"""groupby(as_index=False): the keys of released results are columns, as pandas has them."""

from __future__ import annotations

from typing import Any

from privjail.pandas.deferred import Deferred, deferred
from privjail.prisoner import Prisoner
from privjail.sensitive import Sensitive


class FlatGroups(Prisoner):
    """Groups whose keys become columns of what is released."""

    def __init__(self, groups: Any) -> None:
        self._groups = groups

    @property
    def distance(self) -> Any:
        return self._groups.distance

    def _plan(self) -> str:
        found: str = self._groups._plan()
        return found

    def __str__(self) -> str:
        return f"{self._groups}\n  as_index=False: keys become columns"

    __repr__ = __str__

    def __dir__(self) -> list[str]:
        return dir(self._groups)

    def __getitem__(self, columns: Any) -> FlatGroups:
        return FlatGroups(self._groups[columns])

    def __iter__(self) -> Any:
        return iter(self._groups)

    def __len__(self) -> int:
        return len(self._groups)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        found = getattr(self._groups, name)
        if isinstance(found, type(self._groups).__mro__[1]):
            return FlatGroups(found)
        if not callable(found) or isinstance(found, Prisoner):
            return found

        def called(*args: Any, **kwargs: Any) -> Any:
            return flat(found(*args, **kwargs), name)

        return called


def flat(result: Any, name: str) -> Any:
    """A result with its keys as columns; a private one gets them once it is released."""
    if isinstance(result, Deferred):
        return result._then("reset_index()", lambda found: _reset(found, name))
    if isinstance(result, Sensitive) and result._value.index:
        return deferred(result, "reset_index()", lambda found: _reset(found, name))
    return _reset(result, name)


def _reset(found: Any, name: str) -> Any:
    if type(found).__name__ not in ("Series", "DataFrame") and not hasattr(found, "reset_index"):
        return found
    if getattr(found, "ndim", 0) == 1 and found.name is None:
        return found.reset_index(name=name)
    return found.reset_index()
