"""gRPC is loaded with its event engine switched off and writes errors only, and nobody else is bothered with that."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SWITCHES = "-event_engine_client,-event_engine_listener"
LOADS = "import os; seen = os.environ.get('GRPC_EXPERIMENTS')"  # what a grpc.py in place of the real one notes
TELL = "import os, {first}privjail.server.wire.rpc as rpc; print(rpc.grpc.seen, os.environ.get('GRPC_EXPERIMENTS'))"


def told(where: Path, version: str = "1.85.1", given: str | None = None, first: str = "") -> str:
    """What gRPC finds when it is loaded, and what is left of it."""
    (where / "grpc.py").write_text(LOADS)
    (where / "grpcio-0.dist-info").mkdir(exist_ok=True)
    (where / "grpcio-0.dist-info" / "METADATA").write_text(f"Metadata-Version: 2.1\nName: grpcio\nVersion: {version}\n")
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(where), *sys.path])}
    env.pop("GRPC_EXPERIMENTS", None)
    if given is not None:
        env["GRPC_EXPERIMENTS"] = given
    command = [sys.executable, "-c", TELL.format(first=first)]
    return subprocess.run(command, env=env, capture_output=True, text=True, check=True).stdout.strip()


def test_the_engine_is_off_while_grpc_is_loaded_and_only_then(tmp_path: Path) -> None:
    assert told(tmp_path) == f"{SWITCHES} None"


@pytest.mark.parametrize("version", ["1.78.1", "1.86.0", "2.85.0", "odd"])
def test_a_grpc_that_may_not_know_the_switches_is_left_alone(tmp_path: Path, version: str) -> None:
    assert told(tmp_path, version) == "None None"


def test_what_a_program_chose_or_loaded_before_stays(tmp_path: Path) -> None:
    assert told(tmp_path, given="trace") == "trace trace"
    assert told(tmp_path, first="grpc, ") == "None None"


def test_grpc_writes_errors_only_unless_a_program_chose_otherwise(tmp_path: Path) -> None:
    tell = TELL.replace("GRPC_EXPERIMENTS", "GRPC_VERBOSITY")
    (tmp_path / "grpc.py").write_text(LOADS.replace("GRPC_EXPERIMENTS", "GRPC_VERBOSITY"))
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), *sys.path])}
    for given, seen in ((None, "ERROR None"), ("debug", "debug debug")):
        chosen = {k: v for k, v in env.items() if k != "GRPC_VERBOSITY"} | ({"GRPC_VERBOSITY": given} if given else {})
        command = [sys.executable, "-c", tell.format(first="")]
        done = subprocess.run(command, env=chosen, capture_output=True, text=True, check=True)
        assert done.stdout.strip() == seen


def test_the_grpc_that_is_installed_knows_the_switches() -> None:
    code = "from privjail.server.wire.rpc import grpc; grpc.insecure_channel('127.0.0.1:1').close()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == ""
