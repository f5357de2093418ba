"""The description of the gateway for other programs: OpenAPI 3.1. docs/gateway.openapi.json is a copy of it."""

from __future__ import annotations

from typing import Any

from privjail.distribution import __version__
from privjail.gateway.expressions import OPERATIONS
from privjail.gateway.queries import MOST_STEPS, STATISTICS

TEXT, FLAG, NUMBER = {"type": "string"}, {"type": "boolean"}, {"type": "number"}
MAYBE_TEXT, MAYBE_NUMBER = {"type": ["string", "null"]}, {"type": ["number", "null"]}
ROWS = {"type": "integer", "minimum": 0, "maximum": 2**31 - 1}
NAME = {"type": "string", "minLength": 1}
NAMES = {"type": "array", "items": NAME, "minItems": 1, "maxItems": 20}
AMOUNT = {
    "description": "An exact amount, as a text (1/10, 0.1) or a number.",
    "oneOf": [
        {"type": "string", "pattern": r"^[0-9]{1,40}(/[0-9]{1,40}|\.[0-9]{1,40})?(e-?[0-9]{1,2})?$"},
        {"type": "number", "exclusiveMinimum": 0},
    ],
}
EXACT = {"type": "string", "pattern": "^[0-9]+(/[0-9]+)?$"}


def _ref(name: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{name}"}


def _object(needed: dict[str, Any], more: dict[str, Any] | None = None) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": needed | (more or {}),
        "required": list(needed),
        "additionalProperties": False,
    }


def _list(items: Any, most: int | None = None) -> dict[str, Any]:
    return {"type": "array", "items": items} | ({} if most is None else {"maxItems": most})


EXPRESSION = {
    "description": "A constant, a column, or an operation on expressions. docs/guide/gateway.md lists the operations.",
    "oneOf": [
        {"type": ["number", "string", "boolean"]},
        _object({"column": NAME}),
        _object({"op": {"enum": OPERATIONS}, "args": {"type": "array", "items": _ref("Expression"), "minItems": 1}}),
    ],
}
STEP = {
    "description": "One change of the table.",
    "oneOf": [
        _object({"filter": _ref("Expression")}),
        _object({"assign": {"type": "object", "additionalProperties": _ref("Expression"), "minProperties": 1}}),
        _object({"sort": _object({"by": NAMES}, {"descending": FLAG})}),
        _object({"head": ROWS}),
        _object({"tail": ROWS}),
        _object({"dropna": NAMES}),
        _object({"head_of_each": _object({"by": {**NAMES, "maxItems": 1}, "rows": ROWS})}),
    ],
}
ASK = _object(
    {"statistic": {"enum": list(STATISTICS)}},
    {
        "of": _ref("Expression"),
        "by": NAMES,
        "q": {"type": "number", "minimum": 0, "maximum": 1},
        "eps": _ref("Amount"),
        "delta": _ref("Amount"),
        "rho": _ref("Amount"),
    },
)
QUERY = _object(
    {
        "request": {
            "description": "An id of its own. The same query with the same id is answered and charged once.",
            "type": "string",
            "pattern": "^[0-9a-f]{32}$",
        },
        "dataset": NAME,
        "ask": _ref("Ask"),
    },
    {"steps": _list(_ref("Step"), MOST_STEPS)},
)
GROUP = {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean", "null"]}}
ROW = _object({"group": GROUP, "value": MAYBE_NUMBER, "low": MAYBE_NUMBER, "high": MAYBE_NUMBER})
ANSWER = _object(
    {"request": TEXT, "answer": _list(ROW), "price": {"type": "object", "additionalProperties": EXACT}},
)
BOUND = {"type": ["number", "string", "null"]}
COLUMN = _object(
    {
        "name": TEXT,
        "type": TEXT,
        "nullable": FLAG,
        "lower": BOUND,
        "upper": BOUND,
        "categories": {"type": ["array", "null"], "items": TEXT},
    }
)
DATASET = _object(
    {
        "name": TEXT,
        "population": MAYBE_TEXT,
        "person": MAYBE_TEXT,
        "rows_per_person": {"type": ["integer", "null"]},
        "columns": _list(COLUMN),
    }
)
BUDGET = _object(
    {
        "dataset": TEXT,
        "notion": TEXT,
        "parameters": _list(TEXT),
        "spent": _list(EXACT),
        "limit": {"description": "null: no limit of her own.", "type": ["array", "null"], "items": EXACT},
    }
)
ERROR = _object({"error": _object({"kind": TEXT, "what": TEXT, "plan": MAYBE_TEXT, "do": MAYBE_TEXT})})
SCHEMAS = {
    "Expression": EXPRESSION, "Step": STEP, "Ask": ASK, "Query": QUERY, "Answer": ANSWER, "Amount": AMOUNT,
    "Dataset": DATASET, "Budget": BUDGET, "Error": ERROR,
    "Datasets": _object({"datasets": _list(TEXT)}), "Budgets": _object({"budgets": _list(_ref("Budget"))}),
}  # fmt: skip
WRONG = {
    400: "The query makes no sense, or no private answer exists.",
    401: "The token is missing or not accepted.",
    402: "It would cost more than is left. Nothing was charged.",
    404: "There is no such data set for this user.",
    405: "The address does not take such a request.",
    413: "The request is too large.",
    415: "The body is not declared as JSON.",
    429: "Too many requests.",
    500: "Something failed inside; what it cost stays charged.",
    503: "The jail cannot be reached. Send the same request again.",
}


def _json(schema: Any) -> dict[str, Any]:
    return {"content": {"application/json": {"schema": schema}}}


def _operation(says: str, answer: str, statuses: tuple[int, ...], **more: Any) -> dict[str, Any]:
    wrong = {str(status): {"description": WRONG[status], **_json(_ref("Error"))} for status in statuses}
    return {
        "summary": says,
        "responses": {"200": {"description": "The answer.", **_json(_ref(answer))}, **wrong},
    } | more


def document() -> dict[str, Any]:
    """The whole description."""
    common = (400, 401, 429, 500, 503)
    name = {"name": "name", "in": "path", "required": True, "schema": NAME}
    body = {"required": True, **_json(_ref("Query"))}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "PrivJail gateway",
            "version": __version__,
            "description": "Questions about private data, as JSON. Every answer has noise and a price.",
            "license": {"name": "see the LICENSE of the package"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": {
            "/v1/datasets": {"get": _operation("The data sets of this user.", "Datasets", common)},
            "/v1/datasets/{name}": {
                "get": _operation("What is public about a data set.", "Dataset", (*common, 404), parameters=[name])
            },
            "/v1/budget": {"get": _operation("What this user has spent, and may spend.", "Budgets", common)},
            "/v1/queries": {
                "post": _operation("Ask, and pay.", "Answer", (*common, 402, 404, 413, 415), requestBody=body)
            },
        },
        "components": {
            "schemas": SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }
