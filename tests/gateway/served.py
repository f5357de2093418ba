"""A gateway for tests, in a thread of this process, behind a real socket."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import uvicorn


@contextmanager
def served(app: Any) -> Iterator[httpx.Client]:
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=0, log_level="warning", lifespan="off", timeout_graceful_shutdown=2)
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    http = httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=60)
    http.app = app  # type: ignore[attr-defined]
    try:
        yield http
    finally:
        http.close()
        server.should_exit = True
        thread.join()
        app.gateway.connections.close()
