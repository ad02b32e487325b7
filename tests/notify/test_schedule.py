"""Schedule: the contract's times, Retry-After, and a receiver that comes back."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.notify.deliver import (
    DELAYS_S,
    PROBE_EVERY_S,
    ReceiverState,
    compute_due_times,
    probe_at,
    schedule_next_try,
)

T0 = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
IDS = st.text(min_size=1, max_size=12)


def after(seconds):
    return T0 + timedelta(seconds=seconds)


def tries(message_id):
    """When a message that never arrives is tried, tries taking no time."""
    times, at = [], schedule_next_try(0, T0, None, T0, message_id=message_id)
    while at is not None:
        times.append(at)
        at = schedule_next_try(len(times), at, None, T0, message_id=message_id)
    return times


@settings(deadline=None)
@given(IDS)
def test_tries_follow_the_schedule_within_a_tenth_and_end(message_id):
    times = tries(message_id)
    waits = [(b - a).total_seconds() for a, b in itertools.pairwise(times)]
    assert times[0] == T0
    assert len(times) == len(DELAYS_S)
    for wait, delay in zip(waits, DELAYS_S[1:], strict=True):
        assert 0.9 * delay - 1e-3 <= wait <= 1.1 * delay + 1e-3


def test_the_schedule_is_the_one_that_was_promised():
    assert DELAYS_S[:8] == (0, 5, 30, 120, 600, 1800, 7200, 21600)
    assert DELAYS_S[8:] == (86400,) * 3


def test_messages_of_one_outage_do_not_come_back_at_once():
    assert len({schedule_next_try(6, T0, None, T0, message_id=f"msg_{n}") for n in range(50)}) > 40
    assert tries("msg_1") == tries("msg_1")


@pytest.mark.parametrize(
    ("asked_s", "waits_s"), [(3600, 3600), (1, 5), (0, 5), (10**9, 86_400)], ids=str
)
def test_retry_after_puts_off_and_never_brings_forward(asked_s, waits_s):
    at = schedule_next_try(1, T0, asked_s, T0, message_id="msg_1")
    assert 0.9 * waits_s <= (at - T0).total_seconds() <= max(1.1 * 5, waits_s)


def test_probes_do_not_use_up_the_tries():
    assert schedule_next_try(500, after(3600), None, T0) is not None
    assert schedule_next_try(500, after(91 * 3600), None, T0) is None


def due(next_s, receiver, now):
    """Which of the deliveries, the oldest first, are due; each has its own next time."""
    times = compute_due_times(map(after, next_s), receiver, now)
    return [number for number, at in enumerate(times) if at <= now]


def test_the_oldest_of_a_failing_receiver_is_probed():
    failing = ReceiverState(failing=True, tried_at=T0)
    assert due([9_999, 9_999], failing, after(PROBE_EVERY_S - 1)) == []
    assert due([9_999, 9_999], failing, after(PROBE_EVERY_S)) == [0]


def test_a_receiver_that_works_is_not_probed():
    assert due([9_999], ReceiverState(tried_at=T0), after(600)) == []


def test_a_message_that_alone_is_refused_keeps_its_own_times():
    back = ReceiverState(failing=False, tried_at=after(101))
    assert due([500], back, after(120)) == []
    assert due([500], back, after(500)) == [0]


def test_a_first_try_does_not_wait_for_the_probe():
    failing = ReceiverState(failing=True, tried_at=after(9))
    assert due([9_999, 10], failing, after(10)) == [1]


@pytest.mark.parametrize("failing", [True, False])
def test_retry_after_holds_for_every_message_of_the_receiver(failing):
    asked = ReceiverState(failing=failing, tried_at=T0, not_before=after(300))
    assert due([5, 1], asked, after(299)) == []
    assert due([5, 1], asked, after(300)) == [0, 1]


def test_a_clock_set_back_stops_nothing():
    ahead = ReceiverState(failing=True, tried_at=after(86_400), not_before=after(30 * 86_400))
    assert probe_at(ReceiverState(failing=True, tried_at=after(86_400)), T0) <= after(PROBE_EVERY_S)
    assert compute_due_times([after(9_999)], ahead, T0)[0] <= after(86_400)


@settings(max_examples=30, deadline=None)
@given(
    back_s=st.integers(1, 3_000),
    created_s=st.lists(st.integers(0, 600), min_size=1, max_size=8),
    try_takes_s=st.integers(0, 14),
)
def test_a_receiver_that_is_back_has_everything_within_a_minute(back_s, created_s, try_takes_s):
    """One sender, one second a step; a try of a receiver that is away takes its time."""
    rows = {n: [after(s), None, after(s), 0] for n, s in enumerate(sorted(created_s))}
    state = ReceiverState()
    busy_until, arrived = 0, {}
    for second in range(back_s + 70):
        if second < busy_until:
            continue
        now = after(second)
        made = [n for n, row in rows.items() if n not in arrived and row[0] <= now]
        times = compute_due_times([rows[n][2] for n in made], state, now)
        for one in [n for n, at in zip(made, times, strict=True) if at <= now][:1]:
            row = rows[one]
            row[1], row[3] = now, row[3] + 1
            if second >= back_s:
                arrived[one] = second
                state = ReceiverState(tried_at=now)
                for other in rows.values():  # as the store makes all due that wait
                    other[2] = min(other[2], now)
                continue
            busy_until = second + try_takes_s
            row[2] = schedule_next_try(row[3], after(busy_until), None, row[0], message_id=str(one))
            state = ReceiverState(failing=True, tried_at=now)
    made_before = [n for n, row in rows.items() if row[0] <= after(back_s)]
    assert all(arrived[n] <= back_s + 60 for n in made_before)
