"""The guide runs: its commands, with the two servers in the background, and its code."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
from pathlib import Path

import pytest

from .parties import ENV, PRIVJAIL, free_port

ROOT = Path(__file__).resolve().parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)


@pytest.mark.slow
def test_the_guide_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = (ROOT / "docs" / "encrypted.md").read_text(encoding="utf-8")
    for port in ("7451", "7452"):
        text = text.replace(port, str(free_port()))
    monkeypatch.chdir(tmp_path)
    servers: list[subprocess.Popen[str]] = []
    space: dict[str, object] = {}
    printed = ""
    try:
        for kind, body in FENCE.findall(text):
            if kind == "python":
                with contextlib.redirect_stdout(io.StringIO()):
                    exec(compile(body, "guide", "exec"), space)  # noqa: S102
            elif kind == "text":
                assert body.strip() == printed.strip()
            else:
                printed = "".join(command(line, servers) for line in body.splitlines())
    finally:
        for process in servers:
            process.kill()
            process.communicate()


def command(line: str, servers: list[subprocess.Popen[str]]) -> str:
    words = line.split()
    if words[0] == "pip":
        return ""
    assert words[:2] == ["privjail", "encrypted"], line
    args = [*PRIVJAIL, *words[2:]]
    if words[2] in ("decrypt", "compute"):
        servers.append(subprocess.Popen(args, stdout=subprocess.PIPE, text=True, env=ENV))
        assert "serving" in servers[-1].stdout.readline()
        return ""
    done = subprocess.run(args, capture_output=True, text=True, env=ENV)
    assert done.returncode == 0, done.stderr
    return done.stdout
