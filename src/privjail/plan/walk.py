"""The one walk over a plan: inputs before what uses them.

A plan is a graph without cycles. It can be deeper than Python's stack, so the walk does not recurse.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


def inputs_first(
    nodes: Iterable[T], below: Callable[[T], Iterable[T]], known: Callable[[T], object] | None = None
) -> Iterator[T]:
    """Yield these nodes and everything below them, each once and after all that is below it.

    ``below`` gives the nodes directly below one. ``known`` tells which nodes need no visit (nor what is below them);
    whoever gives it must make ``known`` true for each node before asking for the next one. Otherwise the walk itself
    remembers where it has been. ``below`` may be a generator: it is resumed when the nodes that it gave are done.

    >>> list(inputs_first([6], lambda n: [d for d in range(1, n) if n % d == 0]))
    [1, 2, 3, 6]
    """
    if known is None:
        seen: set[T] = set()
        known, visited = seen.__contains__, seen.add
    else:
        visited = None
    path = [iter(nodes)]  # what is still to be visited, below each node on the way down
    users: list[T] = []  # these nodes: users[i] uses what path[i + 1] gives
    while path:
        for node in path[-1]:
            if not known(node):
                path.append(iter(below(node)))
                users.append(node)
                break
        else:  # all below is done
            path.pop()
            if users:
                node = users.pop()
                yield node
                if visited is not None:
                    visited(node)
