"""The root command ``privjail``, on which all others are mounted.

Other parts of the library bring their own commands: a module listed in PARTS is mounted if it is installed.
"""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

import typer

from privjail.curator.cli import (
    console,
    day,
    example,
    gateway,
    house,
    ingest,
    jail,
    lease,
    log,
    login,
    schema,
    serve,
    update,
    verify,
)  # fmt: skip
from privjail.curator.cli.show import complain
from privjail.distribution import __version__
from privjail.errors import DPError
from privjail.faults import explained
from privjail.terminal import Json, dumps

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
update.register(jail.dataset)
lease.register(jail.dataset)
for part in (jail, example, login, log, ingest, serve, console, gateway, house, day, verify):
    part.register(app)


def _misused(error: Any) -> int:
    """Say what is wrong with the arguments; a command without any shows its help instead."""
    context = getattr(error, "ctx", None)
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
    else:
        where = "privjail" if context is None else context.command_path
        complain(DPError(error.format_message(), do=f"see: {where} --help"))
    return int(error.exit_code)


def run() -> None:
    """Run the command line; a mistake of the caller ends in a message, not in a traceback."""
    try:
        ended = app(prog_name="privjail", standalone_mode=False)
        raise SystemExit(ended if isinstance(ended, int) else 0)
    except typer.Abort:
        complain(DPError("stopped"))
        raise SystemExit(1) from None
    except Exception as e:
        if hasattr(e, "format_message"):  # a wrong option or argument, found by typer (or the click that it brings)
            raise SystemExit(_misused(e)) from None
        wrong = e if isinstance(e, DPError) else explained(e)
        if wrong is None:
            raise
        complain(wrong)
        raise SystemExit(1) from None


@app.command("rehearse", context_settings={"allow_extra_args": True, "ignore_unknown_options": True})
def rehearse(context: typer.Context) -> None:
    """Run a program on made-up rows and show what it would cost: rehearse [--rows N] program.py [arguments]."""
    from privjail.rehearsals.run import main

    raise typer.Exit(main(context.args))


@app.command()
def version(as_json: Json = False) -> None:
    """Print the version."""
    print(dumps({"version": __version__}) if as_json else f"privjail {__version__}")


def commands() -> dict[str, Any]:
    """All commands by what one types after ``privjail``."""

    def below(command: Any, path: str) -> dict[str, Any]:
        if not hasattr(command, "commands"):
            return {path: command}
        found: dict[str, Any] = {}
        for name, each in sorted(command.commands.items()):
            found |= below(each, f"{path} {name}".strip())
        return found

    return below(typer.main.get_command(app), "")


@app.command("help")
def help_(as_json: Json = False) -> None:
    """List all commands and subcommands."""
    said = {path: (each.help or "").strip().partition("\n")[0] for path, each in commands().items()}
    if as_json:
        print(dumps([{"command": path, "help": text} for path, text in said.items()]))
        return
    width = max(map(len, said))
    for path, text in said.items():
        print(f"  privjail {path:{width}}  {text}")
