"""privjail audit: planted leaks are found, clean programs and our examples are cleared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from privjail.catalogue.schema import read_schema
from privjail.errors import DPError
from privjail.verify.audit.auditor import Auditor, audit, auditor
from privjail.verify.audit.compare import edits
from privjail.verify.audit.data import EDITS, dummy, edited
from privjail.verify.audit.jail import Given
from tests import tables

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"
LEAKS = Path(__file__).parent / "leaks"
# What must be seen of each leak, besides anything else that is seen.
EXPECTED = {
    "branches": {"request", "read"}, "cache_size": {"output", "read"}, "engine_silent": {"read"},
    "engine_table": {"output", "read"}, "error_text": {"end", "read"}, "exact_input": {"output", "read"},
    "exit_code": {"end"}, "forged_distance": {"claim", "moved"}, "forged_node": {"moved"}, "garbage": {"output", "read"},
    "ledger_reset": {"budget"}, "narrow_domain": {"claim"}, "no_noise": {"changed"}, "noise_object": {"changed"},
    "plain_pandas": {"output", "read"}, "smaller_rule": {"changed", "claim", "moved"}, "subprocess": {"output"},
    "user_rows": {"claim", "moved"}, "wire_files": {"read"}, "writes_file": {"file", "read"},
}  # fmt: skip
SCHEMA = {
    "who": {"type": "string"},
    "n": {"type": "Int64", "range": [0, 3]},
    "c": {"type": "category", "categories": ["a", "b"]},
}


@pytest.fixture(scope="module")
def at() -> Any:
    with auditor() as made:
        yield made


def test_there_are_many_different_leaks() -> None:
    planted = {p.stem for p in LEAKS.glob("*.py")} - {"clean", "wire_clean"}

    assert planted == set(EXPECTED) and len(planted) >= 10


@pytest.mark.parametrize("name", sorted(set(EXPECTED) - {"wire_files"}))
def test_a_planted_leak_is_found(at: Auditor, name: str) -> None:
    """V-24, V-26, V-27, V-29, V-30, V-31."""
    report = audit(LEAKS / f"{name}.py", neighbours=2, within=at)

    assert not report.clean
    assert {leak.kind for leak in report.leaks} >= EXPECTED[name]


READER = """import os, sys
import polars
from privjail import pandas as pd
df = pd.read_csv("people.csv", schema={"n": {"type": "Int64", "range": [0, 3]}}, budget=1)
secret = polars.read_csv("people.csv").height
"""
# Ways to show a number where a run was not looked at: after the last line, in another process, in names, in causes.
LATE = {
    "exit function": ("output", "import atexit\natexit.register(lambda: print(secret))"),
    "thread": ("output", "import threading\ndef late():\n    threading.Event().wait(0.2)\n    print(secret)\n"
               "threading.Thread(target=late).start()"),
    "cause": ("error output", "raise ValueError('a') from RuntimeError(str(secret))"),
    "hook": ("output", "sys.excepthook = lambda *a: print(secret)\nraise ValueError('a')"),
    "fork": ("direct output", "if os.fork() == 0:\n    print(secret)\n    os._exit(0)"),
    "open file": ("file", "sys.kept = open('left.txt', 'w')\nsys.kept.write(str(secret))"),
    "folder": ("file", "os.mkdir(f'n{secret}')"),
    "link": ("file", "os.symlink(str(secret), 'link')"),
    "folder elsewhere": ("file", "try:\n    os.mkdir(f'/nowhere/n{secret}')\nexcept OSError:\n    pass"),
    "shared memory": ("file", "name = '/dev/shm/privjail-test'\nopen(name, 'w').write(str(secret))"),
    "environment": ("process", "import subprocess\nsubprocess.run(['true'], env={'N': str(secret)})"),
    "name server": ("network", "import socket\ntry:\n    socket.gethostbyname(f'n{secret}.localhost')\nexcept OSError:\n    pass"),
    "blind": ("changed", "sys.settrace(None)"),
}  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_a_leak_beside_the_main_line_is_found(at: Auditor, tmp_path: Path, name: str) -> None:
    kind, body = LATE[name]
    program = tmp_path / "late.py"
    program.write_text(READER + body + "\n")
    try:
        report = audit(program, neighbours=1, within=at)
    finally:
        Path("/dev/shm/privjail-test").unlink(missing_ok=True)

    assert kind in {leak.kind for leak in report.leaks}, report


PAIR = "import socket\na, b = socket.socketpair()\n"
PIPE = "import subprocess\nchild = subprocess.Popen(['cat'], stdin=-1, stdout=-3, text=True)\n"
# Bytes that go elsewhere than to a jail: through sockets, pipes, to other programs.
SENT = {
    "socket": ("network", PAIR + "a.sendall(str(secret).encode())"),
    "socket, piece by piece": ("network", PAIR + "[a.send(b'x') for _ in range(secret)]"),
    "datagram": ("network", "import socket\nsocket.socket(type=socket.SOCK_DGRAM).sendto(b'%d' % secret, ('127.0.0.1', 9))"),
    "message": ("network", PAIR + "a.sendmsg([b'n', b'%d' % secret])"),
    "file of a socket": ("network", PAIR + "f = a.makefile('w')\nf.write(str(secret))\nf.flush()"),
    "input of a program": ("process", "import subprocess\nsubprocess.run(['true'], input=str(secret), text=True)"),
    "input, by name": ("process", PIPE + "child.communicate(input=str(secret))"),
    "input, written": ("process", PIPE + "child.stdin.write(str(secret))\nchild.stdin.close()\nchild.wait()"),
    "input, printed": ("process", PIPE + "print(secret, file=child.stdin)\nchild.stdin.close()\nchild.wait()"),
    "pipe": ("process", "r, w = os.pipe()\nos.write(w, b'%d' % secret)"),
    "connection": ("process", "from multiprocessing import Pipe\na, b = Pipe()\na.send(secret)"),
}  # fmt: skip


@pytest.mark.parametrize("name", SENT)
def test_bytes_that_are_sent_elsewhere_are_compared(at: Auditor, tmp_path: Path, name: str) -> None:
    kind, body = SENT[name]
    program = tmp_path / "sends.py"
    program.write_text(READER + body + "\n")
    told = [leak for leak in audit(program, neighbours=1, within=at).leaks if leak.kind == kind and "sent" in leak.what]
    program.write_text(READER + "secret = 7\n" + body + "\n")
    same = [leak for leak in audit(program, neighbours=1, within=at).leaks if leak.kind == kind]

    assert told and told[0].line, "the bytes differ, and nobody said so"
    assert not same, "the same bytes are sent on every neighbour"


def test_where_the_audit_cannot_follow_is_told(at: Auditor, tmp_path: Path) -> None:
    program = tmp_path / "sends.py"
    program.write_text(READER + "import subprocess\nsubprocess.run(['true'], input=str(secret), text=True)\n")

    assert any("other programs" in remark for remark in audit(program, neighbours=1, within=at).remarks)


def test_a_clean_program_is_cleared(at: Auditor) -> None:
    report = audit(LEAKS / "clean.py", neighbours=7, within=at)

    assert report.clean, report.leaks
    assert report.releases == report.checked == 6
    assert report.moved > 10, "the neighbours moved nothing: the audit has not tested anything"
    assert report.datasets == ["people.csv"]


def test_what_is_random_by_itself_is_left_out_and_told(at: Auditor, tmp_path: Path) -> None:
    """A program's own randomness is a remark; a leak at another line, or in another file, is found beside it."""
    body = (LEAKS / "clean.py").read_text()
    program = tmp_path / "random_numbers.py"
    program.write_text(body + "import secrets\nfrom pathlib import Path\nprint(secrets.token_hex())\n"
                       "Path('noise.txt').write_text(secrets.token_hex())\n")  # fmt: skip
    clean = audit(program, neighbours=1, within=at)
    program.write_text(program.read_text() + "Path('leak.txt').write_text(str(len(open('people.csv').readlines())))\n")
    leaking = audit(program, neighbours=1, within=at)

    assert clean.clean and len(clean.remarks) == clean.left_out == 2, clean
    assert {leak.file for leak in leaking.leaks if leak.kind == "file"} == {"leak.txt"}


