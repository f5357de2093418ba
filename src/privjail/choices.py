"""Mechanisms that choose among private numbers and show none of them: the largest, the k largest, the first above …"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any, overload

from privjail import session
from privjail.budget.amounts import amount, exact, probability
from privjail.errors import PlanError
from privjail.mechanisms.above_threshold import AboveThreshold
from privjail.mechanisms.exponential import Exponential
from privjail.mechanisms.noisy_max import NoisyMax
from privjail.mechanisms.private_keys import PrivateKeys, calibrated
from privjail.release import Query
from privjail.sensitive import Key, Sensitive, keys_and_vector


@overload
def exponential_mechanism(scores: Sensitive[Any], *, eps: Any) -> Hashable: ...
@overload
def exponential_mechanism(scores: Mapping[Key, Any], *, eps: Any) -> Key: ...
@overload
def exponential_mechanism(scores: list[Any] | tuple[Any, ...], *, eps: Any) -> int: ...
def exponential_mechanism(scores: Any, *, eps: Any) -> Any:
    """Choose a key of a dict (or label, or position) by its private score: high scores are likely.

    >>> x = pj.exponential_mechanism(df["ward"].value_counts(sort=False), eps=1)
    """
    keys, vector = keys_and_vector(scores, "exponential_mechanism")
    return keys[session.release([Query(vector, Exponential(amount(eps)))])[0]]


@overload
def noisy_max(scores: Sensitive[Any], *, eps: Any) -> Hashable: ...
@overload
def noisy_max(scores: Mapping[Key, Any], *, eps: Any) -> Key: ...
@overload
def noisy_max(scores: list[Any] | tuple[Any, ...], *, eps: Any) -> int: ...
def noisy_max(scores: Any, *, eps: Any) -> Any:
    """The key with the largest private score, at eps whatever the number of keys.

    >>> x = pj.noisy_max(df["ward"].value_counts(sort=False), eps=1)
    """
    keys, vector = keys_and_vector(scores, "noisy_max")
    return keys[session.release([Query(vector, NoisyMax(amount(eps)))])[0]]


@overload
def noisy_min(scores: Sensitive[Any], *, eps: Any) -> Hashable: ...
@overload
def noisy_min(scores: Mapping[Key, Any], *, eps: Any) -> Key: ...
@overload
def noisy_min(scores: list[Any] | tuple[Any, ...], *, eps: Any) -> int: ...
def noisy_min(scores: Any, *, eps: Any) -> Any:
    """The key with the smallest private score, at eps whatever the number of keys.

    >>> x = pj.noisy_min(df["ward"].value_counts(sort=False), eps=1)
    """
    keys, vector = keys_and_vector(scores, "noisy_min")
    return keys[session.release([Query(vector, NoisyMax(amount(eps), smallest=True))])[0]]


@overload
def top_k(scores: Sensitive[Any], k: int, *, eps: Any) -> list[Hashable]: ...
@overload
def top_k(scores: Mapping[Key, Any], k: int, *, eps: Any) -> list[Key]: ...
@overload
def top_k(scores: list[Any] | tuple[Any, ...], k: int, *, eps: Any) -> list[int]: ...
def top_k(scores: Any, k: int, *, eps: Any) -> list[Any]:
    """The k keys with the largest private scores, largest first, at eps in all.

    >>> x = pj.top_k(df["ward"].value_counts(sort=False), 2, eps=1)
    """
    keys, vector = keys_and_vector(scores, "top_k")
    chosen = session.release([Query(vector, NoisyMax(amount(eps), k=k))])[0]
    return [keys[i] for i in (chosen if k > 1 else [chosen])]


@overload
def above_threshold(queries: Sensitive[Any], threshold: Any, *, eps: Any) -> Hashable | None: ...
@overload
def above_threshold(queries: Mapping[Key, Any], threshold: Any, *, eps: Any) -> Key | None: ...
@overload
def above_threshold(queries: list[Any] | tuple[Any, ...], threshold: Any, *, eps: Any) -> int | None: ...
def above_threshold(queries: Any, threshold: Any, *, eps: Any) -> Any:
    """The first key whose private number is above a public threshold, or None; at eps for all of them.

    >>> x = pj.above_threshold(df["ward"].value_counts(sort=False), 500, eps=1)
    """
    keys, vector = keys_and_vector(queries, "above_threshold")
    found = session.release([Query(vector, AboveThreshold(amount(eps), exact(threshold)))])[0]
    return None if found is None else keys[found]


def key_threshold(*, eps: Any, delta: Any, keys_per_person: int = 1, min_persons: int = 1) -> int:
    """The noisy count of persons from which on a private key is shown; it depends on what is paid alone.

    >>> pj.key_threshold(eps=1, delta=1e-6)
    15
    """
    if type(keys_per_person) is not int or keys_per_person < 1:
        raise PlanError("keys_per_person is a whole number of at least 1")
    mechanism = PrivateKeys(amount(eps), probability(delta), min_persons)
    return max(calibrated(mechanism.epsilon, mechanism.delta, keys_per_person)[1], min_persons)
