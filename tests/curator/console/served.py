"""Real consoles for tests: `privjail console` as a process of its own, and a client that behaves like a browser."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from privjail.curator.folder import JailFolder
from tests.server.jails import ENV, PRIVJAIL

BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no browser: apt-get install chromium, then this test runs")


@contextmanager
def console(jail: Path, *options: str, tls: bool = False) -> Iterator[str]:
    """The address of a console on this jail."""
    args = ["console", "--jail", str(jail), "--port", "0", *options, *([] if tls else ["--insecure-loopback"])]
    process = subprocess.Popen([*PRIVJAIL, *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
    assert process.stdout is not None and process.stderr is not None
    line = process.stdout.readline()
    assert line.startswith("console on "), process.stderr.read()
    try:
        yield line.removeprefix("console on ").strip()
    finally:
        process.terminate()
        out, err = process.communicate(timeout=30)
        assert "Traceback" not in err, err


NO_KEEPING = httpx.Limits(max_keepalive_connections=0)  # no socket is left open behind a test


class Person:
    """Somebody with a browser: keeps cookies, sends forms with the word of the page and the origin."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url, self.csrf = url, ""
        self.http = httpx.Client(base_url=url, verify=False, follow_redirects=True, timeout=60, limits=NO_KEEPING)
        if token is not None:
            answer = self.http.post("/login", data={"token": token}, headers={"Origin": url})
            assert answer.status_code == 200, answer.text
            self._word(answer)

    def _word(self, answer: httpx.Response) -> None:
        found = re.search(r'name="csrf" value="([^"]+)"', answer.text)
        self.csrf = found[1] if found else self.csrf

    def get(self, path: str) -> httpx.Response:
        answer = self.http.get(path)
        self._word(answer)
        return answer

    def post(self, path: str, headers: dict[str, str] | None = None, **form: Any) -> httpx.Response:
        data = {"csrf": self.csrf, **form}
        return self.http.post(path, data=data, headers={"Origin": self.url} if headers is None else headers)

    def decide(self, action: str, **form: Any) -> httpx.Response:
        """Preview and confirm."""
        form = {"reason": "for a test", **form}
        shown = self.post(f"/decide/{action}", **form)
        assert shown.status_code == 200, shown.text
        return self.post(f"/decide/{action}", confirm="yes", **form)


def add(folder: JailFolder, name: str, role: str = "curator") -> str:
    """A user of a role; her token."""
    return str(folder.add_user(name, 30, role=role)["token"])


def token(file: Path) -> str:
    return str(json.loads(file.read_text())["token"])
