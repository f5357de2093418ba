"""The command ``privjail console``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from privjail.curator.cli.jail import HERE, Where
from privjail.curator.cli.show import quiet
from privjail.errors import DPError
from privjail.faults import LOOPBACK


@quiet
def console(
    jail: Where = HERE,
    host: Annotated[str, typer.Option(help="the address to listen on")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="0 picks a free port", min=0, max=65535)] = 7480,
    name: Annotated[list[str] | None, typer.Option(help="names that browsers use for it, besides the address")] = None,
    write: Annotated[bool, typer.Option("--write", help="allow decisions; without it, pages only show")] = False,
    data: Annotated[
        Path | None, typer.Option(help="a folder whose files may be drafted and checked", file_okay=False, exists=True)
    ] = None,
    certificate: Annotated[
        Path | None, typer.Option(help="a certificate that browsers trust; default: the jail's")
    ] = None,
    key: Annotated[Path | None, typer.Option(help="its key")] = None,
    oidc_issuer: Annotated[str | None, typer.Option(help="an OpenID Connect provider for logins, https://…")] = None,
    oidc_client: Annotated[str | None, typer.Option(help="the client id that it knows the console by")] = None,
    oidc_secret_file: Annotated[Path | None, typer.Option(help="a file with the client's secret", exists=True)] = None,
    oidc_claim: Annotated[str, typer.Option(help="the claim that holds the user's name in the jail")] = "sub",
    insecure_loopback: Annotated[bool, typer.Option("--insecure-loopback", help="no TLS, on loopback only")] = False,
) -> None:
    """Serve the curator's console, a web page: budgets, people, requests, the audit log.

    Log in with the token of a connection file. The first curator: privjail user add NAME --role curator.
    """
    try:
        from privjail.curator.cli.web import serve
        from privjail.curator.console.app import Options, build
        from privjail.curator.console.oidc import read_provider
    except ModuleNotFoundError as missing:
        raise DPError(
            f"the package {missing.name!r} is not installed", do="pip install 'privjail-dp[console]'"
        ) from None
    from privjail.curator.folder import JailFolder
    from privjail.faults import check_listen

    if insecure_loopback and host not in LOOPBACK:
        raise DPError(
            "without TLS the console is served on the loopback address only", do="leave out --insecure-loopback"
        )
    if (certificate is None) is not (key is None):
        raise DPError("--certificate and --key belong together")
    check_listen(host, port, "the console")
    provider = read_provider(oidc_issuer, oidc_client, oidc_secret_file, oidc_claim)
    folder = JailFolder(jail)
    own = folder.config["address"].split(",")[0].rpartition(":")[0].strip("[]").lower()
    hosts = {*LOOPBACK, host.lower(), own, *(n.lower() for n in name or ())} - {"0.0.0.0", "::"}
    app = build(folder, Options(tuple(sorted(hosts)), write, not insecure_loopback, data and data.resolve(), provider))
    files: tuple[Path, Path] | None = None
    if not insecure_loopback:
        shown = jail / "server.pem"
        if certificate is None and not shown.is_file():
            raise DPError("this jail has an older layout", do=f"privjail upgrade --jail {jail}")
        files = (certificate or shown, key or shown)
    serve("console", app, host, port, files)
    folder.ledger.close()


def register(app: typer.Typer) -> None:
    """Mount this command on the root command."""
    app.command()(console)
