"""The root command ``privjail``, on which all others are mounted.

Other parts of the library bring their own commands: a module listed in PARTS is mounted if it is installed.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys

import typer

from privjail.curator.cli import console, day, house, ingest, jail, log, schema, serve, verify
from privjail.distribution import __version__
from privjail.errors import DPError
from privjail.faults import explained

#: command → the module that holds its typer ``app``
PARTS = {"local": "privjail.local.cli", "encrypted": "privjail.encrypted.cli"}

app = typer.Typer(
    help="PrivJail for the owner of the data.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _mount() -> None:
    for command, module in PARTS.items():
        folder = importlib.util.find_spec(module.rpartition(".")[0])
        if folder is not None and importlib.util.find_spec(module) is not None:
            app.add_typer(importlib.import_module(module).app, name=command)


_mount()
app.add_typer(schema.app, name="schema")
for part in (jail, log, ingest, serve, console, house, day, verify):
    part.register(app)


def run() -> None:
    """Run the command line; a mistake of the caller ends in a message, not in a traceback."""
    try:
        app(prog_name="privjail")
    except Exception as e:
        wrong = e if isinstance(e, DPError) else explained(e)
        if wrong is None:
            raise
        print(f"privjail: {wrong}", file=sys.stderr)
        raise SystemExit(1) from None


@app.command("rehearse", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def rehearse(context: typer.Context) -> None:
    """Run a program on made-up rows and show what it would cost: rehearse [--rows N] program.py [arguments]."""
    from privjail.rehearsals.run import main

    raise typer.Exit(main(context.args))


@app.command()
def version() -> None:
    """Print the version."""
    print(f"privjail {__version__}")
