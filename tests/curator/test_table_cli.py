"""`privjail dataset add` for tables of a population: links to other tables, and what is read meanwhile."""

from __future__ import annotations

import json
import re

import pytest
from typer.testing import CliRunner

from privjail.curator.cli.root import app
from privjail.curator.cli.show import out
from privjail.curator.folder import JailFolder
from privjail.errors import DPError
from tests.server.jails import free_port
from tests.server.test_population import NOTES, PATIENTS, SCHEMAS, STAYS


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A jail with the population `hospital`, its tables `patients` and `stays`, and a file of notes."""
    for name, text in (("patients", PATIENTS), ("stays", STAYS), ("notes", NOTES)):
        (tmp_path / f"{name}.csv").write_text(text, encoding="utf-8")
        (tmp_path / f"{name}.json").write_text(json.dumps(SCHEMAS[name]), encoding="utf-8")
    JailFolder.init(tmp_path / "jail", ["localhost"], f"127.0.0.1:{free_port()}", None).ledger.close()
    monkeypatch.chdir(tmp_path)
    assert run("population", "add", "hospital", "--budget", "3").exit_code == 0
    for name, more in (("patients", ["--rows-per-unit", "1"]), ("stays", ["--key", "stay"])):
        done = added(name, "--person", "patient", *more)
        assert done.exit_code == 0, done.output
    return tmp_path


def run(*arguments):
    return CliRunner().invoke(app, [*arguments, "--jail", "jail"])


def added(name, *more):
    return run("dataset", "add", name, f"{name}.csv", "--schema", f"{name}.json", "--population", "hospital", *more)


def test_a_table_is_added_by_its_link(house):
    done = added("notes", "--link", "stay=stays.stay", "--json")
    assert done.exit_code == 0, done.output
    assert {"dataset": "notes", "population": "hospital"}.items() <= json.loads(done.stdout).items()
    folder = JailFolder(house / "jail")
    entered = folder.events()[-1].body
    assert (entered["type"], entered["name"], entered["population"]) == ("dataset", "notes", "hospital")
    assert (entered["links"], entered["keys"], entered["unit"]) == (["stay=stays.stay"], [], [None, None])
    assert entered["rows"] == 3  # stay 99 is nobody's
    assert folder.state.datasets["notes"].links == ("stay=stays.stay",)
    folder.ledger.close()


@pytest.mark.parametrize(("link", "said"), [
    ("stay=wards.stay", "points to no table of the population"), ("stay=stays.cost", "stays"), ("stay", "link"),
    ("other=stays.stay", "other"),
])  # fmt: skip
def test_a_wrong_link_is_refused_and_nothing_is_added(house, link, said):
    done = added("notes", "--link", link)
    assert done.exit_code != 0 and said in done.output and "Traceback" not in done.output
    assert "notes" not in JailFolder(house / "jail").state.datasets


def test_links_belong_to_populations(house):
    plain = ["--budget", "1", "--unit", "row", "--schema", "notes.json"]
    done = run("dataset", "add", "notes", "notes.csv", *plain, "--link", "stay=stays.stay")
    assert done.exit_code != 0 and "--link need --population" in re.sub(r"\s+", " ", done.output)


def test_the_curator_sees_which_table_is_read(house, monkeypatch):
    shown = []

    class Status:
        def __enter__(self):
            return self

        def __exit__(self, *_):
            shown.append("end")

        update = staticmethod(shown.append)

    monkeypatch.setattr(out, "status", lambda text: shown.append(text) or Status())
    assert added("notes", "--link", "stay=stays.stay").exit_code == 0
    assert shown == ["reading …", "reading stays …", "reading notes …", "end"]
    with pytest.raises(DPError):
        JailFolder(house / "jail").add_table("x", "none.csv", {}, "hospital", ("patient", 1), [], [])