def test_a_program_that_ends_its_process_is_not_cleared(at: Auditor, tmp_path: Path) -> None:
    program = tmp_path / "gone.py"
    program.write_text("import os\nos._exit(0)\n")

    with pytest.raises(DPError, match="cannot be audited"):
        audit(program, within=at)


def test_over_the_wire(at: Auditor) -> None:
    """A jail with dummy data answers pj.connect; what is read beside it is told."""
    people = {"people": Given({k: v for k, v in SCHEMA.items() if k != "who"})}
    clean = audit(LEAKS / "wire_clean.py", data=people, neighbours=1, within=at)
    leaking = audit(LEAKS / "wire_files.py", data=people, neighbours=1, within=at)

    assert clean.clean, clean.leaks
    assert clean.releases == clean.checked == 2 and clean.moved > 0
    assert {leak.kind for leak in leaking.leaks} >= EXPECTED["wire_files"]


# -- our examples

WITHOUT_DATA = ("adult", "census", "encrypted_demo", "hospital", "local_figures", "local_paper", "patients")
OURS: dict[str, list[str]] = {
    "diffpid3": ["--depth", "1", "--eps", "20"], "local_figures": ["--out", "figures", "--runs", "10"], "session": [],
}  # fmt: skip


def test_every_example_is_audited() -> None:
    """A new example is audited as it is, or stands in one of the lists."""
    assert {p.stem for p in EXAMPLES.glob("*.py")} >= {*WITHOUT_DATA, *OURS, "demo"}


