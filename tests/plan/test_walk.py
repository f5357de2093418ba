"""The one walk over plans: inputs first, each node once, without recursion."""

from __future__ import annotations

import random
import sys
from collections import Counter

from privjail.plan.node import inputs_first


def random_graph(seed: int, size: int = 60) -> dict[int, list[int]]:
    """What is below each number: some smaller ones, perhaps the same several times."""
    r = random.Random(seed)
    return {n: [r.randrange(n) for _ in range(r.randrange(4))] if n else [] for n in range(size)}


def reachable(graph: dict[int, list[int]], tops: list[int]) -> set[int]:
    found = set(tops)
    for n in sorted(graph, reverse=True):  # what is below is smaller
        if n in found:
            found.update(graph[n])
    return found


def test_every_node_comes_once_and_after_all_below_it() -> None:
    for seed in range(100):
        graph = random_graph(seed)
        tops = random.Random(seed).sample(sorted(graph), 3)
        order = list(inputs_first(tops, graph.__getitem__))
        place = {n: i for i, n in enumerate(order)}

        assert len(order) == len(place) and set(order) == reachable(graph, tops)
        assert all(place[below] < place[n] for n in order for below in graph[n])


def test_what_is_known_is_not_visited_nor_what_is_below_it() -> None:
    for seed in range(100):
        graph = random_graph(seed)
        before = set(random.Random(seed).sample(sorted(graph), 10))
        known = set(before)
        visited, looked = [], Counter[int]()

        def below(n: int, graph: dict[int, list[int]] = graph, looked: Counter[int] = looked) -> list[int]:
            looked[n] += 1
            return graph[n]

        for n in inputs_first([59, 58], below, known.__contains__):
            assert all(each in known for each in graph[n])
            visited.append(n)
            known.add(n)

        cut = {n: [] if n in before else below for n, below in graph.items()}
        assert set(visited) == reachable(cut, [59, 58]) - before
        assert set(looked.values()) <= {1} and set(looked) == set(visited)  # each is looked at once


def test_a_plan_may_be_deeper_than_the_stack() -> None:
    deep = 10 * sys.getrecursionlimit()
    assert list(inputs_first([deep], lambda n: [n - 1] if n else [])) == list(range(deep + 1))


def test_shared_inputs_are_not_walked_again() -> None:
    """40 times itself plus itself is a tree of 2**40 nodes, and a graph of 41."""
    assert list(inputs_first([40], lambda n: [n - 1, n - 1] if n else [])) == list(range(41))


def test_inputs_come_in_their_order() -> None:
    """So that a long sum a + b + c + … is computed from the left, and holds two columns at a time."""
    left = {"abc": ["ab", "c"], "ab": ["a", "b"], "a": [], "b": [], "c": []}
    assert list(inputs_first(["abc"], left.__getitem__)) == ["a", "b", "ab", "c", "abc"]


def test_what_is_below_may_depend_on_what_was_visited() -> None:
    done: list[str] = []

    def below(each: str) -> list[str]:
        return iter_after(done) if each == "last" else []  # type: ignore[return-value]

    def iter_after(done: list[str]):  # type: ignore[no-untyped-def]
        yield "first"
        yield "second" if done == ["first"] else "never"

    for each in inputs_first(["last"], below, done.__contains__):
        done.append(each)

    assert done == ["first", "second", "last"]
