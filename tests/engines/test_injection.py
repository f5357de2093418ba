"""No text that a program or a schema brings becomes part of SQL."""

from __future__ import annotations

import re
from typing import Any

import pytest

from privjail.engines.sql.compiler import Compiler, Stored
from privjail.engines.sql.dialect import Dialect
from privjail.engines.sql.spark_dialect import SparkDialect
from privjail.engines.sql.questions import rows_of, statements
from privjail.errors import EngineGap
from privjail.ops.columns.cast import Cast, Categorise
from privjail.ops.columns.carried import Constant
from privjail.ops.columns.compare import Compare
from privjail.ops.columns.isin import IsIn
from privjail.ops.columns.recode import Recode
from privjail.ops.columns.text import Text
from privjail.ops.columns.where import Where
from privjail.ops.numbers.tally import Tally
from privjail.ops.rows.filter import Filter
from privjail.plan.domain import CategoryDomain, TextDomain
from privjail.plan.node import Lit
from tests.ops.checking import engine
from tests.tables import World

EVIL = [
    "'",
    "''); DROP TABLE held0; --",
    '"',
    "\\",
    "\\'",
    "x' OR '1'='1",
    "\n;",
    "{0}",
    "%s",
    "$1",
    "?",
    "é\x00'",
    "/*",
    "`",
]
NAME = "evil' ; DROP TABLE held0; --"
WORLD = World(((NAME, TextDomain(True)), ("k`", CategoryDomain(True, ("a'", "--b")))), ())


def expressions(evil: str) -> list[Any]:
    x, k, lit = WORLD.column(NAME), WORLD.column("k`"), Lit.of(evil)
    return [
        Compare("==", x, lit), IsIn(x, (lit, Lit.of("b"))), Categorise(x, (lit,), 0), Cast(k, "string"),
        Recode(x, ((lit, Lit.of(evil + "2")),), 1), Recode(k, ((Lit.of("a'"), lit),), 1),
        *(Text(f, x, (lit,)) for f in ("startswith", "endswith", "contains")),
        Where(Compare("==", x, lit), x, Constant(lit)), Recode(x, tuple((Lit.of(evil + str(i)), lit) for i in range(40)), 0),
    ]  # fmt: skip


@pytest.mark.parametrize("dialect", [Dialect, SparkDialect])
@pytest.mark.parametrize("evil", EVIL)
def test_statements_hold_digits_instead_of_text(evil: str, dialect: type[Dialect]) -> None:
    def compiler() -> Compiler:
        return Compiler(dialect(), {WORLD.source: Stored("held0", 3)})

    found = expressions(evil)
    rows = Filter(WORLD.source, found[0])
    texts = [rows_of(compiler(), rows, found)]
    texts += [text for text, _ in statements(compiler, [Tally(rows, (WORLD.column("k`"),), None)])]
    for text in texts:
        assert NAME not in text and (len(evil) < 2 or evil not in text)
        quoted = re.findall(r"'([^']*)'", text)
        assert text.count("'") == 2 * len(quoted)
        assert all(re.fullmatch(r"[0-9a-f]*|-?[0-9]+|UTF-8", each) for each in quoted), quoted
        assert re.fullmatch(r"[A-Za-z0-9_ ,()<>=*+\-/.'\[\]]*", text)


@pytest.mark.parametrize("evil", EVIL)
def test_texts_that_look_like_sql_are_compared_as_they_are(evil: str) -> None:
    table = ((evil, "a'"), (evil + "1", "--b"), (None, None), ("b", "a'"))
    wanted = {str(i): e for i, e in enumerate(expressions(evil))}
    duckdb, reference = (
        engine(WORLD.source, table, name=name).table(WORLD.source, wanted) for name in ("duckdb", "reference")
    )
    assert duckdb == reference


def test_text_that_is_no_unicode_is_refused() -> None:
    with pytest.raises(EngineGap):
        Dialect().text("\ud800")
