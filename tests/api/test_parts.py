"""The small parts, each by itself: JSON, cursors, Accept, forms, pace, gate, waiting, paths."""

import asyncio
import csv
import io
import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.api.answers.suspect_forms import choose_type, write_csv
from triage.api.limits.admission_gate import AdmissionGate, Sender
from triage.api.requests.body import MinRateTimeout
from triage.api.requests.cursors import (
    make_id_cursor,
    make_time_cursor,
    make_words_cursor,
    parse_id_cursor,
    parse_place_cursor,
    parse_time_cursor,
    parse_words_cursor,
    place_cursor,
)
from triage.api.requests.strict_json import parse_object, parse_value
from triage.api.requests.values import name_in_path, normalize_path
from triage.api.state import Watch
from triage.errors import BadRequest, TooMany, Unavailable, Unprocessable
from triage.services.quotas import RateLimiter
from triage.settings import Settings

AT = datetime(2026, 11, 21, 3, 14, 15, 926535, tzinfo=UTC)
unhurried = settings(deadline=None, max_examples=60)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(1 << 63), (1 << 63) - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8")),
    lambda inner: st.lists(inner)
    | st.dictionaries(st.text(st.characters(codec="utf-8")), inner),
    max_leaves=20,
)  # fmt: skip


@unhurried
@given(JSON)
def test_json_is_read_as_everybody_reads_it(value: Any) -> None:
    assert parse_value(json.dumps(value).encode()) == value


@unhurried
@given(st.binary(max_size=200))
def test_any_bytes_are_json_or_a_bad_request(body: bytes) -> None:
    try:
        json.dumps(parse_value(body)).encode()
    except BadRequest as refusal:
        assert refusal.detail  # noqa: PT017 - both ends are fine


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("12345678901234567890123456789", "12345678901234567890123456789"),
        ("9223372036854775807", (1 << 63) - 1),
        ("9223372036854775808", "9223372036854775808"),
        ("-9223372036854775808", -(1 << 63)),
        ("9" * 100_000, "9" * 100_000),
        ('"\\ud800"', "\ufffd"),
        ('"\\ud83d\\ude00"', "😀"),
        ('{"\\udfff": 1}', {"\ufffd": 1}),
        ("\ufeff[]", []),
        ("[" * 64 + "]" * 64, ...),
    ],
    ids=lambda one: str(one)[:24],
)
def test_json_that_others_cannot_hold(text: str, value: Any) -> None:
    found = parse_value(text.encode())
    assert value is ... or found == value


@pytest.mark.parametrize("body", [b"[]", b"1", b"null", b'""', b"true", b"1.5"])
def test_what_is_no_object(body: bytes) -> None:
    with pytest.raises(Unprocessable):
        parse_object(body)


@unhurried
@given(
    st.datetimes(timezones=st.just(UTC)),
    st.text("abc_019", min_size=1, max_size=30),
    st.integers(0, (1 << 63) - 1),
)
def test_cursors_come_back_as_they_were(at: datetime, row_id: str, number: int) -> None:
    assert parse_time_cursor("a", make_time_cursor("a", at, row_id)) == (at, row_id)
    assert parse_id_cursor("a", make_id_cursor("a", number)) == number
    assert parse_place_cursor("a", place_cursor("a", 3, number)) == (3, number)
    assert parse_words_cursor("a", make_words_cursor("a", [row_id, "né"]), 2) == (row_id, "né")


def after_three_words(kind: str, cursor: str | None) -> tuple[str, ...] | None:
    return parse_words_cursor(kind, cursor, 3)


@pytest.mark.parametrize(
    "cursor",
    ["", "a", "====", "WyJhIl0", "bnVsbA", make_time_cursor("b", AT, "x"), make_id_cursor("b", 1),
     make_time_cursor("a", AT, "x")[:-3], "é", "A" * 9000, make_id_cursor("a", 1).replace("W", "*"),
     make_words_cursor("b", ["x"] * 3), make_words_cursor("a", ["x"] * 4), "WyJhIiwieCIsMSwieCJd"],
)  # fmt: skip
def test_a_foreign_cursor_is_refused(cursor: str) -> None:
    for read in (parse_time_cursor, parse_id_cursor, parse_place_cursor, after_three_words):
        with pytest.raises(Unprocessable):
            read("a", cursor)


