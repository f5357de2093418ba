"""privjail audit of programs over a population: one person with all her rows in all tables comes or goes."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from privjail.catalogue.people import Keys, enforce_membership
from privjail.verify.audit.auditor import Auditor, audit, auditor
from privjail.verify.audit.compare import _steps, exact_input
from privjail.verify.audit.data import EDITS
from privjail.verify.audit.jail import Given
from privjail.verify.audit.world import World

from .test_audit import command

LEAKS = Path(__file__).parent / "leaks" / "people"
SCHEMAS: dict[str, Any] = {
    "patients": {"patient": {"type": "Int64"}, "sex": {"type": "category", "categories": ["F", "M"]}},
    "stays": {
        "stay": {"type": "Int64"},
        "patient": {"type": "Int64"},
        "cost": {"type": "Int64", "range": [0, 10]},
    },
    "notes": {"stay": {"type": "Int64"}, "code": {"type": "category", "categories": ["x", "y"]}},
}


@pytest.fixture(scope="module")
def at() -> Any:
    with auditor() as made:
        yield made


def jail_of(where: Path) -> Path:
    """A curator's jail with a population of three tables and a data set beside it; the files are gone."""
    from privjail.curator.folder import JailFolder

    texts = {"patients": "patient,sex\n1,F\n", "stays": "stay,patient,cost\n10,1,5\n", "notes": "stay,code\n10,x\n"}
    files = {name: where / f"{name}.csv" for name in texts}
    for name, text in texts.items():
        files[name].write_text(text)
    jail = JailFolder.init(where / "jail", ["localhost"], "127.0.0.1:0", None)
    jail.add_population("hospital", [3], "pure")
    for name, person, keys, links in (
        ("patients", ("patient", 1), [], []), ("stays", ("patient", None), ["stay"], []),
        ("notes", (None, None), [], ["stay=stays.stay"]),
    ):  # fmt: skip
        jail.add_table(name, str(files[name]), SCHEMAS[name], "hospital", person, keys, links)
    jail.ledger.close()
    for file in files.values():
        file.unlink()
    return where / "jail"


def test_the_command_takes_populations_from_a_jail(tmp_path: Path) -> None:
    jail = jail_of(tmp_path)
    words = ("audit", str(LEAKS / "wire_clean.py"), "--jail", str(jail), "--neighbours", "2", "--json")
    shown = command(*words, cwd=tmp_path)

    assert shown.returncode == 0, shown.stdout + shown.stderr
    told = json.loads(shown.stdout)
    assert told["clean"] and told["releases"] == told["checked"] == 6 and told["left_out"] == 0
    assert told["moved"] >= 6, "the neighbours moved nothing: the audit has not tested anything"
    assert told["datasets"] == ["hospital (patients, stays, notes)"]


def test_a_clean_program_over_a_population_is_cleared(at: Auditor) -> None:
    report = audit(LEAKS / "clean.py", neighbours=7, within=at)

    assert report.clean and not report.remarks, report
    assert report.releases == report.checked == 8
    assert report.moved >= 30, "the neighbours moved nothing: the audit has not tested anything"
    assert report.datasets == ["hospital (patients.csv, stays.csv, notes.csv)"]


KEYS = """import privjail as pj
from privjail import pandas as pd

people = pj.population("hospital", budget=pj.ApproxDP(10, 1e-3))
schema = {"p": {"type": "Int64"}, "town": {"type": "string"}}
visits = pd.read_csv("visits.csv", schema, population=people, unit="p")
print(visits["town"].value_counts(keys="private", eps=1, delta=1e-6).to_dict())
"""


def test_counts_of_keys_that_nobody_listed_are_compared_by_key(at: Auditor, tmp_path: Path) -> None:
    program = tmp_path / "keys.py"
    program.write_text(KEYS)
    report = audit(program, neighbours=2, within=at)

    assert report.clean and not report.remarks, report
    assert report.releases == report.checked == 1 and report.moved >= 2


def test_a_key_that_occurs_on_one_side_only_has_moved_by_its_count() -> None:
    few, none = exact_input([("a", 5), ("b", 1)]), exact_input([])

    assert _steps(few, exact_input([("b", 3), ("c", 1)])) == [5, 2, 1]
    assert _steps(few, none) == [5, 1] and _steps(few, None) is None and _steps(["1"], ["1", "2"]) is None


# -- planted leaks

EXPECTED = {"row_count": {"path"}, "no_bound": {"claim", "moved"}, "two_accounts": {"budget"}}


@pytest.mark.parametrize("name", EXPECTED)
def test_a_planted_leak_is_found(at: Auditor, name: str) -> None:
    """V-24, V-27, V-31."""
    report = audit(LEAKS / f"{name}.py", neighbours=2, within=at)

    assert {leak.kind for leak in report.leaks} == EXPECTED[name], report.leaks


def test_every_planted_leak_is_expected() -> None:
    assert {path.stem for path in LEAKS.glob("*.py")} == {*EXPECTED, "clean", "wire_clean"}


