"""What servers, files and commands refuse, with words that say what to do."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest

from privjail.encrypted import analyst
from privjail.encrypted import encrypted_pb2 as pb
from privjail.encrypted.owner import Submitter, read_csv, submission
from privjail.encrypted.records import size_of
from privjail.encrypted.study import Offer, Study, Terms
from privjail.encrypted.wire import Caller
from privjail.errors import DPError, PlanError

from .parties import Parties
from .refusing import BINS, good, sent


def test_requests_that_make_no_sense(parties):
    many = submission(parties.study, [("", b"")] * 513, [b""] * 513)
    with Submitter(parties.study) as submitter, pytest.raises(PlanError, match="at most 512"):
        submitter.caller.call("Submit", many, pb.SubmitReply)
    ticket = parties.tickets.operator()
    for method, eps, says in (
        ("ahp", 1, "no method"),
        ("block_tree", 0, "greater than 0"),
        ("block_tree", "x", "no amount"),
        ("block_tree", "1/100000", "too small"),
    ):
        with pytest.raises(DPError, match=says):
            analyst.publish(parties.study, ticket, "z", method, eps)
    with pytest.raises(PlanError, match="needs a name"):
        analyst.publish(parties.study, ticket, "", "block_tree", 1)
    analyst.publish(parties.study, ticket, "z", "block_tree", 1)
    with pytest.raises(PlanError, match="another method or ε"):
        analyst.publish(parties.study, ticket, "z", "partition", 1)


def test_files_are_checked(tmp_path: Path, parties) -> None:
    (tmp_path / "a.csv").write_text("owner,bin\nann,3\n")
    with pytest.raises(PlanError, match="no column 'ticket'"):
        list(read_csv(tmp_path / "a.csv"))
    (tmp_path / "t.csv").write_text("owner,ticket\nbob,00\n")
    with pytest.raises(PlanError, match="no ticket for 'ann'"):
        list(read_csv(tmp_path / "a.csv", tmp_path / "t.csv"))
    (tmp_path / "short.csv").write_text("owner,bin,ticket\nann,3,00\nbob\n")
    with pytest.raises(PlanError, match="line 3 of 'short.csv' is cut off"):
        list(read_csv(tmp_path / "short.csv"))
    (tmp_path / "latin.csv").write_bytes("owner,bin,ticket\nZoë,3,00\n".encode("latin-1"))
    with pytest.raises(PlanError, match="UTF-8"):
        list(read_csv(tmp_path / "latin.csv"))
    with Submitter(parties.study) as submitter, pytest.raises(PlanError, match="'eve' lies in none"):
        submitter.submit([parties.record("eve", BINS)])
    (tmp_path / "x.json").write_text("{}")
    for load in (Offer.load, Study.load):
        with pytest.raises(PlanError, match="not of the format"):
            load(tmp_path / "x.json")
    with pytest.raises(PlanError, match="2 … 4096 bins"):
        Terms(5000, "add-remove", 1)
    with pytest.raises(PlanError, match="add-remove or replace"):
        Terms(16, "both", 1)
    with pytest.raises(PlanError, match="none of the study's bins"):
        good(parties, BINS)


def test_another_format_is_another_study(parties, monkeypatch):
    """Records of another layout would have the right size, fail the check, and cost their owners their only try."""
    offer, owner = Offer.load(parties.where / "ds" / "offer.json"), "of another format"
    with monkeypatch.context() as other:
        other.setattr("privjail.encrypted.study.FORMAT", "another")
        request = submission(parties.study, [(owner, parties.tickets.owner(owner))], [good(parties)])
        digest = offer.digest
    assert digest != offer.digest
    with Submitter(parties.study) as submitter, pytest.raises(PlanError, match="another study"):
        submitter.caller.call("Submit", request, pb.SubmitReply)


def test_a_folder_has_one_server(parties):
    from privjail.encrypted import compute, decrypt

    with pytest.raises(DPError, match="another process serves 'cs'"):
        compute.Computer(parties.where / "cs")
    with pytest.raises(DPError, match="another process serves 'ds'"):
        decrypt.Decryptor(parties.where / "ds")
    assert sent(parties, ("after the second server", good(parties))) == [("kept", "")]


def test_a_server_that_does_not_start_leaves_its_folder(tmp_path, parties):
    from privjail.encrypted import compute, decrypt

    other = Parties(tmp_path, bins=BINS)
    for _ in range(2):  # the second time finds no lock of the first
        with pytest.raises(PlanError, match="not of this server's offer"):
            decrypt.start(tmp_path / "ds", parties.study)
        with pytest.raises(DPError, match="cannot be served"):
            compute.start(tmp_path / "cs", listen=parties.study.compute.address)
    with other.in_threads():
        pass


def test_errors_of_the_connection_speak_of_the_server(parties, monkeypatch):
    def failing(code: Any) -> Any:
        class Failed(grpc.RpcError):
            def code(self) -> Any:
                return code

            def details(self) -> str:
                return "Received message larger than max"

        def call(*_: Any, **__: Any) -> Any:
            raise Failed

        return call

    with Submitter(parties.study) as submitter:
        for code, says in (
            ("RESOURCE_EXHAUSTED", "too large for 127"),
            ("DEADLINE_EXCEEDED", "127.0.0.1:.* did not answer"),
        ):
            monkeypatch.setattr(
                submitter.caller,
                "_channel",
                SimpleNamespace(unary_unary=lambda _, c=code: failing(grpc.StatusCode[c]), close=lambda: None),
            )
            with pytest.raises(DPError, match=says) as found:
                submitter.caller.call("Submit", pb.SubmitRequest(), pb.SubmitReply)
            assert "jail" not in str(found.value)


def test_a_busy_server_is_asked_again(parties, monkeypatch):
    class Busy(grpc.RpcError):
        def code(self) -> Any:
            return grpc.StatusCode.RESOURCE_EXHAUSTED

        def details(self) -> str:
            return "Concurrent RPC limit exceeded!"

    left = [Busy(), Busy()]

    def call(*_: Any, **__: Any) -> bytes:
        if left:
            raise left.pop()
        return pb.MissingReply(missing=[True]).SerializeToString()

    with Submitter(parties.study) as submitter:
        monkeypatch.setattr(
            submitter.caller, "_channel", SimpleNamespace(unary_unary=lambda _: call, close=lambda: None)
        )
        assert submitter.caller.call("Missing", pb.MissingRequest(), pb.MissingReply).missing == [True]
        left.append(Busy())
        with pytest.raises(DPError, match="is busy"):
            submitter.caller.call("Missing", pb.MissingRequest(), pb.MissingReply, patience=0)


def test_more_calls_than_a_server_takes_are_told_so_and_tried_again(monkeypatch, tmp_path):
    import threading

    from privjail.encrypted import keys, wire

    from .parties import free_port

    monkeypatch.setattr(wire, "AT_ONCE", 1)
    begun, go_on = threading.Event(), threading.Event()

    def slow(request: Any) -> Any:
        begun.set()
        go_on.wait(10)
        return pb.MissingReply()

    where = keys._server(tmp_path, f"127.0.0.1:{free_port()}")
    running = wire.serve(
        "Compute",
        {"Missing": wire.Call(pb.MissingRequest, slow)},
        where.address,
        keys.pair(tmp_path),
        None,
        lambda: None,
    )
    first = threading.Thread(
        target=lambda: Caller("Compute", where).call("Missing", pb.MissingRequest(), pb.MissingReply)
    )
    first.start()
    begun.wait(10)
    caller = Caller("Compute", where)
    with pytest.raises(DPError, match="is busy"):
        caller.call("Missing", pb.MissingRequest(), pb.MissingReply, patience=0.3)
    go_on.set()
    first.join()
    assert caller.call("Missing", pb.MissingRequest(), pb.MissingReply) == pb.MissingReply()
    caller.close()
    running.stop()


def test_a_full_batch_of_the_largest_study_fits_into_a_message():
    from privjail.encrypted.compute import LARGEST_BATCH
    from privjail.encrypted.keys import LONGEST_NAME
    from privjail.encrypted.wire import LARGEST

    owner = pb.Owner(name="\U0001f600" * LONGEST_NAME, ticket=bytes(32))
    assert LARGEST_BATCH * (size_of(4096) + len(owner.SerializeToString()) + 8) + 4096 < LARGEST


def test_messages_that_become_many_objects_are_refused_before_they_are_parsed(parties, monkeypatch):
    """Two bytes for an owner without a name: 30 MiB of them took a gigabyte."""
    from privjail.encrypted import wire

    seen: list[int] = []
    parse = wire.parse
    monkeypatch.setattr(wire, "parse", lambda call, body: seen.append(len(body)) or parse(call, body))
    owner = pb.Owner(name="\U0001f600" * 200, ticket=bytes(32))
    largest = pb.SubmitRequest(study=bytes(32), key=bytes(32), owners=[owner] * 512, sizes=[12_552] * 512)
    assert len(largest.SerializeToString()) < wire.PARSED // 2
    many = b"\x1a\x00" * (wire.PARSED // 2 + 1)
    with Submitter(parties.study) as submitter:
        framed = len(many).to_bytes(8, "little") + many + bytes(-len(many) % 8)
        for method, body in (("Submit", framed), ("Missing", many), ("Status", many), ("Histogram", many)):
            with pytest.raises(PlanError, match="at most 1048576 bytes"):
                submitter.caller.call(method, body, pb.SubmitReply)
        with pytest.raises(PlanError, match="at most 1048576 bytes"):
            list(submitter.caller.parts("Publish", SimpleNamespace(SerializeToString=lambda: many), pb.Progress))
        with pytest.raises(PlanError, match="at most 512"):  # and what is parsed is little
            submitter.caller.call("Submit", submission(parties.study, [("", b"")] * 513, [b""] * 513), pb.SubmitReply)
    assert seen[:5] == [len(many)] * 5


def test_tickets_are_hmacs_and_need_a_whole_key(parties, tmp_path):
    import hashlib
    import hmac

    from privjail.encrypted.keys import Tickets

    key = (parties.where / "cs" / "tickets.key").read_bytes()
    assert parties.tickets.owner("Zoë") == hmac.digest(key, b"owner\0" + "Zoë".encode(), hashlib.sha256)
    assert parties.tickets.operator() == hmac.digest(key, b"operator\0", hashlib.sha256)
    for damaged in (b"", key[:-1]):
        (tmp_path / "tickets.key").write_bytes(damaged)
        with pytest.raises(PlanError, match="damaged"):
            Tickets(tmp_path)


@pytest.mark.parametrize(
    "text", ["1e999999999", "1E+100000000", "9" * 5000, "1/0", "nan", "inf", "-1", "1_000", "٣", "", "1/2/3"]
)
def test_amounts_are_read_at_once_or_refused(text):
    from privjail.encrypted.plans import spelled_amount

    with pytest.raises(DPError):
        spelled_amount(text)


def test_amounts_that_people_write():
    from fractions import Fraction

    from privjail.encrypted.plans import spelled_amount

    assert [spelled_amount(t) for t in ("0.5", "1/2", " 2 ", ".25", "1e-2", "3.")] == [
        Fraction(x) for x in ("1/2", "1/2", "2", "1/4", "1/100", "3")
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"bins": 16.5},
        {"bins": "16"},
        {"bins": True},
        {"budget": "1e999999999"},
        {"budget": 3},
        {"more": 1},
    ],
)
def test_a_study_file_with_other_terms_than_there_are_is_refused(parties, tmp_path, change):
    import json

    found = json.loads((parties.where / "cs" / "study.json").read_text())
    found["terms"] |= change
    (tmp_path / "study.json").write_text(json.dumps(found))
    with pytest.raises(PlanError):
        Study.load(tmp_path / "study.json")


def test_a_compute_server_that_answers_for_other_records_is_told_apart(parties, monkeypatch):
    for method, lie in (("Missing", pb.MissingReply()), ("Submit", pb.SubmitReply())):
        with Submitter(parties.study) as submitter, monkeypatch.context() as patch:
            call = submitter.caller.call
            patch.setattr(
                submitter.caller,
                "call",
                lambda m, *a, method=method, lie=lie, call=call: lie if m == method else call(m, *a),
            )
            with pytest.raises(DPError, match="for other records"):
                submitter.submit([parties.record(f"lied to by {method}", 1)])


def test_what_a_server_writes_does_not_steer_the_terminal():
    from privjail.terminal import plain

    assert plain("no\x1b[2J\x07\r: é\n") == "no?[2J??: é\n"


def test_tickets_are_written_for_one_reader_also_into_a_file_that_is_there(parties, tmp_path):
    from typer.testing import CliRunner

    from privjail.encrypted.cli import app

    (tmp_path / "names").write_text("ann\n")
    for args in (
        ["owners", str(parties.where / "cs"), str(tmp_path / "names")],
        ["operator", str(parties.where / "cs")],
    ):
        out = tmp_path / args[0]
        out.touch(mode=0o644)
        assert CliRunner().invoke(app, ["keys", *args, "--out", str(out)]).exit_code == 0
        assert out.stat().st_mode & 0o777 == 0o600


def test_a_server_does_not_start_in_the_others_folder(parties):
    from privjail.encrypted import compute, decrypt

    with pytest.raises(PlanError, match="'cs' is no decryption server's folder"):
        decrypt.start(parties.where / "cs", parties.study)
    with pytest.raises(PlanError, match="'study.json' cannot be read"):
        compute.start(parties.where / "ds")


def test_no_ticket_is_made_that_the_server_would_refuse(parties):
    assert parties.tickets.is_owner("x" * 200, parties.tickets.owner("x" * 200))
    for name in ("", "x" * 201):
        assert not parties.tickets.is_owner(name, b"")
        with pytest.raises(PlanError, match="1 … 200 characters"):
            parties.tickets.owner(name)


def test_absent_owners_are_for_add_remove_only(tmp_path):
    parties = Parties(tmp_path, bins=BINS, neighbours="replace")
    with (
        parties.in_threads(),
        Submitter(parties.study) as submitter,
        pytest.raises(PlanError, match="does not hide who"),
    ):
        submitter.submit([parties.record("a", None)])


def test_only_the_compute_server_may_call_the_decryption_server(parties, tmp_path):
    from privjail.encrypted import keys

    other = Parties(tmp_path, bins=BINS)
    offer = Offer.load(parties.where / "ds" / "offer.json")
    for pair in (None, keys.pair(other.where / "cs")):
        caller = Caller("Decrypt", offer.decrypt, pair)
        with pytest.raises(DPError, match="does not take our calls|nobody answers"):
            caller.call("Check", pb.CheckRequest(), pb.CheckReply, patience=0.2)
        caller.close()


def test_the_size_of_a_record_tells_nothing(parties):
    assert {len(good(parties, b)) for b in (None, 0, 15)} == {size_of(BINS)}


def test_the_generated_code_is_that_of_the_proto_file(tmp_path) -> None:
    from google.protobuf import descriptor_pb2
    from grpc_tools import protoc

    source = Path(pb.__file__).parents[2]
    done = protoc.main(
        ["", f"-I{source}", f"--descriptor_set_out={tmp_path / 'out'}", "privjail/encrypted/encrypted.proto"]
    )
    made = descriptor_pb2.FileDescriptorSet.FromString((tmp_path / "out").read_bytes()).file[0]
    ours = descriptor_pb2.FileDescriptorProto()
    pb.DESCRIPTOR.CopyToProto(ours)
    for message in made.message_type:
        for each in message.field:
            each.ClearField("json_name")
    assert done == 0 and ours.message_type == made.message_type and ours.service == made.service
