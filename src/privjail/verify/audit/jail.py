"""A jail with dummy data, served by the auditor to programs that use pj.connect."""

from __future__ import annotations

import csv
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from privjail.catalogue.schema import UNDECLARED, Schema, read_schema
from privjail.errors import SchemaError
from privjail.verify.audit.data import dummy, edited


@dataclass(frozen=True)
class Given:
    """What the curator says about a data set: everything but its rows."""

    schema: dict[str, Any]
    unit: str | None = None
    most: int | None = 1
    notion: str = "pure"
    budget: tuple[Any, ...] = (1000,)
    columns: tuple[str, ...] = ()  # all columns in their order, where those of the schema are not all of them

    def declared(self) -> Schema:
        """The schema with every column in it; what it does not declare is untyped, as in a jail."""
        schema = read_schema(self.schema)
        return {name: schema.get(name, UNDECLARED) for name in dict.fromkeys([*self.columns, *schema])}


@contextmanager
def served(data: dict[str, Given], edit: str, which: int, rows: int) -> Iterator[tuple[dict[str, Any], list[Any]]]:
    """Where the jail of one world is, a token for it; and the exact inputs of its mechanisms, as they come."""
    from privjail.curator.folder import JailFolder
    from privjail.engines.coins import AllDrawn
    from privjail.engines.polars.engine import PolarsEngine
    from privjail.server.server import Options, start

    inputs: list[Any] = []

    class Noting(PolarsEngine):
        def evaluate(self, value: Any) -> Any:
            found = super().evaluate(value)
            inputs.append([str(x) for x in found] if isinstance(found, list) else [str(found)])
            return found

    with tempfile.TemporaryDirectory(prefix="privjail-audit-") as folder:
        home = Path(folder) / "jail"
        jail = JailFolder.init(home, ["localhost", "127.0.0.1"], "127.0.0.1:0", None)
        token = jail.add_user("analyst", 1)["token"]
        for i, (name, given) in enumerate(data.items()):
            schema = given.declared()
            if not schema and given.unit is None:
                raise SchemaError(f"no column of {name!r} is known", do="declare its columns in a schema")
            table = dummy(schema, given.unit, rows)
            names, body = edited(table, schema, given.unit, given.most, edit if i == which else "as it is")
            file = Path(folder) / f"{i}.csv"
            with file.open("w", encoding="utf-8", newline="") as out:
                csv.writer(out).writerows([names, *body])
            unit = (given.unit, given.most if given.unit is not None else 1)
            jail.add_dataset(name, str(file), given.schema, list(given.budget), given.notion, unit, kind="csv")
            jail.grant("analyst", name, list(given.budget), group=False, reason=None)
        jail.ledger.close()
        running = start(home, Options(port=0, insecure_loopback=True))
        frames = running.service.catalogue.frames
        running.service.sessions._engine = lambda: Noting(64 * 2**20, frames, AllDrawn())
        try:
            yield {"address": f"127.0.0.1:{running.port}", "token": token}, inputs
        finally:
            running.stop()
