"""What `make demo-encrypted` shows: 600 people, two servers, and a histogram that neither server could read.

    python examples/encrypted_demo.py

Processes: the decryption server, the compute server, and the commands of owners, operator and analysts. The data
is generated, so that the truth can stand beside the answers. All files are in a temporary folder, which is removed.
"""

from __future__ import annotations

import contextlib
import csv
import os
import random
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.panel import Panel
from rich.table import Table

BINS, PEOPLE, ABSENT = 64, 560, 40
console = Console(width=None if Console().is_terminal else 110)
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "COLUMNS": "110"}
COMMAND = [sys.executable, "-m", "privjail.curator", "encrypted"]


def main() -> None:
    start = time.perf_counter()
    console.print(Panel("[bold]privjail.encrypted[/]: a histogram that no single server can read", expand=False))
    with tempfile.TemporaryDirectory(prefix="privjail-") as folder, contextlib.chdir(folder):
        truth = write_people()
        heading("1  Each server makes its own keys; only offer.json and study.json change hands")
        ports = free_port(), free_port()
        shown("keys", "decrypt", "ds", "--bins", str(BINS), "--budget", "2", "--address", f"127.0.0.1:{ports[0]}")
        shown("keys", "compute", "cs", "--offer", "ds/offer.json", "--address", f"127.0.0.1:{ports[1]}")
        shown("keys", "owners", "cs", "names.txt")
        shown("keys", "operator", "cs")
        with server("decrypt", "ds", "--study", "cs/study.json"), server("compute", "cs"):
            heading(f"2  {PEOPLE} people submit encrypted records, {ABSENT} an encryption of nothing; then all again")
            shown("submit", "cs/study.json", "people.csv", "--tickets", "tickets.csv")
            shown("submit", "cs/study.json", "people.csv", "--tickets", "tickets.csv")
            heading("3  Somebody tries to count more than once, or with a wrong ticket")
            cheat()
            heading("4  The compute server itself cheats: it asks the decryption server what it should not")
            cheating_server()
            heading("5  The operator publishes: both servers add noise, each enough alone")
            publish = ("publish", "cs/study.json", "--operator", "operator.ticket")
            shown(*publish, "--epsilon", "1", "--release", "may")
            shown(*publish, "--epsilon", "1", "--release", "thesis", "--method", "partition")
            shown(*publish, "--epsilon", "0.5", "--release", "once more", fails=True)
            heading("6  Analysts ask ranges, as many as they like")
            shown("query", "cs/study.json", "0:16", "16:32", "32:64", "20", "--release", "may", "--out", "may.json")
        picture(truth)
    seconds = time.perf_counter() - start
    console.print(f"\nfinished in {seconds:.0f} s; servers and files of this demo are gone", style="dim")


def write_people() -> list[int]:
    """Ages by bins of one year, say; the last ones take no part."""
    values = [min(BINS - 1, max(0, int(random.gauss(28, 9)))) for _ in range(PEOPLE)]
    names = [f"person-{i:03}" for i in range(PEOPLE + ABSENT)]
    Path("names.txt").write_text("\n".join([*names, "mallory"]))
    with open("people.csv", "w", newline="") as f:
        csv.writer(f).writerows([("owner", "bin"), *zip(names, [*values, *[""] * ABSENT], strict=True)])
    return values


def cheat() -> None:
    """A record that is 50 people in one bin, encrypted by hand; and one with a ticket of somebody else."""
    import numpy as np

    from privjail.encrypted import encrypted_pb2 as pb
    from privjail.encrypted.owner import Submitter, submission
    from privjail.encrypted.records import Encryptor
    from privjail.encrypted.study import Study

    study = Study.load(Path("cs/study.json"))
    tickets = dict(csv.reader(Path("tickets.csv").read_text().splitlines()))
    record = Encryptor(study.id, study.records_key, BINS).encrypted(50 * np.eye(BINS, dtype=np.int64)[3])
    with Submitter(study) as submitter:
        for name, ticket in (("mallory", tickets["mallory"]), ("mallory", tickets["person-000"])):
            request = submission(study, [(name, bytes.fromhex(ticket))], [record])
            result = submitter.caller.call("Submit", request, pb.SubmitReply).results[0]
            console.print(f"  {name}: [red]{result.status}[/]: {result.why}", highlight=False)


