"""A jail with dummy data, served by the auditor to programs that use pj.connect."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from privjail.catalogue.schema import UNDECLARED, Schema, read_schema
from privjail.errors import SchemaError
from privjail.verify.audit.compare import exact_input
from privjail.verify.audit.people import Belongs
from privjail.verify.audit.world import World


@dataclass(frozen=True)
class Given:
    """What the curator says about a data set: everything but its rows."""

    schema: dict[str, Any]
    unit: str | None = None
    most: int | None = 1
    notion: str = "pure"
    budget: tuple[Any, ...] = (1000,)
    columns: tuple[str, ...] = ()  # all columns in their order, where those of the schema are not all of them
    population: str | None = None  # then ``unit`` is the person; None where a link says whose rows they are
    keys: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
    removed: bool = False  # nobody may open it; other tables link to it

    def declared(self) -> Schema:
        """The schema with every column in it; what it does not declare is untyped, as in a jail."""
        schema = read_schema(self.schema)
        return {name: schema.get(name, UNDECLARED) for name in dict.fromkeys([*self.columns, *schema])}

    def belongs(self, name: str) -> Belongs | None:
        people = self.population
        return None if people is None else Belongs(people, people, name, self.keys, self.links)

    def facts(self, name: str) -> dict[str, Any]:
        """What a run must know of it, as JSON."""
        belongs = self.belongs(name)
        people = None if belongs is None else asdict(belongs)
        return {"schema": self.schema, "unit": self.unit, "most": self.most, "people": people}


@contextmanager
def served(data: dict[str, Given], edit: str, which: int, rows: int) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Where the jail of one world is, a token for it; and the exact inputs of its mechanisms, as they come."""
    from privjail.curator.folder import JailFolder
    from privjail.engines.coins import AllDrawn
    from privjail.engines.polars.engine import PolarsEngine
    from privjail.server.server import Options, start

    inputs: list[Any] = []

    class Noting(PolarsEngine):
        def evaluate(self, value: Any, *known: Any) -> Any:
            found = super().evaluate(value, *known)
            inputs.append(exact_input(found))
            return found

    with tempfile.TemporaryDirectory(prefix="privjail-audit-") as folder:
        home = Path(folder) / "jail"
        jail = JailFolder.init(home, ["localhost", "127.0.0.1"], "127.0.0.1:0", None)
        token = jail.add_user("analyst", 1)["token"]
        world = World(edit, which, rows, {name: given.facts(name) for name, given in data.items()})
        for i, (name, given) in enumerate(data.items()):
            _add(jail, world, name, given, Path(folder) / f"{i}.csv")
        jail.ledger.close()
        running = start(home, Options(port=0, insecure_loopback=True))
        frames = running.service.catalogue.frames
        running.service.sessions._engine = lambda: Noting(64 * 2**20, frames, AllDrawn())
        try:
            yield {"address": f"127.0.0.1:{running.port}", "token": token}, inputs
        finally:
            running.stop()


def _add(jail: Any, world: World, name: str, given: Given, file: Path) -> None:
    """Add the rows that a data set has in this world to a jail; the analyst may use it."""
    schema, belongs = given.declared(), given.belongs(name)
    if not schema and given.unit is None and belongs is None:
        raise SchemaError(f"no column of {name!r} is known", do="declare its columns in a schema")
    names, body = world.table(name, schema, given.unit, given.most, belongs, None)
    with file.open("w", encoding="utf-8", newline="") as out:
        csv.writer(out).writerows([names, *body])
    budget, account = list(given.budget), given.population or name
    why = "made-up rows"
    if given.population is None:
        unit = (given.unit, given.most if given.unit is not None else 1)
        jail.add_dataset(name, str(file), given.schema, budget, given.notion, unit, kind="csv", overlap_reason=why)
    else:
        if account not in jail.state.datasets:
            jail.add_population(account, budget, given.notion)
        person, keys, links = (given.unit, given.most), list(given.keys), list(given.links)
        jail.add_table(name, str(file), given.schema, account, person, keys, links, kind="csv", overlap_reason=why)
    if ("user", "analyst", account) not in jail.state.limits:
        jail.grant("analyst", account, budget, group=False, reason=None)
    if given.removed:
        jail.remove_dataset(name)
