"""What privjail.encrypted does, counted: bytes sent, values added, products, ciphertext operations, noise drawn.

Time on a shared machine is noisy; these numbers are the same on every run. Both servers run in this process, with the
same calls, sockets and TLS as always.
"""

from __future__ import annotations

import contextlib
import socket
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import patch

from privjail.encrypted import analyst, compute, decrypt, keys, onehot, seal, wire
from privjail.encrypted.owner import Record, Submitter
from privjail.encrypted.study import Study, Terms
from privjail.mechanisms.noise import Noise

Counts = dict[str, int]


class Counted:
    """One of SEAL's objects, each call of which is an operation on ciphertexts."""

    def __init__(self, thing: Any, counter: Counter[str]) -> None:
        self._thing, self._counter = thing, counter

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def counted(*args: Any) -> Any:
            self._counter["ciphertext operations"] += 1
            return getattr(self._thing, name)(*args)

        return counted


@contextlib.contextmanager
def listening(counter: Counter[str]) -> Iterator[None]:
    """Everything that both servers do is counted."""
    sketched, answers, call = compute.sketched, decrypt.answers, wire.Caller.call

    def products(n: int, bins: int) -> int:
        rows, columns = onehot.square(bins)
        return n * rows * columns * 4 * onehot.TESTS  # β and β², in two halves each

    def adding(rows: Any, bins: int, study: bytes) -> Any:
        counter["values added"] += len(rows) * bins
        counter["products"] += products(len(rows), bins)
        return sketched(rows, bins, study)

    def answering(pad: Any, *args: Any) -> Any:
        counter["values added"] += pad.size
        counter["products"] += products(*pad.shape)
        return answers(pad, *args)

    def calling(self: Any, method: str, *args: Any, **named: Any) -> Any:
        sent, received = self.sent, self.received
        try:
            return call(self, method, *args, **named)
        finally:
            if self._service == "Decrypt":
                counter["bytes to D"] += self.sent - sent
                counter["bytes to C"] += self.received - received
            elif method == "Submit":
                counter["bytes from owners"] += self.sent - sent

    with (
        patch.object(compute, "sketched", adding),
        patch.object(decrypt, "answers", answering),
        patch.object(wire.Caller, "call", calling),
    ):
        yield


def counted(bins: int, n: int, methods: tuple[str, ...] = ("block_tree", "partition")) -> dict[str, Counts]:
    """Step → what → how often, for a study with n records: submissions, then one release of each method."""
    counter: Counter[str] = Counter()

    def draw(scale: float, k: int) -> list[int]:
        counter["noise drawn"] += k
        return Noise().laplace(scale, k)

    found = {}
    with tempfile.TemporaryDirectory() as folder, served(Path(folder), bins, draw, counter) as (study, tickets):
        with Submitter(study) as submitter, listening(counter):
            submitter.submit([Record(f"o{i}", tickets.owner(f"o{i}"), i % bins) for i in range(n)])
            found["submissions"] = dict(counter)
        for method in methods:
            counter.clear()
            with listening(counter):
                analyst.publish(study, tickets.operator(), method, method, 1)
            found[method] = dict(counter)
    return found


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        port: int = s.getsockname()[1]
        return port


@contextlib.contextmanager
def served(where: Path, bins: int, draw: Any, counter: Counter[str]) -> Iterator[tuple[Study, keys.Tickets]]:
    offer = keys.make_decrypt(where / "ds", Terms(bins, "add-remove", Fraction(100)), f"127.0.0.1:{free_port()}")
    study = keys.make_compute(where / "cs", offer, f"127.0.0.1:{free_port()}")
    parts = [(seal.Public, "_encryptor"), (seal.Secret, "_encryptor"), (seal.Secret, "_decryptor")]
    with contextlib.ExitStack() as stack:
        for cls, name in parts:
            stack.enter_context(patch.object(cls, name, _counting(name, counter), create=True))
        scheme = seal.slots()
        stack.enter_context(patch.dict(scheme.__dict__, evaluator=Counted(scheme.evaluator, counter)))
        d = decrypt.start(where / "ds", study, draw=draw)
        stack.callback(d.stop)
        c = compute.start(where / "cs", draw=draw)
        stack.callback(c.stop)
        counter.clear()
        yield study, keys.Tickets(where / "cs")


def _counting(name: str, counter: Counter[str]) -> property:
    def read(self: Any) -> Any:
        return Counted(self.__dict__[name], counter)

    def write(self: Any, thing: Any) -> None:
        self.__dict__[name] = thing

    return property(read, write)