@unhurried
@given(st.text(max_size=40))
def test_any_text_is_a_cursor_or_refused(cursor: str) -> None:
    for read in (parse_time_cursor, parse_id_cursor, parse_place_cursor, after_three_words):
        with pytest.raises(Unprocessable):
            read("a", cursor)


@unhurried
@given(st.text(max_size=200))
def test_any_accept_header_is_weighed(header: str) -> None:
    from triage.api.answers.problems import NotAcceptable

    offered = ("application/json", "text/csv")
    try:
        found = choose_type(header, offered)
    except NotAcceptable:
        found = offered[0]
    assert found in offered


def test_an_accept_header_of_a_megabyte_is_weighed() -> None:
    assert choose_type("text/csv," + "a/b," * 250_000, ("x/y", "text/csv")) == "text/csv"


SUSPECT = {
    "position": 1, "node": "n3", "ranks": [27, 3], "gpus": ["0000:5d:00"], "category": "gpu",
    "score": 0.97, "role": "culprit", "action": "drain_node",
    "because": [{"text": "Xid 79", "artifact": "nodes/n3/kernel.log", "line": 812}],
}  # fmt: skip


@pytest.mark.parametrize(
    "node",
    ["=HYPERLINK(1)", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1", "|cmd", "%0A", "＝1", "＠x", " =1"],
)
def test_no_cell_is_a_formula(node: str) -> None:
    evil = {**SUSPECT, "node": node, "because": [{"text": node}]}
    rows = list(csv.reader(io.StringIO(write_csv([evil]).decode(), newline="")))
    assert len(rows) == 2
    for cell in (rows[1][1], rows[1][8]):
        assert cell[0] not in "=+-@|%＝＋－＠\t\r"


def test_a_cell_holds_quotes_and_commas() -> None:
    evil = {**SUSPECT, "because": [{"text": 'a "b", c\nd'}]}
    rows = list(csv.reader(io.StringIO(write_csv([evil]).decode(), newline="")))
    assert rows[1][8] == 'a "b", c d'
    assert rows[1][2] == "27 3"


def test_a_token_has_its_burst_then_its_pace() -> None:
    now = [0.0]
    pace = RateLimiter(60, clock=lambda: now[0])
    for _ in range(10):
        pace.take("a")
    with pytest.raises(TooMany) as caught:
        pace.take("a")
    assert caught.value.retry_after_s == 1
    pace.take("b")
    now[0] += 2.0
    pace.take("a")
    pace.take("a")
    with pytest.raises(TooMany):
        pace.take("a")


def test_the_pace_of_many_tokens_is_kept_in_little_room() -> None:
    pace = RateLimiter(60)
    for number in range(20_000):
        pace.take(str(number))
    assert len(pace.buckets) == 10_000


async def as_far_as_they_go() -> None:
    """Every task of the loop comes to where it waits for something."""
    for _ in range(50):
        await asyncio.sleep(0)


def test_the_gate_lets_in_so_many_and_forgets_who_went() -> None:
    async def story() -> list[str]:
        gate, seen, go = AdmissionGate(2, 1), [], asyncio.Event()

        async def one(name: str) -> None:
            try:
                async with gate.turn(Sender("t")) as turn:
                    await turn.ready()
                    seen.append(f"in {name}")
                    await go.wait()
            except Unavailable:
                seen.append(f"away {name}")

        tasks = [asyncio.create_task(one(name)) for name in "abcd"]
        await as_far_as_they_go()
        assert (gate.active, gate.waiting) == (2, 1)
        tasks[2].cancel()
        await as_far_as_they_go()
        assert (gate.active, gate.waiting) == (2, 0)
        late = asyncio.create_task(one("e"))
        await as_far_as_they_go()
        go.set()
        await asyncio.gather(*tasks, late, return_exceptions=True)
        assert (gate.active, gate.waiting) == (0, 0)
        return seen

    assert sorted(asyncio.run(story())) == ["away d", "in a", "in b", "in e"]


PATIENT = {"min_body_rate": 1000, "body_grace_s": 10, "body_idle_s": 30}


@pytest.mark.parametrize(
    ("pieces", "left_s"),
    [
        ([], 10),
        ([(10, 0)], 0),
        ([(5, 0), (5, 0)], 0),
        ([(9, 1)], 1.001),
        ([(1, 1000)] * 100, 10),
        ([(1, 900)] * 50, 5),
        ([(0, 1_000_000)], 30),
        ([(0, 1_000_000), (29, 1)], 1.001),
        ([(0, 1_000_000), (30, 0)], 0),
        ([(600, 0), (0, 500)], 0.5),
    ],
    ids=["at first", "silent", "nothing twice", "a drop", "the rate", "below it", "far ahead",
         "a pause", "too long a pause", "late"],
)  # fmt: skip
def test_patience_is_earned_by_bytes(pieces: list[tuple[float, int]], left_s: float) -> None:
    min_rate = MinRateTimeout(Settings(**PATIENT))
    for waited_s, num_bytes in pieces:
        min_rate.spend(waited_s, num_bytes)
    assert min_rate.left_s == pytest.approx(left_s)


def test_without_a_rate_only_silence_counts() -> None:
    min_rate = MinRateTimeout(Settings(**PATIENT | {"min_body_rate": 0}))
    for _ in range(100):
        min_rate.spend(29, 1)
    assert min_rate.left_s == 30


def test_all_who_wait_for_one_incident_share_one_question() -> None:
    asked: list[str] = []

    async def story() -> None:
        watch = Watch(lambda name: bool(asked.append(name)) or len(asked) >= 3)
        async with asyncio.timeout(120):
            await asyncio.gather(*(watch.settled("inc", 600) for _ in range(50)))
        assert (watch.waiters, watch.watched) == (0, {})

    asyncio.run(story())
    assert asked == ["inc"] * 3


def test_one_waiter_too_many_and_an_end_are_answered_at_once() -> None:
    async def story() -> None:
        watch = Watch(lambda name: False, max_waiters=2)
        held = [asyncio.create_task(watch.settled("inc", 600)) for _ in range(2)]
        await as_far_as_they_go()
        async with asyncio.timeout(120):
            await watch.settled("other", 600)
            watch.end()
            await asyncio.gather(*held)
            await watch.settled("inc", 600)
        assert (watch.waiters, watch.watched) == (0, {})

    asyncio.run(story())


def test_an_outage_lets_waiters_go() -> None:
    def away(name: str) -> bool:
        raise Unavailable("away")

    async def story() -> None:
        async with asyncio.timeout(120):
            await Watch(away).settled("inc", 600)

    asyncio.run(story())


@unhurried
@given(st.text(st.characters(codec="utf-8"), min_size=1, max_size=256))
def test_a_name_comes_through_the_path_or_is_refused(name: str) -> None:
    from urllib.parse import quote

    path = normalize_path(f"/v1/jobs/{quote(name, safe='')}/bundle".encode())
    head, _, rest = path.partition("/v1/jobs/")
    part = rest.removesuffix("/bundle")
    assert (head, "/" in part) == ("", False)
    if any(c < " " or "\x7f" <= c <= "\x9f" for c in name):
        with pytest.raises(Unprocessable):
            name_in_path("job_id", part)
    else:
        assert name_in_path("job_id", part) == name


def test_a_time_far_away_is_a_cursor_too() -> None:
    last = datetime.max.replace(tzinfo=UTC)
    assert parse_time_cursor("a", make_time_cursor("a", last, "x")) == (last, "x")
    assert parse_time_cursor("a", make_time_cursor("a", AT + timedelta(0), "x")) == (AT, "x")
