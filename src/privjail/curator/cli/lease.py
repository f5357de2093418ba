"""The command ``privjail dataset lease``: one sync of the disk for many requests."""

from __future__ import annotations

from typing import Annotated

import typer

from privjail.curator.cli.jail import HERE, DatasetName, Where, _folder
from privjail.curator.cli.show import exact, out, quiet, show, spelled, told
from privjail.errors import DPError
from privjail.terminal import Json


@quiet
def lease(
    name: DatasetName,
    size: Annotated[
        str | None, typer.Argument(help="how much a lease reserves, e.g. 0.1; without it: show them")
    ] = None,
    off: Annotated[bool, typer.Option("--off", help="no leases from now on")] = False,
    reason: Annotated[str | None, typer.Option(help="why; it is logged")] = None,
    jail: Where = HERE,
    as_json: Json = False,
) -> None:
    """Charge requests on a data set from reserved parts of its budget: small releases need not wait for the disk.

    SIZE is reserved for each user who asks, in ε (ρ, or a divergence, where the budget is in these; of δ the same
    share). If the machine loses power, what is left of the open leases counts as spent.
    """
    from privjail.curator.checks import the_dataset
    from privjail.curator.leases import set_lease

    folder = _folder(jail)
    notion = the_dataset(folder.state, name).notion
    if off and size is not None:
        raise DPError("--off ends leases: it goes without a size")
    if off or size is not None:
        amount = set_lease(folder, name, size, reason)
        words = f"{name}: " + ("no leases" if amount is None else f"leases of {notion.spelled(amount)}")
        told(as_json, "lease", words, {"dataset": name, "size": exact(notion, amount)})
        return
    state = folder.state
    written = exact if as_json else spelled
    held = state.leases.held.get(("dataset", "", name))
    shown = [state.leasing.get(name), held, state.forfeited.get(name)]
    rows = [[name, *(written(notion, each) for each in shown)]]
    show("leases", ["data set", "size", "held", "forfeited"], rows, as_json)
    if not as_json and not state.leasing.get(name):
        out.print("each request waits for the disk; see: privjail dataset lease --help")


def register(app: typer.Typer) -> None:
    """Mount this command beside the others about data sets."""
    app.command("lease")(lease)