def cheating_server() -> None:
    """With the compute server's own certificate, for an honest record in bin 3 that it has just received."""
    import numpy as np

    from privjail.encrypted import encrypted_pb2 as pb
    from privjail.encrypted import keys, onehot
    from privjail.encrypted.numbers import P
    from privjail.encrypted.records import Encryptor, rows_of, sketched
    from privjail.encrypted.study import Offer
    from privjail.encrypted.wire import Caller
    from privjail.errors import DPError

    offer = Offer.load(Path("cs/offer.json"))
    record = Encryptor(offer.id, offer.records_key, BINS).record(3)
    found, _, _ = sketched(rows_of(record, BINS), BINS, offer.id)
    asked = pb.CheckRequest(
        names=found.proofs[0].name, parts=found.parts[0], openings=onehot.spelled(found.opened).tobytes(),
        envelopes=found.proofs[0].envelope, offer=offer.digest,
    )  # fmt: skip
    shifted, copied, scaled = pb.CheckRequest(), pb.CheckRequest(), pb.ShareRequest(release="x", method="block_tree")
    shifted.CopyFrom(asked)
    shifted.openings = onehot.spelled((found.opened + 1) % P).tobytes()
    copied.CopyFrom(asked)
    copied.names = bytes(32)
    scaled.epsilon, scaled.masked, scaled.chain = "0.01", np.ones(BINS, "<u4").tobytes(), bytes(32)
    caller = Caller("Decrypt", offer.decrypt, keys.pair(Path("cs")))
    try:
        for doing, request in (
            ("passes a record on as it came", asked),
            ("shifts the opening of a record, to read it from the answer", shifted),
            ("gives a record another name, to count it twice", copied),
        ):
            taken = caller.call("Check", request, pb.CheckReply).taken == b"\x01"
            console.print(f"  {doing}: {'answered' if taken else '[red]not answered[/]'}", highlight=False)
        caller.call("Share", scaled, pb.ShareReply)
    except DPError as e:
        console.print(f"  asks for a sum of its own: [red]{type(e).__name__}[/]", highlight=False)
    finally:
        caller.close()


def picture(truth: list[int]) -> None:
    from privjail.histograms import PrivateHistogram

    found, counts = PrivateHistogram.from_json(Path("may.json").read_text()), Counter(truth)
    table = Table("bins", "true (nobody sees this)", "published", "95 %", title="what was published, and the truth")
    for a in range(0, BINS, 8):
        true = sum(counts[i] for i in range(a, a + 8))
        told = found.answer(a, a + 8)
        bar = "█" * max(0, round(told.estimate / 6))
        table.add_row(f"{a} … {a + 7}", str(true), f"{told.estimate:6.1f} {bar}", f"{told.low:.0f} … {told.high:.0f}")
    console.print(table)


def heading(text: str) -> None:
    console.print(f"\n[bold cyan]{text}[/]")


def shown(*args: str, fails: bool = False) -> None:
    console.print(f"[dim]$ privjail encrypted {' '.join(args)}[/]", highlight=False, soft_wrap=True)
    done = subprocess.run([*COMMAND, *args], env=ENV, capture_output=True, text=True)
    console.print((done.stdout + (done.stderr if done.returncode else "")).rstrip(), markup=False, highlight=False)
    if (done.returncode != 0) != fails:
        raise SystemExit(f"privjail encrypted {args[0]} ended with {done.returncode}")


@contextlib.contextmanager
def server(*args: str) -> Iterator[None]:
    process = subprocess.Popen([*COMMAND, *args], env=ENV, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        console.print(process.stdout.readline().rstrip(), style="dim")
        yield
    finally:
        process.terminate()
        process.wait()


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


if __name__ == "__main__":
    main()