def test_the_first_session_is_cleared(at: Auditor) -> None:
    report = audit(EXAMPLES / "session.py", neighbours=2, within=at)

    assert report.clean, report.leaks
    assert report.releases == report.checked == 4


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted({p.stem for p in EXAMPLES.glob("*.py")} - {"demo", "session"}))
def test_our_examples_are_cleared(at: Auditor, name: str) -> None:
    report = audit(EXAMPLES / f"{name}.py", OURS.get(name, []), neighbours=2, within=at)

    assert report.clean, report.leaks
    assert report.checked == report.releases
    assert bool(report.datasets) == (name not in WITHOUT_DATA)


@pytest.mark.slow
def test_the_analyst_of_the_demo_is_cleared(at: Auditor, tmp_path: Path) -> None:
    sys.path.insert(0, str(EXAMPLES))
    import census
    import hospital

    census.write_files(str(tmp_path))
    files = [tmp_path / "schema.json", tmp_path / "test.csv"]
    tables = {
        "patients": Given(hospital.SCHEMAS["patients"], "patient", 1, population="hospital"),
        "stays": Given(hospital.SCHEMAS["stays"], "patient", None, population="hospital", keys=("stay",)),
        "diagnoses": Given(
            hospital.SCHEMAS["diagnoses"], None, None, population="hospital", links=("stay=stays.stay",)
        ),
    }
    data = {"census": Given(census.SCHEMA, budget=(2,)), **tables}
    report = audit(EXAMPLES / "demo.py", ["--analyst", "x"], data=data, files=files, neighbours=2, within=at)

    assert report.clean, report.leaks
    assert report.releases == report.checked > 15
    assert "census" in report.datasets and any("diagnoses" in each for each in report.datasets), report.remarks


# -- the parts


def test_a_program_that_is_not_there_is_refused() -> None:
    with pytest.raises(DPError, match="no program"):
        audit("nothing.py")


@pytest.mark.parametrize("unit", [None, "who"])
@pytest.mark.parametrize("edit", EDITS)
def test_neighbours_differ_by_one_unit(edit: str, unit: str | None) -> None:
    schema = read_schema(SCHEMA)
    table = dummy(schema, unit, 30)
    names, rows = edited(table, schema, unit, 3, edit)
    gone = [row for row in table[1] if row not in rows]
    came = [row for row in rows if row not in table[1]]

    assert names == table[0] and rows != table[1]
    if unit is None:
        assert tables.edits(table[1], rows) == 1
    else:
        assert len({row[0] for row in gone + came}) == 1
        assert [row for row in rows if row not in came] == [row for row in table[1] if row not in gone]