# One row per person, with a rule or an engine's line that is wrong: found by whom?
WRONG = {
    "the distance is a half": (
        {"claim", "moved"},
        "from fractions import Fraction\n"
        "def wrong(self):\n    self.start_owned_base(self.rows, Fraction(1, 2))\nPerPerson.__post_init__ = wrong\n",
    ),
    "one row for each row": (
        {"moved"},
        "import polars as pl\nPerPerson.polars = lambda self, frame, *columns: pl.Series(range(frame.height))\n",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_for_one_row_per_person_is_refuted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rule is broken before the audit begins: the library is what it was, and wrong all the same."""
    kinds, body = WRONG[name]
    (tmp_path / "sitecustomize.py").write_text("from privjail.ops.rows.per_person import PerPerson\n" + body)
    monkeypatch.syspath_prepend(str(tmp_path))
    with auditor() as broken:
        report = audit(LEAKS / "clean.py", neighbours=2, within=broken)

    assert {leak.kind for leak in report.leaks} == kinds, report
    assert all("patient" in leak.what or "person" in leak.what for leak in report.leaks), report.leaks


def test_a_wrong_line_of_the_jail_is_refuted_over_the_wire(at: Auditor, monkeypatch: pytest.MonkeyPatch) -> None:
    import polars as pl

    from privjail.ops.rows.per_person import PerPerson

    monkeypatch.setattr(PerPerson, "polars", lambda self, frame, *columns: pl.Series(range(frame.height)))
    report = audit(LEAKS / "wire_clean.py", data=GIVEN, neighbours=2, within=at)

    assert {leak.kind for leak in report.leaks} == {"moved"}, report


# -- the tables of a world

GIVEN = {
    "patients": Given(SCHEMAS["patients"], "patient", 1, population="hospital"),
    "stays": Given(SCHEMAS["stays"], "patient", None, population="hospital", keys=("stay",)),
    "notes": Given(SCHEMAS["notes"], None, None, population="hospital", links=("stay=stays.stay",)),
}
Loaded = dict[str, list[tuple[Any, ...]]]
PERSON = {"patients": 0, "stays": 1, "notes": 2}  # where the person is, in the loaded rows


def loaded(edit: str, given: dict[str, Given] | None = None, rows: int = 60) -> Loaded:
    """The tables of a world as a jail loads them."""
    data = given or GIVEN
    world = World(edit, 0, rows, {name: each.facts(name) for name, each in data.items()})
    keys: dict[str, Keys] = {}
    out: Loaded = {}
    for name, each in data.items():
        belongs = each.belongs(name)
        assert belongs is not None
        names, body = world.table(name, each.declared(), each.unit, each.most, belongs, None)
        frame = pl.DataFrame(body, schema=dict.fromkeys(names, pl.String()), orient="row")
        frame = frame.with_columns(pl.all().replace("", None))
        member = belongs.membership(each.unit, each.most)
        held, _, _, keys[name] = enforce_membership(frame, each.declared(), member, keys)
        out[name] = held.rows()
    return out


@pytest.mark.parametrize("edit", EDITS)
def test_a_neighbour_is_one_person_with_all_rows_in_all_tables(edit: str) -> None:
    base, other = loaded("as it is"), loaded(edit)
    less, more = (other, base) if edit.startswith("without") else (base, other)
    persons = [{row[PERSON[name]] for row in more[name]} - {row[PERSON[name]] for row in less[name]} for name in base]
    someone = set().union(*persons)

    assert len(someone) == 1, "one person comes or goes"
    (who,) = someone
    for name, place in PERSON.items():
        assert [row for row in more[name] if row[place] != who] == less[name], f"{name}: nobody else's row moves"
    assert sum(bool(each) for each in persons) >= 2, "she has rows in several tables"


def test_tables_have_heavy_and_light_persons_and_links_that_lead_somewhere() -> None:
    base = loaded("as it is")
    counts = Counter(row[1] for row in base["stays"])
    stays = [row[0] for row in base["stays"] if row[0] is not None]

    assert max(counts.values()) >= 8 and min(counts.values()) == 1
    assert len(set(stays)) == len(stays), "keys are unique"
    assert len(base["notes"]) > 40 and {row[0] for row in base["notes"]} <= set(stays)
    assert max(Counter(row[0] for row in base["patients"]).values()) == 1
    shared = {row[0] for row in base["patients"]} & counts.keys()
    assert len(shared) >= 10 and counts.keys() - shared and {row[0] for row in base["patients"]} - counts.keys()


def test_a_heavy_newcomer_has_more_rows_than_the_bound_and_a_light_one_has_one() -> None:
    bounded = {**GIVEN, "stays": replace(GIVEN["stays"], most=3)}
    for edit, rows in (("with a unit at the upper bounds", 3), ("with a unit at the lower bounds", 1)):
        base, other = loaded("as it is", bounded), loaded(edit, bounded)
        assert len(other["stays"]) - len(base["stays"]) == rows
        assert len(other["notes"]) > len(base["notes"]), "her links point to her own stays"


def test_one_person_alone_and_nobody_are_neighbours() -> None:
    one, none = loaded("a single row"), loaded("no row")

    assert {row[PERSON[name]] for name, rows in one.items() for row in rows} == {0}
    assert all(one.values()) and not any(none.values())


@pytest.mark.parametrize("rows", [2, 7, 400])
@pytest.mark.parametrize(
    "person",
    [{"type": "category", "categories": list("abcdefgh")}, {"type": "Int64", "range": [5, 9]}, {"type": "string"}],
    ids=["category", "range", "string"],
)
def test_persons_and_keys_of_any_domain_load(person: dict[str, Any], rows: int) -> None:
    """A short list of possible names makes few persons and few keys; loading never meets a key of two persons."""
    mine = {**SCHEMAS["stays"], "patient": person, "stay": person}
    data = {
        "patients": replace(GIVEN["patients"], schema={**SCHEMAS["patients"], "patient": person}),
        "stays": replace(GIVEN["stays"], schema=mine),
        "notes": replace(GIVEN["notes"], schema={**SCHEMAS["notes"], "stay": person}),
    }
    for edit in ("as it is", *EDITS, "a single row", "no row"):
        assert set(loaded(edit, data, rows)) == set(data)


def test_tables_that_the_program_brings_get_neighbours_too(at: Auditor, tmp_path: Path) -> None:
    """Rows of a file, and of frames: one person goes with all her rows, found over links."""
    program = tmp_path / "brings.py"
    program.write_text(BRINGS)
    report = audit(program, neighbours=7, within=at)

    assert report.clean and not report.remarks, report
    assert report.releases == report.checked == 3 and report.moved >= 6
    program.write_text(BRINGS + "for _ in range(len(notes_frame)):\n    pass\n")
    assert audit(program, neighbours=7, within=at).clean, "the frame in the program's memory is the program's own"


BRINGS = """import pandas
import privjail as pj
from privjail import pandas as pd

people = pj.population("hospital", budget=10)
persons = [1, 1, 2, 3, 3, 3, None]
stays_frame = pandas.DataFrame({"stay": range(7), "patient": persons, "cost": [1, 2, 3, 4, 5, 6, 7]})
notes_frame = pandas.DataFrame({"stay": [0, 0, 3, 5, 5, 6, 99], "code": list("xyxyxyx")})
whole = {"type": "Int64"}
stays = pd.from_frame(stays_frame, "stays", {"stay": whole, "patient": whole, "cost": {"type": "Int64", "range": [0, 9]}},
                      population=people, unit="patient", key="stay")
notes = pd.from_frame(notes_frame, "notes", {"stay": whole, "code": {"type": "category", "categories": ["x", "y"]}},
                      population=people, link="stay=stays.stay")
print(stays.groupby("patient").agg(total=("cost", "sum"))["total"].clip(0, 9).sum().reveal(eps=1))
print(notes.groupby("patient").size().shape[0].reveal(eps=1))
alone = pd.from_frame(stays_frame, "alone", {"patient": whole}, unit="patient", budget=5)
print(alone.groupby("patient").size().clip(0, 2).sum().reveal(eps=1))
"""


def test_the_command_takes_tables_of_a_population_by_name(tmp_path: Path) -> None:
    for name, schema in SCHEMAS.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(schema))
    told = ("patients=patients.json,population=hospital,unit=patient,most=1",
            "stays=stays.json,population=hospital,unit=patient,key=stay",
            "notes=notes.json,population=hospital,link=stay=stays.stay")  # fmt: skip
    words = [word for each in told for word in ("--data", each)]
    shown = command("audit", str(LEAKS / "wire_clean.py"), *words, "--neighbours", "1", cwd=tmp_path)
    wrong = command("audit", str(LEAKS / "wire_clean.py"), "--data", "a=patients.json,key=patient", cwd=tmp_path)

    assert shown.returncode == 0, shown.stdout + shown.stderr
    assert "no leak found" in shown.stdout and "6 of 6" in shown.stdout
    assert wrong.returncode == 1 and "population=NAME" in wrong.stderr


def test_a_removed_table_still_says_whose_rows_link_to_it(tmp_path: Path) -> None:
    from privjail.curator.folder import JailFolder

    home = jail_of(tmp_path)
    jail = JailFolder(home)
    jail.remove_dataset("stays")
    jail.ledger.close()
    program = tmp_path / "program.py"
    program.write_text(
        "import privjail as pj\nfrom privjail import pandas as pd\npj.connect('analyst.privjail')\n"
        "print(pd.read_csv('notes').groupby('patient').size().shape[0].reveal(eps=0.5))\n"
        "try:\n    pd.read_csv('stays')\nexcept pj.DPError as e:\n    print(e)\n"
    )
    told = json.loads(command("audit", str(program), "--jail", str(home), "--json", cwd=tmp_path).stdout)

    assert told["clean"] and told["releases"] == told["checked"] == 1 and told["moved"] >= 3 and not told["remarks"]
