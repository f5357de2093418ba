"""The clock that ends work whose time is up."""

from __future__ import annotations

import contextlib
import threading
import time
from typing import Any

import pytest

from privjail.server.deadline import Deadline, TimeUp


def test_work_is_ended_when_its_time_is_up() -> None:
    def forever() -> None:
        while True:
            pass

    start = time.monotonic()
    with pytest.raises(TimeUp):
        Deadline(0.2).run(forever)

    assert time.monotonic() - start < 5


def test_a_shielded_part_is_not_cut_short() -> None:
    deadline = Deadline(0.1)
    done = []

    def work() -> None:
        with deadline.shield():
            time.sleep(0.3)
            for i in range(1000):
                done.append(i)
        done.append(-1)

    with pytest.raises(TimeUp):
        deadline.run(work)

    assert done == list(range(1000))


def test_a_clock_that_was_too_late_does_not_hit_the_next_work() -> None:
    for _ in range(200):
        try:
            Deadline(0.001).run(lambda: time.sleep(0.0008))
        except TimeUp:
            pass
        for _ in range(300):
            pass


def test_a_clock_that_fires_while_work_leaves_is_not_left_locked(monkeypatch: pytest.MonkeyPatch) -> None:
    """The time is up while the work waits for the clock's lock: an exception there would keep it for ever."""
    from privjail.server import deadline as module

    watch, ready, go = module.Clock(), threading.Event(), threading.Event()
    monkeypatch.setattr(module, "clock", lambda: watch)
    deadline = Deadline(60)

    def work() -> None:
        ready.set()
        go.wait()

    def run() -> None:
        with contextlib.suppress(TimeUp):
            deadline.run(work)

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    with watch._changed:
        go.set()
        time.sleep(0.05)
    deadline.fire()
    thread.join()
    assert watch._changed.acquire(timeout=5)
    watch._changed.release()


def test_work_that_loses_the_word_is_told_again() -> None:
    """As in a callback of a weak reference, out of which no exception comes."""
    told = []

    def work() -> None:
        for _ in range(3):
            try:
                while True:
                    time.sleep(0.001)
            except TimeUp:
                told.append(time.monotonic())
        while True:
            time.sleep(0.001)

    start = time.monotonic()
    with pytest.raises(TimeUp):
        Deadline(0.05).run(work)

    assert len(told) == 3 and time.monotonic() - start < 30
    time.sleep(1.5)  # and nothing comes after the end