def test_dummy_data_fits_its_schema() -> None:
    names, rows = dummy(read_schema(SCHEMA), None, 200)

    assert names == list(SCHEMA) and len(rows) == 200
    assert {row[1] for row in rows} == {"", "0", "1", "2", "3"}
    assert {row[2] for row in rows} == {"", "a", "b"}


def test_the_distance_of_tables_is_the_true_one() -> None:
    import random

    pick = random.Random(3)
    for _ in range(300):
        left, right = ([pick.choice("abc") for _ in range(pick.randrange(9))] for _ in range(2))
        assert edits(left, right) == tables.edits(left, right)


def command(*words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    import os

    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "COLUMNS": "200"}
    return subprocess.run(
        [sys.executable, "-m", "privjail.curator", *words],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=env,
        timeout=300,
    )


def test_the_command_tells_and_ends_with_one(tmp_path: Path) -> None:
    shown = command("audit", str(LEAKS / "exit_code.py"), "--neighbours", "1", cwd=tmp_path)

    assert shown.returncode == 1, shown.stderr
    assert "the end differs" in shown.stdout and "leaks found" in shown.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_command_takes_schemas_from_a_jail(tmp_path: Path) -> None:
    """The curator's button: her jail says what the data looks like, and its rows are not opened."""
    from privjail.curator.folder import JailFolder

    file = tmp_path / "people.csv"
    file.write_text("n,c\n1,a\n")
    jail = JailFolder.init(tmp_path / "jail", ["localhost"], "127.0.0.1:0", None)
    jail.add_dataset("people", str(file), {k: SCHEMA[k] for k in "nc"}, [1], "pure", (None, 1))
    jail.ledger.close()
    file.unlink()
    words = ("audit", str(LEAKS / "wire_clean.py"), "--jail", str(tmp_path / "jail"), "--neighbours", "1")
    shown = command(*words, cwd=tmp_path)

    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "no leak found" in shown.stdout and "2 of 2" in shown.stdout


def test_a_jail_may_hold_data_sets_without_a_schema(tmp_path: Path) -> None:
    """Columns that no schema declares are there too, untyped as in the jail: a program may use them."""
    from privjail.curator.folder import JailFolder

    file = tmp_path / "people.csv"
    file.write_text("n,free,c\n1,x,a\n")
    jail = JailFolder.init(tmp_path / "jail", ["localhost"], "127.0.0.1:0", None)
    jail.add_dataset("people", str(file), {k: SCHEMA[k] for k in "nc"}, [1], "pure", (None, 1))
    jail.add_dataset("bare", str(file), {}, [1], "pure", (None, 1), overlap_reason="a test")
    jail.ledger.close()
    program = tmp_path / "program.py"
    program.write_text(
        "import privjail as pj\nfrom privjail import pandas as pd\npj.connect('analyst.privjail')\n"
        "people, bare = pd.read_csv('people'), pd.read_csv('bare')\n"
        "print(people[people['free'] == 'a'].shape[0].reveal(eps=0.5), list(people.columns))\n"
        "print(bare[bare['n'] > 3].shape[0].reveal(eps=0.5), list(bare.columns))\n"
    )
    shown = command("audit", str(program), "--jail", str(tmp_path / "jail"), "--neighbours", "1", cwd=tmp_path)

    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "no leak found" in shown.stdout and "bare" in shown.stdout


@pytest.mark.slow
def test_the_command_tells_in_json(tmp_path: Path) -> None:
    told = command("audit", str(LEAKS / "no_noise.py"), "--neighbours", "1", "--json", cwd=tmp_path)

    assert told.returncode == 1 and json.loads(told.stdout)["leaks"][0]["kind"] == "changed"


def test_the_command_says_what_data_must_look_like(tmp_path: Path) -> None:
    wrong = command("audit", str(LEAKS / "wire_clean.py"), "--data", "people", cwd=tmp_path)

    assert wrong.returncode == 1 and "NAME=SCHEMA" in wrong.stderr
