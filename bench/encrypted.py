"""What `make bench-encrypted` measures: time, memory and bytes of every step of privjail.encrypted.

    python bench/encrypted.py [--quick]

Owners, compute server and decryption server are three processes on loopback, with TLS. Processor time and memory are
the kernel's numbers for each process; wall-clock time is given too. What the servers do is also counted, which a busy
machine does not change. Writes docs/encrypted-benchmarks.md and a figure.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from encrypted_counts import counted
from histograms_families import capital_loss
from rich.progress import Progress

from privjail.encrypted import analyst, keys
from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.owner import Submitter, submission
from privjail.encrypted.records import Encryptor, size_of
from privjail.encrypted.study import Study, Terms

ROOT = Path(__file__).resolve().parents[1]
ADULT = ROOT.parent / "shared" / "data" / "histograms" / "adultfrank.npy"
GROWTH_BINS = (64, 512, 1024, 2048, 3072, 4096)
ROUNDS = 3  # growth, and the real data, are measured round by round: a slow minute of the machine hits all alike
BATCH = 512
ENV = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), *(p for p in sys.path if p)])}


@dataclass
class Server:
    """A server's process, and what the kernel says about it."""

    process: subprocess.Popen[str]

    def cpu(self) -> float:
        """Processor time of all its threads, also of those that ended. Linux: clock_getcpuclockid(3)."""
        return time.clock_gettime(~self.process.pid << 3 | 2)

    def peak(self) -> float:
        """Mebibytes."""
        lines = Path(f"/proc/{self.process.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM")) / 1024


@dataclass
class Row:
    """One run."""

    bins: int
    records: int
    what: str
    owner_us: float = 0  # one encryption, processor time
    sums_us: float = 0  # processor time of the compute server for each record
    adding_us: float = 0  # the part of it that is not TLS and gRPC
    check_us: float = 0  # processor time of the decryption server for each record
    batches: list[float] = field(default_factory=list)  # processor time of both servers for a record of each batch
    releases: dict[str, list[tuple[float, float, float]]] = field(default_factory=dict)  # method → wall, cpu of C, of D
    peak: tuple[float, float] = (0, 0)
    submit_wall: float = 0

    def fastest(self, method: str) -> float:
        """Both servers' processor time for the fastest release."""
        return min(c + d for _, c, d in self.releases[method])

    @property
    def steps(self) -> dict[str, tuple[float, ...]]:
        return {method: tuple(np.median(times, axis=0).tolist()) for method, times in self.releases.items()}

    @property
    def submission_seconds(self) -> float:
        """Processor time of both servers for all submissions."""
        return (self.sums_us + self.check_us) * self.records / 1e6


@contextlib.contextmanager
def served(where: Path) -> Iterator[tuple[Server, Server]]:
    commands = (["compute", "cs"], ["decrypt", "ds", "--study", "cs/study.json"])
    running = []
    try:
        for args in commands:
            command = [sys.executable, "-m", "privjail.curator", "encrypted", *args]
            process = subprocess.Popen(command, cwd=where, env=ENV, stdout=subprocess.PIPE, text=True)
            running.append(process)
            assert process.stdout is not None and "serving" in process.stdout.readline()
        yield Server(running[0]), Server(running[1])
    finally:
        for process in running:
            process.terminate()
            process.wait()


class Owners:
    """Encrypts records, and says how long that took."""

    def __init__(self, study: Study) -> None:
        self._encryptor = Encryptor(study.id, study.records_key, study.terms.bins)
        self.seconds, self.made = 0.0, 0

    def record(self, value: int) -> bytes:
        before = time.process_time()
        made = self._encryptor.record(value)
        self.seconds, self.made = self.seconds + time.process_time() - before, self.made + 1
        return made


def submitted(
    study: Study, tickets: keys.Tickets, values: Any, people: Owners, told: Any, servers: tuple[Server, Server]
) -> list[float]:
    """Submit, and say what each full batch took of both servers, in seconds a record."""
    took = []
    with Submitter(study) as submitter:
        for first in range(0, len(values), BATCH):
            places = range(first, min(first + BATCH, len(values)))
            owners = [(f"o{i}", tickets.owner(f"o{i}")) for i in places]
            request = submission(study, owners, [people.record(int(values[i])) for i in places])
            before = sum(server.cpu() for server in servers)
            reply = submitter.caller.call("Submit", request, pb.SubmitReply)
            took.append((sum(server.cpu() for server in servers) - before) / len(reply.results))
            assert all(r.status == "kept" for r in reply.results), reply.results[0]
            told(len(reply.results))
    return took


