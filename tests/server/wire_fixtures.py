"""Jails, recorded channels and noise that repeats itself, for the tests of the wire."""

from __future__ import annotations

import contextlib
import math
import random
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

import pandas
from privjail import client
from privjail.curator.folder import JailFolder
from privjail.engines.polars.engine import PolarsEngine
from privjail.server.wire import privjail_pb2 as pb
from privjail.server.limits import Limits
from privjail.server.server import Options, Running, start
from privjail.mechanisms.noise import Noise

SCHEMA: dict[str, Any] = {
    "age": {"type": "Int64", "range": [0, 120]},
    "income": {"type": "Float64", "range": [0, 100000]},
    "city": {"type": "category", "categories": ["Kobe", "Kyoto", "Nara", "Osaka"]},
    "grade": {"type": "category", "categories": [1, 2, 3], "ordered": True},
    "member": {"type": "boolean"},
    "born": {"type": "datetime", "range": ["1900-01-01", "2030-01-01"]},
    "note": {"type": "string"},
    "free": {"type": "Float64"},
}


def people(n: int = 60, seed: int = 7) -> pandas.DataFrame:
    """A small table with nulls, ties and odd values in every column."""
    rng = random.Random(seed)

    def maybe(value: Any) -> Any:
        return None if rng.random() < 0.1 else value

    rows = [
        {
            "age": maybe(rng.choice([0, 17, 18, 40, 41, 64, 119, 120])),
            "income": maybe(rng.choice([0.0, 0.5, 1234.5, 99999.75, 100000.0])),
            "city": maybe(rng.choice(["Kobe", "Kyoto", "Nara"])),
            "grade": maybe(rng.choice([1, 2, 3])),
            "member": maybe(rng.choice(["true", "false"])),
            "born": maybe(f"{rng.randrange(1900, 2030)}-0{rng.randrange(1, 10)}-1{rng.randrange(0, 9)}"),
            "note": maybe(rng.choice(["", "a", "Straße", "ΑΒΓ", "x" * 40])),
            "free": maybe(rng.choice([-1e300, -1.0, 0.0, 1e-300, 3.5, 1e300])),
        }
        for _ in range(n)
    ]
    return pandas.DataFrame(rows)


def as_csv(frame: pandas.DataFrame) -> str:
    frame = frame.copy()
    for column in ("age", "grade"):
        if column in frame:
            frame[column] = frame[column].astype("Int64")
    return frame.to_csv(index=False)


@dataclass(frozen=True)
class Held:
    """A data set of a test's jail."""

    frame: pandas.DataFrame
    schema: dict[str, Any] = field(default_factory=lambda: SCHEMA)
    unit: tuple[str | None, int | None] = (None, 1)
    notion: str = "pure"
    budget: tuple[Any, ...] = (10**6,)


def make_jail(folder: Path, tables: dict[str, Held], users: tuple[str, ...] = ("ann",)) -> dict[str, dict[str, Any]]:
    """A jail's folder with these data sets; returns the connection file of each user."""
    jail = JailFolder.init(folder, ["localhost", "127.0.0.1"], "127.0.0.1:0", None)
    files = {user: jail.add_user(user, 90, mutual=True) for user in users}
    for name, held in tables.items():
        path = folder / f"{name}.csv"
        path.write_text(as_csv(held.frame), encoding="utf-8")
        jail.add_dataset(
            name, str(path), held.schema, list(held.budget), held.notion, held.unit, overlap_reason="a test"
        )
        for user in users:
            jail.grant(user, name, list(held.budget), group=False, reason=None)
    jail.ledger.close()
    return files


@contextlib.contextmanager
def quick_folder() -> Iterator[Path]:
    """A folder in memory where there is one: the disk is not what these tests are about."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        yield Path(folder)


@contextlib.contextmanager
def served(folder: Path, noise: Noise | None = None, **options: Any) -> Iterator[Running]:
    """The jail of a folder, served on loopback by threads of this process."""
    options.setdefault("insecure_loopback", True)
    running = start(folder, Options(port=0, **options), noise)
    try:
        yield running
    finally:
        running.stop()


def address(running: Running) -> str:
    return f"127.0.0.1:{running.port}"


def connected(running: Running, file: dict[str, Any], record: list[Any] | None = None) -> client.Connection:
    """A connection of a user, recorded if a list is given."""
    channel: Any = grpc.insecure_channel(address(running))
    if record is not None:
        channel = Recording(channel, record)
    return client.Connection(channel, file["token"])


class Recording:
    """A channel that notes all bytes that go in and out: (method, request, answer or (status, details))."""

    def __init__(self, channel: Any, record: list[Any]) -> None:
        self._channel, self._record = channel, record

    def unary_unary(self, method: str, request_serializer: Any, response_deserializer: Any) -> Any:
        raw = self._channel.unary_unary(method)

        def call(message: Any, **kwargs: Any) -> Any:
            body = request_serializer(message)
            try:
                answer = raw(body, **kwargs)
            except grpc.RpcError as e:
                trailers = [(k, v) for k, v in e.trailing_metadata() or ()]
                self._record.append((method, body, (e.code().name, e.details(), trailers)))
                raise
            self._record.append((method, body, answer))
            return response_deserializer(answer)

        return call

    def stream_stream(self, method: str, request_serializer: Any, response_deserializer: Any) -> Any:
        """Each message of a stream is noted as the call that it stands for."""
        raw = self._channel.stream_stream(method)
        single = method.removesuffix("s")

        def call(messages: Iterator[Any], **kwargs: Any) -> Any:
            sent: list[bytes] = []

            def bodies() -> Iterator[bytes]:
                for message in messages:
                    sent.append(request_serializer(message))
                    yield sent[-1]

            return Answers(raw(bodies(), **kwargs), lambda answer: self._note(single, sent.pop(0), answer))

        return call

    def _note(self, method: str, body: bytes, answer: bytes) -> Any:
        released = pb.Released.FromString(answer)
        if released.WhichOneof("outcome") == "refusal":
            self._record.append((method, body, (released.refusal.status, released.refusal.details, [])))
        else:
            self._record.append((method, body, released.reply.SerializeToString()))
        return released

    def close(self) -> None:
        self._channel.close()


class Answers:
    """The answers of a stream, each of them looked at."""

    def __init__(self, raw: Any, look: Any) -> None:
        self._raw, self._look = raw, look

    def __next__(self) -> Any:
        return self._look(next(self._raw))

    def cancel(self) -> None:
        self._raw.cancel()


class Fixed(Noise):
    """Noise from a seed: two runs of one program on one table get the same answers."""

    def __init__(self, seed: int = 1) -> None:
        self.rng = random.Random(seed)

    def laplace(self, scale: float, n: int) -> list[int]:
        return [round(scale * self.rng.choice([-1, 1]) * self.rng.expovariate(1)) for _ in range(n)]

    def gaussian(self, scale: float, n: int) -> list[int]:
        return [round(self.rng.gauss(0, scale)) for _ in range(n)]

    def noisy_max(self, scores: Any, scale: float) -> int:
        noised = [s + scale * self.rng.expovariate(1) for s in scores]
        return noised.index(max(noised))

    def exponential(self, scores: Any, factor: Any) -> int:
        best = max(scores)
        return self.rng.choices(range(len(scores)), [math.exp(-factor * (best - s)) for s in scores])[0]


class Blind(Fixed):
    """Noise whose choices do not look at the scores."""

    def noisy_max(self, scores: Any, scale: float) -> int:
        return self.rng.randrange(len(scores))

    def exponential(self, scores: Any, factor: Any) -> int:
        return self.rng.randrange(len(scores))


class Recorder(PolarsEngine):
    """An engine that notes the exact inputs of mechanisms; it can answer with those of another run instead."""

    inputs: list[tuple[Any, Any]]
    replay: Iterator[tuple[Any, Any]] | None = None

    def evaluate(self, value: Any) -> Any:
        found = super().evaluate(value)
        self.inputs.append((value, found))
        if self.replay is None:
            return found
        before, answer = next(self.replay)
        assert before.name == value.name, "the other run released something else here"
        return answer


def record_inputs(running: Running, replay: list[tuple[Any, Any]] | None = None) -> list[tuple[Any, Any]]:
    """From now on, what the mechanisms of this jail are given, session by session."""
    inputs: list[tuple[Any, Any]] = []
    again = None if replay is None else iter(replay)

    def engine() -> Recorder:
        made = Recorder(64 * 2**20, running.service.catalogue.frames)
        made.inputs, made.replay = inputs, again
        return made

    running.service.sessions._engine = engine
    return inputs


SMALL = Limits(seconds_per_release=20.0)
MESSAGES = {
    "Open": (pb.OpenRequest, pb.OpenReply),
    "Describe": (pb.DescribeRequest, pb.Dataset),
    "Release": (pb.ReleaseRequest, pb.ReleaseReply),
    "Budget": (pb.BudgetRequest, pb.BudgetReply),
    "Close": (pb.CloseRequest, pb.CloseReply),
}
