"""The web server of the console and of the gateway: it says where it listens, and shows new certificates at once."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import uvicorn


def serve(what: str, app: Any, host: str, port: int, tls: tuple[Path, Path] | None) -> None:
    """Serve until a signal comes. ``tls``: the files of a certificate and its key."""
    files: dict[str, Any] = {} if tls is None else {"ssl_certfile": str(tls[0]), "ssl_keyfile": str(tls[1])}
    config = uvicorn.Config(
        app, host=host, port=port, log_level="warning", access_log=False, server_header=False, date_header=False,
        proxy_headers=False, timeout_keep_alive=10, limit_concurrency=100, h11_max_incomplete_event_size=32_768,
        timeout_graceful_shutdown=5, lifespan="off", **files,
    )  # fmt: skip
    Announcing(what, config).run()


class Announcing(uvicorn.Server):
    """Says on which port it listens, as soon as it does, and takes up new certificates."""

    def __init__(self, what: str, config: uvicorn.Config) -> None:
        super().__init__(config)
        self._what = what
        self._read: tuple[Any, ...] = ()

    def _mark(self) -> tuple[Any, ...]:
        files = (self.config.ssl_certfile, self.config.ssl_keyfile)
        return tuple((s.st_mtime_ns, s.st_ino, s.st_size) for s in (os.stat(f) for f in files if f))

    async def on_tick(self, counter: int) -> bool:
        if self.config.ssl is not None and counter % 10 == 0:  # once a second
            try:
                if self._mark() != self._read:
                    self.config.ssl.load_cert_chain(self.config.ssl_certfile or "", self.config.ssl_keyfile)
                    self._read = self._mark()
            except OSError:  # half of it is written: the old one is shown for another second
                pass
        return await super().on_tick(counter)

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self._read = self._mark()
        for each in self.servers:
            address = each.sockets[0].getsockname()
            scheme = "https" if self.config.is_ssl else "http"
            print(f"{self._what} on {scheme}://{self.config.host}:{address[1]}", flush=True)
