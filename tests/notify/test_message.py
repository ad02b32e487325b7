"""Message: ids that are stable and distinct, events of a subscription."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from triage.errors import Unprocessable
from triage.notify.message import DEFAULT_EVENTS, Event, check_events, derive_message_id

FOUR = st.tuples(
    st.text(max_size=6), st.integers(0, 99), st.sampled_from(Event), st.text(max_size=6)
)


def test_an_id_is_the_same_everywhere_and_for_ever():
    assert (
        derive_message_id("inc_7f3a", 2, Event.READY, 5) == "msg_e46b93d1c012cb4adfd32a0b1cee135e"
    )


@settings(deadline=None)
@given(FOUR, FOUR)
def test_different_messages_have_different_ids(one, other):
    assert (derive_message_id(*one) == derive_message_id(*other)) == (one == other)


def test_no_two_texts_run_into_one():
    assert derive_message_id('a",1', 1, Event.READY, "b") != derive_message_id(
        "a", 1, Event.READY, '1,"b'
    )


@pytest.mark.parametrize("given_events", [None, [], ()])
def test_no_events_are_the_default_ones(given_events):
    assert check_events(given_events) == DEFAULT_EVENTS
    assert Event.PROVISIONAL not in DEFAULT_EVENTS


def test_events_are_taken_once_and_in_order():
    wanted = ["incident.failed", "incident.provisional", "incident.failed"]
    assert check_events(wanted) == (Event.PROVISIONAL, Event.FAILED)


@pytest.mark.parametrize("name", ["", "ready", "Incident.ready", "incident.*", "incident.ready "])
def test_an_unknown_event_is_refused_with_its_place(name):
    with pytest.raises(Unprocessable) as refused:
        check_events(["incident.ready", name])
    assert [place.where for place in refused.value.places] == ["body/events/1"]
    assert "incident.provisional" in refused.value.hint
