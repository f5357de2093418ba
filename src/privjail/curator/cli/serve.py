"""The command ``privjail serve``."""

from __future__ import annotations

import os
import signal
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from privjail.curator.cli.jail import HERE, Where
from privjail.curator.cli.show import quiet

if TYPE_CHECKING:
    from privjail.server.sessions import Sessions


@quiet
def serve(
    jail: Where = HERE,
    host: Annotated[str, typer.Option(help="the address to listen on")] = "127.0.0.1",
    port: Annotated[
        int | None, typer.Option(help="0 picks a free port; default: the one given to init", min=0, max=65535)
    ] = None,
    mutual_tls: Annotated[bool, typer.Option("--mutual-tls", help="clients must show a certificate too")] = False,
    insecure_loopback: Annotated[bool, typer.Option("--insecure-loopback", help="no TLS, on loopback only")] = False,
    time_quantum: Annotated[float, typer.Option(help="answer only at multiples of this many seconds")] = 0.0,
    metrics_port: Annotated[
        int | None, typer.Option(help="serve /metrics for Prometheus on this port", min=0, max=65535)
    ] = None,
    metrics_host: Annotated[str, typer.Option(help="the address that /metrics listens on")] = "127.0.0.1",
    workers: Annotated[int, typer.Option(help="requests that run at the same time")] = 8,
    memory: Annotated[
        str | None,
        typer.Option(help="memory for all sessions, besides the data, e.g. 4G; default: half of the machine's"),
    ] = None,
    kept_per_user: Annotated[str, typer.Option(help="disk space for the answers and log entries of each user")] = "1G",
    engine: Annotated[str, typer.Option(help="auto, polars, duckdb or spark, for data added without one")] = "auto",
    spark: Annotated[str | None, typer.Option(help="a Spark Connect server, sc://host:port")] = None,
    spark_token_file: Annotated[Path | None, typer.Option(help="a file with the token for Spark")] = None,
    drain: Annotated[float, typer.Option(help="seconds that running requests get when the jail is stopped")] = 20.0,
    certificates: Annotated[
        bool, typer.Option(help="keep the certificate of each release in the ledger, for the auditor")
    ] = True,
) -> None:
    """Serve the jail until it is stopped."""
    from privjail.curator.certificates import SessionCertificates
    from privjail.curator.folder import read_config
    from privjail.engines.choice import check_engine
    from privjail.engines.machine import of_machine
    from privjail.faults import check_listen
    from privjail.server.holdings import EngineOptions
    from privjail.server.limits import Limits
    from privjail.server.memory import parsed
    from privjail.server.server import Options, start

    config = read_config(jail)
    url = config.get("ledger_url")
    port = int(config["address"].split(",")[0].rpartition(":")[2]) if port is None else port
    check_listen(host, port, "the jail")
    limits = Limits(
        memory_bytes=of_machine() // 2 if memory is None else parsed(memory), kept_bytes_per_user=parsed(kept_per_user)
    )
    check_engine(engine)
    engines = EngineOptions(engine, spark, spark_token_file, limits.memory_bytes, limits.seconds_per_release)
    # A signal's handler runs between any two steps of this thread, which may hold a lock: it only writes to a pipe.
    told, tell = os.pipe()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda *_: os.write(tell, b"."))
    running = start(
        jail,
        Options(
            host,
            port,
            workers,
            insecure_loopback,
            mutual_tls,
            time_quantum,
            metrics_port,
            metrics_host,
            url,
            limits,
            engines,
            config.get("alerts", {}),
            SessionCertificates if certificates else None,
        ),
    )
    print(f"serving on {host}:{running.port}", flush=True)
    warming = threading.Thread(target=_warm, args=(running.service.sessions,))
    warming.start()
    os.read(told, 1)
    running.stop(drain)
    warming.join()  # an import that is cut off half-way can keep the process from ending


def _warm(sessions: Sessions) -> None:
    """Import what the first release needs: slow, and not needed to open the port."""
    import importlib

    for module in ("privjail.catalogue.origins", "privjail.engines.polars.engine"):
        importlib.import_module(module)
    sessions.freeze_imports()


def register(app: typer.Typer) -> None:
    """Mount this command on the root command."""
    app.command()(serve)
