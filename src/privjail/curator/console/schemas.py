"""Draft and check a schema in the browser. The page shows names and types of columns, never a value of the data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from starlette.responses import Response
from starlette.routing import Route

from privjail.catalogue.schema import from_json
from privjail.curator.console.app import PageRequest, Refused
from privjail.errors import DPError, SchemaError

if TYPE_CHECKING:
    from privjail.curator.console.app import Console

ENDINGS = (".csv", ".parquet", ".pq", ".tsv")
MOST_FILES = 500


def files(folder: Path | None) -> list[str]:
    """The files that may be chosen: those directly in the folder that the console was started with, no links.

    A name that is no text (letters of another encoding) can stand in no page and in no form: it is left out.
    """
    if folder is None:
        return []
    known = [f for f in sorted(folder.iterdir()) if f.name.isprintable() and f.suffix.lower() in ENDINGS]
    return [f.name for f in known if f.is_file() and not f.is_symlink()][:MOST_FILES]


def chosen(ask: PageRequest) -> Path:
    """A file by its name. It is looked up in the list, so no path leads anywhere else."""
    folder, name = ask.console.options.data, ask.given("file")
    if folder is None or name not in files(folder):
        raise Refused(400, "there is no such file in the console's data folder")
    return folder / name


def show(ask: PageRequest) -> Response:
    return _page(ask, "", "", None)


def _page(ask: PageRequest, file: str, text: str, report: Any, wrong: DPError | None = None) -> Response:
    data = ask.console.options.data
    return ask.page("schema.html", files=files(data), data=data, file=file, text=text, report=report, wrong=wrong)


def draft(ask: PageRequest) -> Response:
    """Columns and types of a file. Ranges and categories are the curator's: read from the data, they would leak."""
    from privjail.curator.schema_draft import draft as drafted
    from privjail.curator.schema_draft import need_header, read_raw

    path = chosen(ask)
    if path.suffix.lower() not in (".parquet", ".pq"):
        need_header(path)
    made = drafted(read_raw(path))
    blank = {name: _blank(column) for name, column in made.items()}
    return _page(ask, ask.given("file"), json.dumps(blank, indent=2, ensure_ascii=False), None)


def _blank(column: Any) -> Any:
    if not isinstance(column, dict):
        return column
    kept = {k: v for k, v in column.items() if k not in ("range", "categories")}
    if "range" in column:
        kept["range"] = ["from?", "to?"]
    if "categories" in column:
        kept["categories"] = ["fill in"]
    return kept


def check(ask: PageRequest) -> Response:
    from privjail.curator.schema_check import check as check_schema
    from privjail.curator.schema_draft import read_raw

    path, text = chosen(ask), ask.given("schema")
    try:
        loaded = from_json(text, "the schema")
        if not isinstance(loaded, dict):
            raise SchemaError("a schema is a table of columns")
        report = check_schema(read_raw(path), loaded)
    except DPError as e:
        return _page(ask, path.name, text, None, e)
    rows = [
        (c.name, c.shown, *(_some(n, report.rows) for n in (c.missing, c.clipped, c.nulled, c.filled)))
        for c in report.columns
    ]
    return _page(ask, path.name, text, rows)


def _some(count: int, rows: int) -> str:
    """A count in words: exact counts are data, and the console shows none."""
    share = count / rows if rows else 0
    return "none" if not count else "few" if share < 0.01 else "some" if share < 0.2 else "many"


def routes(console: Console) -> list[Route]:
    curator = console.open_to("curator")
    return [
        Route("/schema", curator(show)),
        Route("/schema/draft", curator(draft), methods=["POST"]),
        Route("/schema/check", curator(check), methods=["POST"]),
    ]