def run(values: Any, bins: int, what: str, told: Any, releases: int = 3) -> Row:
    row = Row(bins, len(values), what)
    with tempfile.TemporaryDirectory() as folder:
        where = Path(folder)
        ports = free_ports()
        terms = Terms(bins, "add-remove", Fraction(100))
        offer = keys.make_decrypt(where / "ds", terms, f"127.0.0.1:{ports[0]}")
        study = keys.make_compute(where / "cs", offer, f"127.0.0.1:{ports[1]}")
        tickets, people = keys.Tickets(where / "cs"), Owners(study)
        with served(where) as (c, d):
            before, start = (c.cpu(), d.cpu()), time.perf_counter()
            row.batches = submitted(study, tickets, values, people, told, (c, d))
            row.submit_wall = time.perf_counter() - start
            row.sums_us = (c.cpu() - before[0]) / len(values) * 1e6
            row.adding_us = analyst.status(study, tickets.operator()).seconds / len(values) * 1e6
            row.check_us = (d.cpu() - before[1]) / len(values) * 1e6
            row.owner_us = people.seconds / max(1, people.made) * 1e6
            for method in ("block_tree", "partition"):
                row.releases[method] = []
                for i in range(releases):
                    before, start = (c.cpu(), d.cpu()), time.perf_counter()
                    found = analyst.publish(study, tickets.operator(), f"{method} {i}", method, 1)
                    took = time.perf_counter() - start
                    row.releases[method].append((took, c.cpu() - before[0], d.cpu() - before[1]))
            truth = np.bincount(values, minlength=bins)
            off = np.abs(found.range(0, bins) - truth.sum())
            assert off < 20 * found.error(0, bins) + 20, "the published histogram is not that of the records"
            row.peak = (c.peak(), d.peak())
    return row


def free_ports() -> list[int]:
    import socket

    with socket.socket() as a, socket.socket() as b:
        a.bind(("127.0.0.1", 0))
        b.bind(("127.0.0.1", 0))
        return [a.getsockname()[1], b.getsockname()[1]]


def plan(quick: bool, rounds: int) -> list[tuple[Any, int, str]]:
    rng = np.random.default_rng(5)
    runs: list[tuple[Any, int, str]] = []
    for _ in range(1 if quick else rounds):
        for bins in (64, 4096) if quick else GROWTH_BINS:
            runs.append((rng.integers(0, bins, 200 if quick else 4 * BATCH), bins, "generated"))
    for n in (500,) if quick else (1000, 10_000, 30_000, 100_000):
        runs.append((rng.integers(0, 4096, n), 4096, "generated"))
    if not quick:
        there = ADULT.is_file()
        adult = np.repeat(np.arange(4096), np.load(ADULT).astype(int) if there else capital_loss())
        what = "Adult, capital loss" if there else "like Adult, capital loss"
        runs += [(rng.permutation(adult), 4096, what) for _ in range(rounds)]
    return runs


