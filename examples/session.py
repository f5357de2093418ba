"""A first session: the listings of the PrivJail paper's section 3.2, word for word, on generated data.

    python examples/session.py

SESSION is the paper's text, with the paper's answers below each line. It is typed into Python line by line; what
PrivJail answers here is printed. Numbers differ: the data is another, and noise is fresh each time.
"""

from __future__ import annotations

import code
import contextlib
import doctest
import io
import sys
import tempfile
import traceback

import census

SESSION = """
>>> import privjail as pj
>>> from privjail import pandas as pd
>>> df = pd.read_csv("filename.csv")
>>> print(df)
Prisoner(<class 'pandas.core.frame.DataFrame'>, distance=1)
>>> df.shape[0]
Prisoner(<class 'int'>, distance=1)
>>> pj.laplace_mechanism(df.shape[0], eps=0.1)
32561.65454862431
>>> pj.laplace_mechanism(df[df["age"] > 40].shape[0], eps=0.1)
13445.401235025374
>>> pj.consumed_privacy_budget()
{'filename.csv': 0.2}
>>> df["age"].mean(eps=0.1)
privjail.util.DPError: The domain is unbounded. Use clip().
>>> df["age"].clip(0, 120).mean(eps=0.1)
38.52147065037341
"""


class Typist(code.InteractiveInterpreter):
    """Runs lines as the interactive Python does; of an error it shows the last lines, as the paper does."""

    def showtraceback(self) -> None:
        self.write("".join(traceback.format_exception_only(*sys.exc_info()[:2])))

    def write(self, data: str) -> None:
        sys.stdout.write(data)


def run() -> list[tuple[str, str, str]]:
    """(line, the paper's answer, the answer here) for each line of the session."""
    typist = Typist({})
    done = []
    with tempfile.TemporaryDirectory(prefix="privjail-") as folder, contextlib.chdir(folder):
        census.generate(32_561).to_csv("filename.csv", index=False)
        for step in doctest.DocTestParser().get_examples(SESSION):
            with contextlib.redirect_stdout(io.StringIO()) as shown:
                typist.runsource(step.source)
            done.append((step.source, step.want, shown.getvalue()))
    return done


def main() -> None:
    for line, _, answer in run():
        print(f">>> {line}{answer}", end="")


if __name__ == "__main__":
    main()
