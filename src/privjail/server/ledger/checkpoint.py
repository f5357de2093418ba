"""A checkpoint: the state that all entries so far add up to, written down, so that a start need not read them again.

It is an entry of the chain. Its body has the SHA-256 of the state's spelling; the spelling itself is kept beside the
entry, as an answer is. A start reads the newest checkpoint and what came after it. `privjail verify` reads everything,
adds it up again, and compares: what a checkpoint says must be what its past says.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections import Counter
from operator import itemgetter
from typing import Any

from privjail.budget.ledger import Branch, CostTree
from privjail.server.ledger.entries import Example
from privjail.server.ledger.events import LedgerError, amounts, spelled, texts
from privjail.server.ledger.rules import Rule, Used
from privjail.server.ledger.state import ANALYST, RequestEntry, Scope, State, UserEntry, Wish

EVERY = 5_000  # entries after which a checkpoint is made: so many are read in a tenth of a second
MOST_BYTES = 2**30  # of a state, unpacked: more is not read


def pack(state: State) -> bytes:
    """One spelling for one state: equal states give equal bytes."""
    return zlib.compress(spelled(_record(state)).encode(), 1)


def sha256(packed: bytes) -> str:
    return hashlib.sha256(packed).hexdigest()


def unpack(packed: bytes | None, body: dict[str, Any]) -> State:
    """The state that a checkpoint's entry stands for."""
    if packed is None or sha256(packed) != body["sha256"]:
        raise damaged()
    unpacker = zlib.decompressobj()
    text = unpacker.decompress(packed, MOST_BYTES)
    if not unpacker.eof:
        raise damaged()
    state = _state(json.loads(text))
    state.latest = max(body.get("at", ""), body.get("latest", ""))
    return state


def damaged() -> LedgerError:
    return LedgerError(
        "a checkpoint of the ledger is damaged or was changed",
        do="restore the newest complete copy; budgets must not be lowered by a restore",
    )


def _record(state: State) -> dict[str, Any]:
    """The state as lists and texts. Of requests, those of which something may still come, or that were lost."""
    return {
        "datasets": [[entry.entered, entry.removed] for entry in state.datasets.values()],
        "users": [[u.name, u.token, u.expires, u.revoked, *_role(u)] for u in state.users.values()],
        "tokens": sorted(state.tokens.items()),
        "groups": [[name, sorted(members)] for name, members in state.groups.items()],
        "limits": [[scope, texts(limit)] for scope, limit in _by_key(state.limits)],
        "former": [[scope, texts(limit)] for scope, limit in _by_key(state.former)],
        "trees": [[scope, _branch_record(tree.whole)] for scope, tree in _by_key(state.trees)],
        "requests": [
            [key, e.digest, e.lost, e.repeats, *([e.epochs] if e.epochs else [])]
            for key, e in _by_key(state.requests)
            if e.open or e.lost
        ],
        "failures": sorted(state.failures.items()),
        "kept": sorted(state.kept.items()),
        "releases": state.releases,
        **_service(state),
    }


def _role(user: UserEntry) -> list[str]:
    """Left out for analysts, as are empty parts below: without them a state is spelled as it always was."""
    return [] if user.role == ANALYST else [user.role]


def _service(state: State) -> dict[str, Any]:
    parts = {
        "frozen": sorted(state.frozen.items()),
        "rules": [[scope, rule.record()] for scope, rule in _by_key(state.rules)],
        "used": [[scope, used.record()] for scope, used in _by_key(state.used)],
        "examples": [[n, e.origin, e.rows, texts(e.price), e.sha256, e.seq] for n, e in _by_key(state.examples)],
        "files": [[name, sorted(user.files.items())] for name, user in _by_key(state.users) if user.files],
        "wishes": [[w.number, w.user, w.dataset, w.budget, w.reason, w.at] for _, w in _by_key(state.wishes)],
        "dropped": state.dropped,
        "leasing": [[name, texts(cost)] for name, cost in _by_key(state.leasing)],
        "forfeited": [[name, texts(cost)] for name, cost in _by_key(state.forfeited)],
    }
    return {name: part for name, part in parts.items() if part}


def _by_key(table: dict[Any, Any]) -> list[tuple[Any, Any]]:
    return sorted(table.items(), key=itemgetter(0))


def _state(record: dict[str, Any]) -> State:
    state = State()
    for entered, removed in record["datasets"]:
        state.add_dataset(entered).removed = removed
    state.users = {name: UserEntry(name, *rest) for name, *rest in record["users"]}  # with or without a role
    for name, files in record.get("files", ()):
        state.users[name].files = dict(files)
    state.tokens = dict(record["tokens"])
    state.groups = {name: frozenset(members) for name, members in record["groups"]}
    state.limits = {_scope(scope): amounts(limit) for scope, limit in record["limits"]}
    state.former = {_scope(scope): amounts(limit) or () for scope, limit in record["former"]}
    for scope, whole in record["trees"]:
        notion = state.datasets[scope[2]].notion
        state.trees[_scope(scope)] = CostTree(notion.zero(), _branch(whole), notion.amplifies)
    for (user, request), digest, lost, repeats, *epochs in record["requests"]:
        past = tuple((name, epoch) for each in epochs for name, epoch in each)
        state.requests[user, request] = RequestEntry(digest, past, lost=lost, repeats=repeats)
    state.failures = Counter(dict(record["failures"]))
    state.kept = Counter(dict(record["kept"]))
    state.releases = record["releases"]
    state.frozen = dict(record.get("frozen", ()))
    state.rules = {_scope(scope): Rule.read(rule) for scope, rule in record.get("rules", ())}
    state.used = {_scope(scope): Used.read(used) for scope, used in record.get("used", ())}
    for name, origin, rows, price, digest, seq in record.get("examples", ()):
        state.examples[name] = Example(origin, rows, amounts(price) or (), digest, seq)
    state.wishes = {number: Wish(number, *rest) for number, *rest in record.get("wishes", ())}
    state.dropped = record.get("dropped", 0)
    state.leasing = {name: amounts(cost) or () for name, cost in record.get("leasing", ())}
    state.forfeited = {name: amounts(cost) or () for name, cost in record.get("forfeited", ())}
    return state


def _scope(record: list[str]) -> Scope:
    kind, who, dataset = record
    return kind, who, dataset


def _branch_record(branch: Branch) -> list[Any]:
    """A cell's cost, the best of each of its partitions, and the cells below it: [cost, [[partition, best]…], […]]."""
    best = [[partition, texts(cost)] for partition, cost in _by_key(branch.best)]
    below = [[*step, _branch_record(child)] for step, child in _by_key(branch.below)]
    return [texts(branch.cost), best, below]


def _branch(record: list[Any]) -> Branch:
    cost, best, below = record
    return Branch(
        amounts(cost),
        {partition: amounts(most) or () for partition, most in best},
        {(partition, key): _branch(child) for partition, key, child in below},
    )