def together(rows: list[Row]) -> list[Row]:
    """The rounds of one run as one row: medians of all."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault((row.bins, row.records, row.what), []).append(row)
    made = []
    for key, same in found.items():
        names = ("owner_us", "sums_us", "adding_us", "check_us", "submit_wall")
        middle = {name: float(np.median([getattr(row, name) for row in same])) for name in names}
        batches = [each for row in same for each in row.batches]
        releases = {m: [each for row in same for each in row.releases[m]] for m in same[0].releases}
        peak = max(row.peak[0] for row in same), max(row.peak[1] for row in same)
        made.append(Row(*key, **middle, batches=batches, releases=releases, peak=peak))
    return made


def line(x: Any, y: Any) -> tuple[float, float, float]:
    """Slope, intercept and R² of a straight line."""
    slope, intercept = np.polyfit(x, y, 1)
    rest = np.sum((np.asarray(y) - slope * np.asarray(x) - intercept) ** 2)
    total = np.sum((np.asarray(y) - np.mean(y)) ** 2)
    return float(slope), float(intercept), float(1 - rest / total) if total else 1.0


def figure(rows: list[Row], path: Path) -> dict[str, tuple[float, float, float, float]]:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    by_bins = sorted((r for r in rows if r.records == rows[0].records), key=lambda r: r.bins)
    by_records = sorted((r for r in rows if r.bins == 4096), key=lambda r: r.records)
    bins, sizes = [r.bins for r in by_bins], [r.records for r in by_records]
    shown = {
        "submissions, both servers (s) by records": (sizes, [r.submission_seconds for r in by_records]),
        "4,096 submissions, both servers (s) by bins": (bins, [min(r.batches) * 4096 for r in by_bins]),
        "bytes of a record (kB) by bins": (bins, [size_of(r.bins) / 1e3 for r in by_bins]),
        "block_tree, both servers (s) by bins": (bins, [r.fastest("block_tree") for r in by_bins]),
        "partition, both servers (s) by bins": (bins, [r.fastest("partition") for r in by_bins]),
        "partition, both servers (s) by records": (sizes, [r.fastest("partition") for r in by_records]),
    }
    fits, (_, axes) = {}, plt.subplots(2, 3, figsize=(12, 6))
    for axis, (name, (x, y)) in zip(axes.flat, shown.items(), strict=True):
        slope, at_0, r2 = line(x, y)
        fits[name] = slope, at_0, r2, slope * x[-1] / (slope * x[-1] + at_0)
        axis.plot(x, y, "o")
        axis.plot(x, np.polyval(fits[name][:2], x), "-", linewidth=1)
        axis.set_title(name, fontsize=9)
        axis.set_ylim(bottom=0)
    plt.tight_layout()
    plt.savefig(path, metadata={"Date": None})
    return fits


COLUMNS = (
    "bins", "records", "data", "encrypt one (µs, owner)", "bytes each", "C: process, per record (µs)",
    "of it aggregation", "D: per record (µs)", "block_tree: C + D (s)", "partition: C + D (s)", "peak C, D (MiB)",
)  # fmt: skip
INTRODUCTION = """# privjail.encrypted: time, memory and bytes

Measured by `make bench-encrypted` on {cores} cores ({machine}, Python {python}): three processes on loopback, with TLS.
C is the compute server, D the decryption server. Times are processor time of a process, except in brackets: those are
seconds on the clock{load}. Medians: of {rounds} run(s) with 2,048 records and with Adult, of all releases.
"""
REMARKS = """
C's time per record is all that its process does: TLS, gRPC and aggregation. Aggregation is reading, ticket, hashes,
range, sum, C's half of the test, and the durable state. Of a record only its name is kept. D opens the envelope of each
record and does its half of the test.

Between the servers: 16 kB to D and 17 kB back for `block_tree` at 4096 bins; 4.8 MB to C and 3.3 MB to D for
`partition`, whatever the number of bins; for the check 189 bytes to D and 25 back for each record, in batches of
{batch}.

## Growth

![growth](figures/encrypted-growth.svg)

Straight lines fitted by least squares:

| | slope | at 0 | R² | of the last value grows |
| --- | --- | --- | --- | --- |
"""
GROWTH = """
By bins: {points} numbers of bins, each in {rounds} round(s); the fastest of {batches} batches and of {releases}
releases of each method, for other programs only ever add time. The last column says how much of the value at the right
end is the part that grows; the rest is there at 0.
A study has at most 4096 bins. What does not grow with bins: the envelope and the hashes of a record, and the fixed
costs of a release. All comparisons of up to 4096 bins fit into one set of ciphertexts, so `partition` costs about the
same for 64 bins as for 4096: what grows are noise and sums, and where that is less than the machine's own noise, R² is
small. A release does not depend on the number of records at all.

The same without noise: what both servers do, counted (`bench/encrypted_counts.py`). Products are those of one value
with one half of a number of the test; operations are SEAL's on ciphertexts; bytes are those of the messages, without
TLS. Some vary by a few bytes from run to run, for SEAL compresses. Noise is the draws of both servers; those of
`partition` depend on how many buckets it makes.

