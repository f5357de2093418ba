"""The respondent's side: one report for each question, however often it is asked.

Claim: a thousand calls of ``report`` reveal no more than one. The first report is remembered and
returned ever after, whatever value is passed, so neither averaging nor a change of mind leaks. The
raw value is never stored. Only ``renew`` draws again, and it says what that costs (V-50).
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import numpy as np

from privjail.errors import PlanError, SchemaError
from privjail.local.channels.channel import Channel
from privjail.local.channels.exact import log_up
from privjail.local.survey.survey import Survey


class Memory:
    """Reports already given, by question; on disk if a path is given, or else for this process only."""

    def __init__(self, path: str | Path | None = None) -> None:
        self._path = Path(path) if path is not None else None
        self._kept: dict[str, list[tuple[str, str]]] = {}
        self._later = False
        if self._path is not None and self._path.exists():
            try:
                kept = json.loads(self._path.read_text(encoding="utf-8"))
                self._kept = {key: [(text, theta) for text, theta in sent] for key, sent in kept.items()}
            except (OSError, ValueError, TypeError, AttributeError):
                # Starting afresh would draw a second time: the averaging attack again.
                raise SchemaError(
                    "the memory of earlier reports cannot be read", do="restore it; do not start a new one"
                ) from None

    def get(self, key: str) -> list[tuple[str, str]]:
        """Every report sent for this question, each with its parameter."""
        return list(self._kept.get(key, []))

    def add(self, key: str, text: str, theta: str) -> None:
        """Remember, durably, before anything is sent: a crash must not lead to a second draw."""
        self._kept.setdefault(key, []).append((text, theta))
        if not self._later:
            self._save()

    @contextmanager
    def together(self) -> Iterator[None]:
        """Many reports, saved once at the end; send none of them before."""
        self._later = True
        try:
            yield
        finally:
            self._later = False
            self._save()

    def _save(self) -> None:
        if self._path is None:
            return
        draft = self._path.with_name(self._path.name + ".new")
        try:
            handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                json.dump(self._kept, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(draft, self._path)
        except OSError:
            # Unsaved, a report would be forgotten and drawn again: it must not be sent.
            raise SchemaError(
                "the memory of reports cannot be written, so none is sent", do="check its folder"
            ) from None


class Respondent:
    """One person on her own device, with the parameter that she picked and may keep to herself.

    >>> from privjail.local import Respondent, Warner
    >>> her = Respondent(Warner("3/5"))
    >>> len({her.report("yes") for _ in range(1000)})
    1
    """

    def __init__(
        self,
        channel: Survey | Channel | Mapping[str, Channel],
        theta: str | None = None,
        memory: Memory | None = None,
        name: str = "",
    ) -> None:
        question = channel.question if isinstance(channel, Survey) else ""
        self._menu = _menu(channel, theta)
        self._theta = theta if theta is not None else next(iter(self._menu))
        # θ is no part of the key: one report for each θ would be several reports on one answer.
        self._key = json.dumps([question, name])
        self._ballot = channel.ballot if isinstance(channel, Survey) else None
        self._memory = memory if memory is not None else Memory()

    @property
    def theta(self) -> str:
        """The parameter of the report that is being sent; picking another later does not change it."""
        given = self._memory.get(self._key)
        return given[-1][1] if given else self._theta

    def report(self, value: object) -> str:
        """What may be sent. The same text every time, until ``renew``."""
        given = self._memory.get(self._key)
        return given[-1][0] if given else self.renew(value)

    def ballot(self) -> str:
        """Her choice itself, randomised: sent beside the report, once, if the survey asks for it."""
        if self._ballot is None:
            raise PlanError("this survey asks for no ballot", do="send the report alone")
        key = self._key + " ballot"
        given = self._memory.get(key)
        if not given:
            position = np.array([self._ballot.domain.index(self.theta)], dtype=np.int64)
            self._memory.add(key, self._ballot.write(self._ballot.draw(position))[0], "")
            given = self._memory.get(key)
        return given[-1][0]

    def renew(self, value: object) -> str:
        """A fresh report for a new round. Each one adds the channel's plain ε to ``spent``."""
        channel = self._menu[self._theta]
        position = np.array([channel.domain.index(value)], dtype=np.int64)
        text = channel.write(channel.draw(position))[0]
        self._memory.add(self._key, text, self._theta)
        return text

    @property
    def spent(self) -> float:
        """Plain local ε of all reports so far: the only bound over rounds (paper, theorem 2)."""
        total = Fraction(1)
        for _, theta in self._memory.get(self._key):
            ratio = self._menu[theta].ratio if theta in self._menu else None
            if ratio is None:
                return log_up(None)
            total *= ratio
        return log_up(total)


def _menu(channel: Survey | Channel | Mapping[str, Channel], theta: str | None) -> Mapping[str, Channel]:
    if isinstance(channel, Channel):
        return {theta or "": channel}
    menu = channel.menu if isinstance(channel, Survey) else channel
    if theta is None or theta not in menu:
        raise PlanError("pick one of the survey's parameters", do=f"theta may be: {', '.join(menu)}")
    return menu
