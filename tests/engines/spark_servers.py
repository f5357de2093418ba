"""Spark Connect servers for tests: Sail in this process's pip environment, and a real Spark cluster on this machine."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import shutil
import socket
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest

SAIL = (  # with a limit on memory: it was seen to take 20 GB
    "import resource as r; r.setrlimit(r.RLIMIT_AS, ({memory}, {memory})); "
    "from pysail.spark import SparkConnectServer as S; s = S('127.0.0.1', {port}); s.start(background=False)"
)
SAIL_MEMORY = 8 * 2**30

FETCHED = Path(__file__).resolve().parents[2] / ".spark"


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def no_sail() -> str | None:
    """Why Sail cannot be started, if it cannot."""
    missing = [name for name in ("pysail", "pyspark") if importlib.util.find_spec(name) is None]
    return f"{' and '.join(missing)} not installed (pip install -e .[dev])" if missing else None


def load_client() -> None:
    """Import Spark's client. In a process of pytest-xdist, whose main module has no file, it would take itself for a
    doctest, look for a Spark distribution and end the process; it does not do so where there is a prompt."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about versions of pandas, as in engines/sql/spark.py
        patch.setattr(sys, "ps1", ">>> ", raising=False)
        importlib.import_module("pyspark.sql.connect.session")


def spark_home() -> Path | None:
    """A Spark distribution: SPARK_HOME, what `make spark` fetches, or what pip install pyspark brings."""
    spec = importlib.util.find_spec("pyspark")
    places = [os.environ.get("SPARK_HOME"), FETCHED, *(spec.submodule_search_locations or [] if spec else [])]
    return next((Path(p) for p in places if p and (Path(p) / "jars").is_dir()), None)


def no_spark() -> str | None:
    """Why no Spark cluster can be started, if none can."""
    if shutil.which("java") is None:
        return "no Java: apt-get install default-jre-headless"
    if importlib.util.find_spec("pyspark") is None:
        return "pyspark-client is not installed (pip install -e .[dev])"
    return None if spark_home() else "no Spark: run make spark, or set SPARK_HOME to a distribution (bin/, jars/)"


def answering(port: int, process: subprocess.Popen[bytes], seconds: float = 900) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError("the server ended while it was started")
        with socket.socket() as s, contextlib.suppress(OSError):
            s.connect(("127.0.0.1", port))
            return
        time.sleep(0.1)
    raise RuntimeError(f"nothing answers on port {port}")


@contextlib.contextmanager
def sail() -> Iterator[str]:
    """A Sail server in a process of its own."""
    port = free_port()
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-c", SAIL.format(port=port, memory=SAIL_MEMORY)], **quiet)  # type: ignore[call-overload]
    try:
        answering(port, process, 120)
        yield f"sc://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()


class Cluster:
    """A standalone Spark: a master, workers with one core each, and a Connect server that uses them."""

    def __init__(self, folder: Path, workers: int = 2) -> None:
        home = spark_home()
        assert home is not None
        self._home, self._folder = home, folder
        self._started: list[subprocess.Popen[bytes]] = []
        self._master_port, self.port = free_port(), free_port()
        self.master = self._class("org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port",
                                  str(self._master_port), "--webui-port", "0")  # fmt: skip
        self.workers: list[subprocess.Popen[bytes]] = []
        try:
            answering(self._master_port, self.master)
            self.workers += [self.worker() for _ in range(workers)]
            self.server = self.connect()
        except BaseException:
            self.close()
            raise

    @property
    def address(self) -> str:
        return f"sc://127.0.0.1:{self.port}"

    def worker(self) -> subprocess.Popen[bytes]:
        return self._class("org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--cores", "1", "--memory",
                           "1g", "--webui-port", "0", "--work-dir", str(self._folder / "work"),
                           f"spark://127.0.0.1:{self._master_port}")  # fmt: skip

    def connect(self) -> subprocess.Popen[bytes]:
        settings = {
            "spark.connect.grpc.binding.port": self.port, "spark.connect.grpc.binding.address": "127.0.0.1",
            "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": 4, "spark.driver.host": "127.0.0.1",
            "spark.driver.bindAddress": "127.0.0.1", "spark.sql.warehouse.dir": self._folder / "warehouse",
            "spark.executor.memory": "768m", "spark.driver.memory": "3g",  # its parser takes up to 1 GB for one statement
        }  # fmt: skip
        given = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
        server = self._start("spark-submit", "--class", "org.apache.spark.sql.connect.service.SparkConnectServer",
                             "--master", f"spark://127.0.0.1:{self._master_port}", *given, "spark-internal")  # fmt: skip
        answering(self.port, server)
        return server

    def close(self) -> None:
        for process in reversed(self._started):
            process.kill()
            process.wait()

    def _class(self, *arguments: str) -> subprocess.Popen[bytes]:
        return self._start("spark-class", *arguments)

    def _start(self, program: str, *arguments: str) -> subprocess.Popen[bytes]:
        env = {**os.environ, "SPARK_HOME": str(self._home), "SPARK_LOCAL_IP": "127.0.0.1",
               "SPARK_LOCAL_DIRS": str(self._folder)}  # fmt: skip
        with (self._folder / "log").open("ab") as log:
            command = [str(self._home / "bin" / program), *arguments]
            self._started.append(subprocess.Popen(command, stdout=log, stderr=log, env=env))
            return self._started[-1]
