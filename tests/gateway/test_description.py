"""The gateway against its own description: every request that it describes is answered as it says, whatever is in it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from privjail.gateway.app import Options, build
from privjail.gateway.expressions import OPERATIONS
from privjail.gateway.openapi import document
from tests.gateway.served import served
from tests.server.jails import make_jail, serving

schemathesis = pytest.importorskip("schemathesis")
jsonschema = pytest.importorskip("jsonschema")
DOCS = Path(__file__).parents[2] / "docs"
REQUESTS = 150


@pytest.fixture(scope="module")
def there(tmp_path_factory):
    """A gateway that one may ask often, and the headers of a user with much to spend."""
    where = tmp_path_factory.mktemp("described")
    make_jail(where, budget=10**6, grant=10**6, rows=20).ledger.close()
    given_ = json.loads((where / "ann.privjail").read_text())
    with serving(where), served(build(Options(given_["address"], None, per_minute=10**6))) as http:
        yield http, {"Authorization": f"Bearer {given_['token']}"}


def test_the_page_has_the_description_that_is_served(there):
    http, _ = there
    assert json.loads((DOCS / "gateway.openapi.json").read_text()) == document() == http.get("/openapi.json").json()
    page = (DOCS / "guide" / "gateway.md").read_text()
    assert all(f"`{name}`" in page for name in OPERATIONS)


def operations():
    schema = schemathesis.openapi.from_dict(document())
    return {f"{each.ok().method} {each.ok().path}": each.ok() for each in schema.get_all_operations()}


@pytest.mark.parametrize("name", sorted(operations()))
@pytest.mark.parametrize("mode", ["positive", "negative"])
def test_requests_made_from_the_description_are_answered_as_it_says(there, name, mode):
    """Whatever is sent, the answer has a status and a body that the description lists, and none is a fault of ours."""
    http, headers = there
    operation = operations()[name]
    generation = schemathesis.GenerationMode(mode)
    try:
        cases = operation.as_strategy(generation_mode=generation)
    except Exception as e:  # nothing about this operation can be wrong
        pytest.skip(str(e))

    @settings(
        max_examples=REQUESTS, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(cases)
    def sent(case):
        answer = case.call(base_url=str(http.base_url), headers=headers, timeout=60)
        fits(answer.status_code, answer.json(), name)

    sent()


def fits(status, body, name):
    method, path = name.split(" ", 1)
    described = document()["paths"][path][method.lower()]["responses"]
    undescribed = (404, 405)  # an address that is another one: a name with a slash in it, another method
    assert status != 500, body
    if str(status) not in described:
        assert status in undescribed, (status, body)
        described = {str(status): described["400"]}
    schema = described[str(status)]["content"]["application/json"]["schema"]
    jsonschema.validate(body, {**schema, "components": document()["components"]})


names = st.sampled_from(["age", "sex"])
constants = st.one_of(st.integers(-100, 200), st.sampled_from(["F", "M", "x", True, 0.5]))
expressions = st.recursive(
    constants | names.map(lambda name: {"column": name}),
    lambda inner: st.builds(
        lambda op, args: {"op": op, "args": args}, st.sampled_from(OPERATIONS), st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=5,
)
steps = st.one_of(
    st.builds(lambda e: {"filter": e}, expressions), st.builds(lambda e: {"assign": {"new": e}}, expressions),
    st.builds(lambda by, d: {"sort": {"by": by, "descending": d}}, st.lists(names, min_size=1, max_size=2), st.booleans()),
    st.builds(lambda n: {"head": n}, st.integers(0, 9)), st.builds(lambda n: {"tail": n}, st.integers(0, 9)),
    st.builds(lambda by: {"dropna": by}, st.lists(names, min_size=1, max_size=1)),
    st.builds(lambda n: {"head_of_each": {"by": ["age"], "rows": n}}, st.integers(0, 3)),
)  # fmt: skip
questions = st.one_of(
    st.just({"statistic": "count", "eps": "1/100"}),
    st.builds(lambda by: {"statistic": "count", "by": by, "eps": "1/100"}, st.lists(names, min_size=1, max_size=2)),
    st.builds(lambda s, e: {"statistic": s, "of": e, "eps": "1/100"}, st.sampled_from(["sum", "mean", "median", "min"]), expressions),
    st.builds(lambda s, e: {"statistic": s, "of": e, "by": ["sex"], "eps": "1/100"}, st.sampled_from(["sum", "var", "max"]), expressions),
)  # fmt: skip


def test_programs_of_real_columns_are_answered_or_refused(there):
    """Random programs that name real columns: an answer or a refusal in our words; never a fault."""
    http, headers = there
    statuses = []

    @settings(
        max_examples=REQUESTS, deadline=None, database=None, derandomize=True, suppress_health_check=list(HealthCheck)
    )
    @given(st.uuids(), st.lists(steps, max_size=3), questions)
    def sent(number, changes, question):
        body = {"request": number.hex, "dataset": "census", "steps": changes, "ask": question}
        answer = http.post("/v1/queries", json=body, headers=headers)
        fits(answer.status_code, answer.json(), "post /v1/queries")
        statuses.append(answer.status_code)

    sent()
    assert statuses.count(200) > REQUESTS // 10 and statuses.count(400) > REQUESTS // 10
