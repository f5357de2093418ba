"""What a release over the wire cannot go below: one sync of the disk and one round trip of gRPC, by themselves.

Both are measured at the pace of releases, once in a millisecond: a disk, a network stack and a processor that are asked
without a pause answer sooner than any that had a moment of rest.
"""

from __future__ import annotations

import os
import queue
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent import futures
from pathlib import Path
from typing import Any

from privjail.server.tls import make_certificates
from privjail.server.wire.rpc import grpc

PAUSE, RUNS, MESSAGE = 0.001, 300, bytes(200)


def paced(work: Callable[[], Any]) -> float:
    """Milliseconds of something that is done once in a while, without the pause; the median."""
    times = []
    for _ in range(RUNS):
        time.sleep(PAUSE)
        start = time.perf_counter()
        work()
        times.append(1000 * (time.perf_counter() - start))
    return statistics.median(times)


def sync_ms(folder: Path) -> float:
    """How long the disk takes to keep one block."""
    fd = os.open(folder / "sync", os.O_RDWR | os.O_CREAT)
    try:
        os.pwrite(fd, bytes(4096), 0)
        os.fsync(fd)
        return paced(lambda: (os.pwrite(fd, os.urandom(700), 0), os.fdatasync(fd)))
    finally:
        os.close(fd)
        os.unlink(folder / "sync")


class Echo(grpc.GenericRpcHandler):  # type: ignore[misc]
    """Sends back what comes in."""

    def service(self, details: Any) -> Any:
        def same(messages: Iterator[bytes], context: Any) -> Iterator[bytes]:
            yield from messages

        return grpc.stream_stream_rpc_method_handler(same)


def serve(folder: Path) -> None:
    server = grpc.server(futures.ThreadPoolExecutor(2), handlers=(Echo(),))
    pair = ((folder / "jail.key").read_bytes(), (folder / "jail.crt").read_bytes())
    print(server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([pair])), flush=True)
    server.start()
    server.wait_for_termination()


def round_trip_ms() -> float:
    """How long a small message takes to another process and back, over a stream of gRPC with TLS."""
    with tempfile.TemporaryDirectory() as name:
        make_certificates(Path(name), ["localhost", "127.0.0.1"])
        process = subprocess.Popen([sys.executable, __file__, name], stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            credentials = grpc.ssl_channel_credentials((Path(name) / "jail.crt").read_bytes())
            channel = grpc.secure_channel(f"127.0.0.1:{int(process.stdout.readline())}", credentials)
            sent: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
            answers = channel.stream_stream("/floor/Echo")(iter(sent.get, None))
            took = paced(lambda: (sent.put(MESSAGE), next(answers)))
            sent.put(None)
            channel.close()
            return took
        finally:
            process.kill()
            process.wait()


if __name__ == "__main__":
    serve(Path(sys.argv[1]))
