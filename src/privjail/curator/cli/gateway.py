"""The command ``privjail gateway``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from privjail.curator.cli.show import quiet
from privjail.errors import DPError
from privjail.faults import LOOPBACK


@quiet
def gateway(
    connection: Annotated[
        Path, typer.Argument(help="any connection file of the jail; its token is not read", exists=True, dir_okay=False)
    ],
    host: Annotated[str, typer.Option(help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 picks a free port", min=0, max=65535)] = 7490,
    certificate: Annotated[Path | None, typer.Option(help="for HTTPS: a certificate that programs trust")] = None,
    key: Annotated[Path | None, typer.Option(help="its key")] = None,
    per_minute: Annotated[int, typer.Option(help="requests with one token in a minute", min=1)] = 600,
    insecure_loopback: Annotated[bool, typer.Option("--insecure-loopback", help="no TLS, on loopback only")] = False,
) -> None:
    """Answer questions as JSON over HTTP, for programs in other languages. Each comes with an analyst's own token.

    It is an analyst's program: it holds no data, no token and no right of its own. GET /openapi.json describes it.
    """
    try:
        from privjail.curator.cli.web import serve
        from privjail.gateway.app import Options, build
    except ModuleNotFoundError as missing:
        raise DPError(
            f"the package {missing.name!r} is not installed", do="pip install 'privjail-dp[gateway]'"
        ) from None
    from privjail.faults import check_listen

    if (certificate is None) is not (key is None):
        raise DPError("--certificate and --key belong together")
    if certificate is None and not insecure_loopback:
        raise DPError(
            "tokens travel with every request, so the gateway needs TLS",
            do="give --certificate and --key; or, on this machine only, --insecure-loopback",
        )
    if insecure_loopback and (certificate is not None or host not in LOOPBACK):
        raise DPError(
            "without TLS the gateway is served on the loopback address only", do="leave out --insecure-loopback"
        )
    check_listen(host, port, "the gateway")
    app = build(Options(*_jail(connection), per_minute))
    serve("gateway", app, host, port, None if certificate is None or key is None else (certificate, key))
    app.gateway.connections.close()


def _jail(file: Path) -> tuple[str, str | None]:
    """Address and certificate of the jail."""
    try:
        given = json.loads(file.read_text(encoding="utf-8"))
        address, certificate = given["address"], given.get("certificate")
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        raise DPError(f"{file.name!r} is no connection file", do="use one that the curator gave") from None
    if given.get("user_certificate"):
        raise DPError(
            "this jail asks every user for a certificate, which a gateway cannot show for others",
            do="serve the jail without --mutual-tls, or let its users run the Python client",
        )
    if given.get("insecure_loopback"):
        return address, None
    if not certificate:
        raise DPError(f"{file.name!r} holds no certificate of the jail", do="use one that the curator gave")
    return address, certificate


def register(app: typer.Typer) -> None:
    """Mount this command on the root command."""
    app.command()(gateway)