"""
COUNTED = (
    "bins", "records", "owners → C (bytes)", "C → D", "D → C", "values added", "products",
    "block_tree: C → D, D → C", "noise", "partition: C → D, D → C", "operations", "noise",
)  # fmt: skip


def cells(r: Row) -> list[str]:
    steps = [f"{r.steps[m][1]:.2f} + {r.steps[m][2]:.2f} ({r.steps[m][0]:.1f})" for m in ("block_tree", "partition")]
    return [
        f"{r.bins}", f"{r.records:,}", r.what, f"{r.owner_us:,.0f}", f"{size_of(r.bins):,}",
        f"{r.sums_us:,.0f}", f"{r.adding_us:,.0f}", f"{r.check_us:,.0f}", *steps, f"{r.peak[0]:,.0f}, {r.peak[1]:,.0f}",
    ]  # fmt: skip


def counts(bins: int, n: int) -> list[str]:
    found = counted(bins, n)
    first = [found["submissions"][name] for name in (
        "bytes from owners", "bytes to D", "bytes to C", "values added", "products",
    )]  # fmt: skip
    cells = [f"{x:,}" for x in (bins, n, *first)]
    for method in ("block_tree", "partition"):
        release = found[method]
        cells.append(f"{release['bytes to D']:,}, {release['bytes to C']:,}")
        names = ("ciphertext operations", "noise drawn") if method == "partition" else ("noise drawn",)
        cells += [f"{release[name]:,}" for name in names]
    return cells


def page(rows: list[Row], fits: dict[str, Any], tables: list[list[str]], load: float, rounds: int) -> str:
    busy = f"; other programs ran at the same time (load {load:.0f})" if load > (os.cpu_count() or 1) + 1 else ""
    facts = {"cores": os.cpu_count(), "machine": platform.machine(), "python": platform.python_version(), "load": busy}
    facts["rounds"] = rounds
    table = [COLUMNS, ["---"] * len(COLUMNS), *map(cells, rows)]
    fitted = [f"| {name} | {a:.3g} | {b:.3g} | {r2:.4f} | {grows:.0%} |" for name, (a, b, r2, grows) in fits.items()]
    most = next(row for row in rows if row.bins == GROWTH_BINS[-1])
    numbers = {"batches": len(most.batches), "releases": len(most.releases["block_tree"])}
    remarks, growth = REMARKS.format(batch=BATCH), GROWTH.format(rounds=rounds, points=len(GROWTH_BINS), **numbers)
    lines, counts = (["| " + " | ".join(row) + " |" for row in each] for each in (table, tables))
    head, growth = INTRODUCTION.format(**facts), growth.rstrip("\n")
    return "\n".join([head, *lines, remarks.rstrip("\n"), *fitted, growth, "", *counts, ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a few records only, nothing is written")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often growth and Adult are measured")
    told = parser.parse_args()
    quick, runs = told.quick, plan(told.quick, told.rounds)
    rows = []
    with Progress() as progress:
        task = progress.add_task("records", total=sum(len(values) for values, *_ in runs))
        for values, bins, what in runs:
            rows.append(run(values, bins, what, lambda n: progress.advance(task, n), 1 if quick else 3))
            progress.console.print(" | ".join(cells(rows[-1])))
        sizes = [(bins, BATCH) for bins in GROWTH_BINS] + [(4096, 2 * BATCH), (4096, 4 * BATCH)]
        sizes = [(64, 20), (4096, 20)] if quick else sizes
        task = progress.add_task("counting", total=len(sizes))
        tables = [list(COUNTED), ["---"] * len(COUNTED)]
        for bins, n in sizes:
            tables.append(counts(bins, n))
            progress.advance(task)
    rows, load = together(rows), os.getloadavg()[2]
    with tempfile.TemporaryDirectory() as folder:  # a quick run makes the page too, and throws it away
        docs = Path(folder) if quick else ROOT / "docs"
        (docs / "figures").mkdir(exist_ok=True)
        text = page(rows, figure(rows, docs / "figures" / "encrypted-growth.svg"), tables, load, told.rounds)
        (docs / "encrypted-benchmarks.md").write_text(text, encoding="utf-8")
    if quick:
        print(text)


if __name__ == "__main__":
    main()
