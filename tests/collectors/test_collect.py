"""A collection from end to end, against a service that answers as told."""

import re

import pytest

from tests.collectors.scripted import (
    TOKEN,
    accepted,
    arguments,
    finished,
    kept,
    refused,
    run,
    service,
    waiting,
)
from triage.collectors.options import Misuse


def test_sends_a_good_tar_with_the_right_names(node, tmp_path) -> None:
    with service(accepted()) as there:
        outcome = run(node(there.url, incident="inc_9"), tmp_path, TRIAGE_TOKEN=TOKEN)

    (request,) = there.requests
    assert request.path == "/v1/jobs/a%2F7%20%C3%A9/bundle?node=n%203%2Fx&incident=inc_9"
    assert request.headers["authorization"] == f"Bearer {TOKEN}"
    assert request.headers["content-encoding"] == "gzip"
    assert set(request.members) == {
        "fr/trace_rank_0", "fr/trace_rank_1",
        "nodes/n 3%2Fx/kernel.log".replace("%", "%25"), "nodes/n 3%2Fx/job.out".replace("%", "%25"),
    }  # fmt: skip
    assert request.members["fr/trace_rank_1"] == (tmp_path / "fr" / "trace_rank_1").read_bytes()
    assert outcome.complete
    assert outcome.bundles[0].answer.incident == "inc_7"
    assert waiting(tmp_path) == []


@pytest.mark.parametrize(
    "first",
    [refused(503, Retry_After="0"), refused(429), refused(500), refused(408), "reset"],
    ids=["503", "429", "500", "408", "reset"],
)
def test_tries_again_with_the_same_bytes(node, tmp_path, first) -> None:
    with service(first, accepted()) as there:
        outcome = run(node(there.url, compress=False), tmp_path)

    assert outcome.complete
    one, two = there.requests
    assert one.body == two.body
    assert "content-encoding" not in one.headers


def test_a_wish_to_wait_beyond_the_deadline_is_heeded(node, tmp_path) -> None:
    with service(refused(503, "busy", Retry_After="3600")) as there:
        outcome = run(node(there.url), tmp_path)

    assert len(there.requests) == 1
    assert "503 busy (do this)" in outcome.bundles[0].answer.text
    assert len(waiting(tmp_path)) == 1


@pytest.mark.parametrize(
    ("answer", "spooled", "put_away", "word"),
    [
        (refused(401), 1, 0, "401 no (do this)"),
        (refused(403), 1, 0, "403"),
        (refused(422, "bad node", "quote it"), 0, 1, "422 bad node (quote it)"),
        (refused(413), 0, 1, "413"),
        ((307, {"Location": "https://else.example/"}, {}), 1, 0, "https://else.example/"),
        ((404, {}, b"<html>not json"), 0, 1, "404"),
        (("early", refused(401)), 1, 0, "401"),
        ((200, {}, b"<html>please log in"), 1, 0, "--url"),
        ((201, {}, []), 1, 0, "--url"),
    ],
    ids=[
        "401",
        "403",
        "422",
        "413",
        "redirect",
        "no problem document",
        "before the body",
        "login page",
        "not an object",
    ],
)
def test_a_refusal_is_not_tried_again(node, tmp_path, answer, spooled, put_away, word) -> None:
    with service(answer) as there:
        outcome = run(node(there.url), tmp_path)

    assert len(there.requests) == 1
    assert not outcome.complete
    assert word in outcome.bundles[0].answer.text
    assert (len(waiting(tmp_path)), len(kept(tmp_path))) == (spooled, put_away)


def test_members_that_were_not_taken_are_told(node, tmp_path) -> None:
    rows = [
        {"member": "fr/trace_rank_0", "status": 201, "reason": None, "id": "1"},
        {"member": "fr/trace_rank_1", "status": 422, "reason": "cut\nshort", "id": None},
    ]
    with service(accepted(artifacts=rows)) as there:
        _, _, err = finished(tmp_path, *arguments(node(there.url)))

    assert "not taken by the service: fr/trace_rank_1: cut?short" in err
    assert "trace_rank_0:" not in err


def test_a_service_that_is_away_leaves_the_bundle_for_the_next_run(node, tmp_path) -> None:
    with service(accepted()) as gone:
        pass
    status, _, err = finished(tmp_path, *arguments(node(gone.url, deadline_s=2.0)))

    assert status == 0
    assert "kept in" in err
    assert [path.stat().st_mode & 0o777 for path in waiting(tmp_path)] == [0o600]

    with service(accepted()) as there:
        status, _, err = finished(
            tmp_path, "--url", there.url, "--flush-spool", "--spool", str(tmp_path / "spool")
        )

    assert status == 0
    assert "sent 1 bundle of earlier" in err
    assert "fr/trace_rank_0" in there.requests[0].members
    assert waiting(tmp_path) == []


def test_older_bundles_go_first_and_in_order(node, tmp_path) -> None:
    with service(refused(503, Retry_After="99")) as there:
        for job in ("1", "2"):
            run(node(there.url, job_id=job), tmp_path)
    with service(accepted()) as there:
        run(node(there.url, job_id="3"), tmp_path)

    assert [one.path.split("/")[3] for one in there.requests] == ["1", "2", "3"]


def test_strict_says_by_its_status_that_something_is_left(node, tmp_path) -> None:
    with service(refused(401)) as there:
        given = arguments(node(there.url))
        assert finished(tmp_path, *given)[0] == 0
        assert finished(tmp_path, *given, "--strict")[0] == 1


def test_only_with_dumps_sends_nothing_for_a_job_that_ended_well(node, tmp_path) -> None:
    with service(accepted()) as there:
        outcome = run(
            node(there.url, fr=(str(tmp_path / "none*"),), only_with_dumps=True), tmp_path
        )

    assert there.requests == []
    assert outcome.bundles == ()
    assert outcome.complete


def test_a_dry_run_sends_and_keeps_nothing(node, tmp_path) -> None:
    with service(accepted()) as there:
        status, out, _ = finished(tmp_path, *arguments(node(there.url)), "--dry-run")

    assert status == 0
    assert re.search(r"^ +1,000  fr/trace_rank_0  /", out, re.M)
    assert there.requests == []
    assert not (tmp_path / "spool").exists()


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"url": ""}, "--url"),
        ({"url": "ftp://x"}, "http"),
        ({"url": "http://user:pw@127.0.0.1"}, "--token-file"),
        ({"url": "http://127.0.0.1:99999"}, "--url"),
        ({"url": "http://127.0.0.1/?a=1"}, "path"),
        ({"url": "https://triage.example", "insecure": True}, "--ca-file"),
        ({"url": "https://127.0.0.1", "ca_file": "/nonexistent"}, "--ca-file"),
        ({"job_id": None}, "SLURM_JOB_ID"),
        ({"job_id": "a\nb"}, "control"),
        ({"node": "n" * 257}, "256"),
        ({"deadline_s": 0.0}, "--deadline"),
        ({"deadline_s": float("nan")}, "--deadline"),
        ({"shared": "maybe"}, "--shared"),
        ({"spool": "/proc/nothing"}, "--spool"),
    ],
    ids=str,
)
def test_a_wrong_call_says_what_to_give(node, tmp_path, change, word) -> None:
    with pytest.raises(Misuse, match=word):
        run(node(**{"url": "http://127.0.0.1:9", **change}), tmp_path)
