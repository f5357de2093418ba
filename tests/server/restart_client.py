"""Run as a script: an analyst who asks without pause until stdin ends, and writes down what happened, line by line.

Each line is {"number": …, "eps": …, "answer": …, "at": …}. An exception is written as {"error": …} and ends it.
"""

from __future__ import annotations

import json
import random
import secrets
import sys
import threading
import time
from fractions import Fraction
from typing import Any

from privjail import client
from privjail.mechanisms.laplace import Laplace
from privjail.ops.numbers.tally import Tally
from privjail.release import Query


def tell(**what: Any) -> None:
    print(json.dumps({**what, "at": time.time()}), flush=True)


def ask(connection: client.Connection, rng: random.Random, mine: list[tuple[bytes, str]]) -> None:
    """A release under a new id or one that was used before; now and then a call that is no release."""
    if mine and rng.random() < 0.2:
        number, eps = rng.choice(mine)
    else:
        number, eps = secrets.token_bytes(16), str(Fraction(rng.randrange(1, 50), 1000))
        mine.append((number, eps))
    asks = [Query(Tally(connection.source("census"), (), None), Laplace(Fraction(eps)))]
    tell(number=number.hex(), eps=eps, answer=connection.release(asks, number))
    if rng.random() < 0.1:
        connection.consumed()


def main(file: str, seed: int) -> None:
    stop, rng, mine = threading.Event(), random.Random(seed), list[tuple[bytes, str]]()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    try:
        connection = client.connect(file)
        while not stop.is_set():
            ask(connection, rng, mine)
            time.sleep(0.005)
        connection.close()
    except BaseException as e:
        tell(error=f"{type(e).__name__}: {e}")
        raise


main(sys.argv[1], int(sys.argv[2]))
