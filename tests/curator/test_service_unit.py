"""The unit file in the guide is one that systemd reads, and it takes away what the guide says."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

UNIT = Path(__file__).parents[2] / "docs" / "guide" / "privjail.service"


def test_the_unit_runs_serve_as_its_own_user_with_everything_else_taken_away() -> None:
    from privjail.curator.cli import app

    settings = dict(line.split("=", 1) for line in UNIT.read_text().splitlines() if "=" in line and line[0] not in "#[")
    for key, value in {
        "User": "privjail", "ProtectSystem": "strict", "ProtectHome": "yes", "NoNewPrivileges": "yes",
        "PrivateTmp": "yes", "PrivateDevices": "yes", "CapabilityBoundingSet": "", "UMask": "0077", "LimitCORE": "0",
    }.items():  # fmt: skip
        assert settings[key] == value
    words = settings["ExecStart"].split()
    assert words[0].endswith("/privjail") and words[1] == "serve"
    with pytest.raises(SystemExit) as end:  # the options exist: what fails is that the folder is not there
        app(words[1:])
    assert end.value.code == 1


def test_systemd_understands_it(tmp_path: Path) -> None:
    tool = shutil.which("systemd-analyze")
    if tool is None:
        pytest.skip("systemd is not installed")
    here = tmp_path / "privjail.service"
    here.write_text(UNIT.read_text().replace("/opt/privjail/bin/privjail", "/bin/true"))
    done = subprocess.run([tool, "verify", str(here)], capture_output=True, text=True, check=False)
    assert "Unknown" not in done.stderr and "Invalid" not in done.stderr
