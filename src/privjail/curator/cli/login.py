"""Commands for analysts: a connection file for this program through the console, and a new token for an old file."""

from __future__ import annotations

import contextlib
import json
import os
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape

from privjail.curator.cli.show import out, quiet, told
from privjail.errors import DPError
from privjail.faults import safe_url
from privjail.terminal import Json

SECONDS, MOST_BYTES = 30.0, 2**20
Certificate = Annotated[
    Path | None, typer.Option(help="the authority of the console's certificate, if it is the jail's own: jail.crt")
]


@quiet
def login(
    console: Annotated[str, typer.Argument(help="the console's address, https://…")],
    output: Annotated[Path, typer.Option("--output", "-o", help="where to write it")] = Path("me.privjail"),
    file: Annotated[str, typer.Option(help="a name for this file, to tell it from your others")] = "program",
    certificate: Certificate = None,
    as_json: Json = False,
) -> None:
    """Get a connection file for this machine: confirm the code that is shown here in a browser.

    Your other connection files stay valid. The new one replaces an earlier one of the same name.
    """
    trust = _trust(certificate, output)
    begun = _post(f"{console.rstrip('/')}/device", {"file": file}, trust)
    page, code = str(begun.get("verification_uri")), str(begun.get("user_code"))
    if not as_json:
        out.print(escape(f"open {page} and type the code {code}"), soft_wrap=True)
    else:
        told(True, "waiting", "", {"verification_uri": page, "user_code": code})
    deadline, pause = time.monotonic() + float(begun["expires_in"]), float(begun["interval"])
    while True:
        time.sleep(pause)
        answer = _post(f"{console.rstrip('/')}/device/token", {"device_code": str(begun["device_code"])}, trust)
        error = answer.get("error")
        if error is None:
            break
        if error not in ("authorization_pending", "slow_down") or time.monotonic() > deadline:
            raise DPError("the login was declined, or its time is over", do="begin again: privjail login")
        pause += 2.0 if error == "slow_down" else 0.0
    _write(output, answer)
    told(as_json, "logged in", f"as {answer['user']}: {output}", {"user": answer["user"], "file": str(output)})


@quiet
def renew(
    file: Annotated[Path, typer.Argument(help="a connection file whose token is still valid", exists=True)],
    console: Annotated[str, typer.Option(help="the console's address, https://…")],
    certificate: Certificate = None,
    as_json: Json = False,
) -> None:
    """Replace the token of a connection file by a new one, which ends when the old one would have."""
    try:
        token = str(json.loads(file.read_text(encoding="utf-8"))["token"])
    except (ValueError, KeyError, TypeError):
        raise DPError(f"{file.name!r} is no connection file", do="use the file that the curator gave you") from None
    trust = _trust(certificate, file)
    answer = _post(f"{console.rstrip('/')}/device/renew", {}, trust, {"Authorization": f"Bearer {token}"})
    if "error" in answer:
        raise DPError("the token is not accepted, or this console is read-only", do="ask the curator for a new one")
    _write(file, answer)
    told(as_json, "renewed", str(file), {"user": answer["user"], "file": str(file)})


def _trust(certificate: Path | None, file: Path) -> ssl.SSLContext:
    """Whom to trust: an authority that was given, the one in a connection file that is there, or the system's."""
    context = ssl.create_default_context()
    if certificate is not None:
        context.load_verify_locations(certificate)
    elif file.is_file():
        with contextlib.suppress(ValueError, KeyError, TypeError, ssl.SSLError):  # else the system's authorities decide
            context.load_verify_locations(cadata=str(json.loads(file.read_text(encoding="utf-8"))["certificate"]))
    return context


def _post(url: str, form: dict[str, str], trust: ssl.SSLContext, headers: dict[str, str] | None = None) -> Any:
    if not safe_url(url):
        raise DPError(f"{url!r} is no address of a console", do="it begins with https://")
    request = urllib.request.Request(url, urllib.parse.urlencode(form).encode(), headers or {})
    try:
        with urllib.request.urlopen(request, timeout=SECONDS, context=trust) as answer:
            found = json.loads(answer.read(MOST_BYTES))
    except urllib.error.HTTPError as e:
        with e:
            try:
                found = json.loads(e.read(MOST_BYTES))
            except ValueError:
                found = None
    except (OSError, ValueError) as e:
        raise DPError(f"the console cannot be reached ({type(e).__name__})", do="check its address") from None
    if not isinstance(found, dict):
        raise DPError("what answers there is no console of a jail", do="check the address")
    return found


def _write(path: Path, file: dict[str, Any]) -> None:
    new = path.with_name(path.name + ".new")
    with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600), "w") as f:
        os.fchmod(f.fileno(), 0o600)
        json.dump(file, f, indent=1)
    os.replace(new, path)


def register(app: typer.Typer) -> None:
    """Mount these commands on the root command."""
    for each in (login, renew):
        app.command()(each)
