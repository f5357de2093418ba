"""Run as a script: imports what a jail needs, then forks a jail for each line that it is sent."""

from __future__ import annotations

import importlib
import json
import os
import signal
import sys

for module in (
    "privjail.curator.cli.root", "privjail.curator.folder", "privjail.server.server", "privjail.catalogue.origins",
    "privjail.engines.polars.engine", "opendp.measurements",
):  # fmt: skip
    importlib.import_module(module)

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
print("ready", flush=True)
for line in sys.stdin:
    job = json.loads(line)
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        continue
    quiet = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1):
        os.dup2(quiet, fd)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    try:
        if job["crash"]:
            import crashes

            crashes.arm(**job["crash"])
        sys.argv = ["privjail", *job["args"]]
        importlib.import_module("privjail.curator.cli.root").run()
    finally:
        os._exit(0)
