"""`privjail login`: a program's code, confirmed by its owner in a browser (also through the identity provider)."""

from __future__ import annotations

import json
import re
import subprocess
import time

import httpx
import pytest

from privjail import client
from privjail.curator.connection_files import MOST, add_file, end_file
from privjail.curator.folder import JailFolder
from privjail.errors import DPError, PlanError
from tests.server.jails import ENV, PRIVJAIL, count, make_jail, serving

from .served import NO_KEEPING, Person, add, console, token


def begun(url, *more):
    """A `privjail login` that waits: the process and its code."""
    process = subprocess.Popen(
        [*PRIVJAIL, "login", url, *more, "--json"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV
    )
    line = process.stdout.readline()
    assert line, process.stderr.read()
    return process, json.loads(line)["user_code"]


def test_a_program_gets_a_file_of_its_own_and_the_others_stay_valid(tmp_path):
    make_jail(tmp_path)
    with console(tmp_path / "jail", "--write", tls=True) as url, serving(tmp_path, tls=True):
        trust = ["--certificate", str(tmp_path / "jail" / "jail.crt")]
        process, code = begun(url, "-o", str(tmp_path / "laptop.privjail"), "--file", "laptop", *trust)
        ann = Person(url, token(tmp_path / "ann.privjail"))
        ann.get("/device/confirm")
        shown = ann.post("/device/confirm", code=code.lower())
        assert "laptop" in shown.text and code in shown.text
        assert ann.post("/device/confirm", code="AAAA-AAAA").status_code == 400
        assert "gets its connection file" in ann.post("/device/confirm", code=code, confirm="yes").text
        out, err = process.communicate(timeout=120)
        assert process.returncode == 0, err
        assert (tmp_path / "laptop.privjail").stat().st_mode & 0o777 == 0o600
        first = json.loads((tmp_path / "ann.privjail").read_text())
        (tmp_path / "ann.privjail").write_text(json.dumps({k: v for k, v in first.items() if k != "insecure_loopback"}))
        for name in ("laptop", "ann"):
            connection = client.connect(tmp_path / f"{name}.privjail")
            connection.release([count(connection, 0.1)])
            connection.close()
        before = token(tmp_path / "laptop.privjail")
        renewed = subprocess.run([*PRIVJAIL, "renew", str(tmp_path / "laptop.privjail"), "--console", url, "--json"],
                                 capture_output=True, text=True, env=ENV, timeout=120)  # fmt: skip
        assert json.loads(renewed.stdout)["done"] == "renewed", renewed.stderr
        assert token(tmp_path / "laptop.privjail") != before
        again = subprocess.run([*PRIVJAIL, "renew", str(tmp_path / "laptop.privjail"), "--console", url],
                               capture_output=True, text=True, env=ENV, timeout=120)  # fmt: skip
        assert again.returncode == 0
    state = JailFolder(tmp_path / "jail").state
    assert list(state.users["ann"].files) == ["laptop"] and len(state.tokens) == 2
    assert state.total(("user", "ann", "census"))[0] * 10 == 2  # one account, whatever file


def test_codes_are_declined_end_and_are_given_once(tmp_path):
    folder = make_jail(tmp_path, users=("ann", "bob"))
    add(folder, "maria")
    http = httpx.Client(timeout=60, limits=NO_KEEPING)
    with console(tmp_path / "jail", "--write") as url:

        def begin(**form):
            return http.post(url + "/device", data=form).json()

        def ask(secret):
            time.sleep(1.1)
            answer = http.post(url + "/device/token", data={"device_code": secret})
            return answer.status_code, answer.json()

        one, two = begin(), begin(file="other")
        assert re.fullmatch("[B-Z]{4}-[B-Z]{4}", one["user_code"]) and one["device_code"] != two["device_code"]
        assert ask(one["device_code"]) == (400, {"error": "authorization_pending"})
        assert http.post(url + "/device/token", data={"device_code": one["device_code"]}).json() == {
            "error": "slow_down"
        }
        assert ask("guess") == (400, {"error": "expired_token"})
        ann, bob = Person(url, token(tmp_path / "ann.privjail")), Person(url, token(tmp_path / "bob.privjail"))
        for each in (ann, bob):
            each.get("/device/confirm")
        assert (
            ann.http.post(
                "/device/confirm", data={"code": one["user_code"], "confirm": "yes"}, headers={"Origin": url}
            ).status_code
            == 403
        )
        ann.post("/device/confirm", code=one["user_code"], confirm="no")
        assert ask(one["device_code"]) == (400, {"error": "access_denied"})
        bob.post("/device/confirm", code=two["user_code"], confirm="yes")
        assert ann.post("/device/confirm", code=two["user_code"], confirm="yes").status_code == 400  # it is bob's now
        JailFolder(tmp_path / "jail").revoke("bob", None)
        assert ask(two["device_code"]) == (400, {"error": "access_denied"})
        three = begin()
        ann.post("/device/confirm", code=three["user_code"], confirm="yes")
        code, file = ask(three["device_code"])
        assert code == 200 and file["user"] == "ann"
        assert ask(three["device_code"]) == (400, {"error": "expired_token"})
        assert begin(file="../evil") == {"error": "invalid_request"}
        assert [ann.post("/device/confirm", code=f"ZZZZ-ZZZ{c}").status_code for c in "BCDFGHJKLMNP"].count(429) >= 1
        assert [http.post(url + "/device").status_code for _ in range(40)].count(429) >= 10
        assert http.post(url + "/device/renew", headers={"Authorization": "Bearer x"}).status_code == 403
    with console(tmp_path / "jail") as url:  # read-only
        assert http.post(url + "/device").status_code == 403
        assert http.post(url + "/device/renew", headers={"Authorization": f"Bearer {file['token']}"}).status_code == 403


def test_each_file_of_a_user_ends_alone_and_all_end_with_her(tmp_path):
    folder = make_jail(tmp_path)
    files = {name: add_file(folder, "ann", name) | {"insecure_loopback": True} for name in ("laptop", "server")}
    for name, file in files.items():
        (tmp_path / f"{name}.privjail").write_text(json.dumps(file))
    with serving(tmp_path):
        connections = {name: client.connect(tmp_path / f"{name}.privjail") for name in ("ann", "laptop", "server")}
        end_file(folder, "ann", "laptop")

        def answered(name):
            try:
                connections[name].release([count(connections[name], 0.1)])
            except DPError as e:
                assert "not accepted" in str(e)
                return False
            return True

        assert {name: answered(name) for name in connections} == {"ann": True, "laptop": False, "server": True}
        assert JailFolder(tmp_path / "jail").state == folder.state
        folder.add_user("ann", 30)  # a new first file ends all others
        assert not any(answered(name) for name in connections)
        for each in connections.values():
            each.close()
    for i in range(MOST):
        add_file(folder, "ann", f"f{i}")
    with pytest.raises(PlanError, match=f"{MOST} connection files"):
        add_file(folder, "ann", "more")
    from privjail.server.ledger.checkpoint import pack, sha256, unpack

    packed = pack(folder.state)
    assert unpack(packed, {"sha256": sha256(packed)}).users == folder.state.users
    folder.revoke("ann", None)
    with pytest.raises(PlanError, match="no longer accepted"):
        add_file(folder, "ann", "more")
