"""What was said of a job comes to its facts: by precedence while it is open, by conflict later."""

from hypothesis import given
from hypothesis import strategies as st

from triage.domain.caller import Caller
from triage.domain.facts import (
    FactsSource,
    FactsState,
    Statement,
    add_statement,
    is_still_in_conflict,
    list_contradicted,
    merge_statements,
    state_when_settled,
)

JOB_JSON = FactsSource.JOB_JSON
FACTS = st.dictionaries(
    st.sampled_from(["nodes", "world_size", "name", "x"]), st.integers(0, 3), max_size=4
)
STATEMENTS = st.lists(
    st.builds(Statement, FACTS, st.sampled_from(FactsSource), state=st.sampled_from(FactsState)),
    max_size=8,
)


def test_a_later_hook_wins_and_a_hook_wins_over_every_job_json() -> None:
    statements = [
        Statement({"nodes": ["f0"], "name": "f0"}, JOB_JSON),
        Statement({"nodes": ["h0"]}),
        Statement({"nodes": ["h1"]}, FactsSource.ALERT),
        Statement({"nodes": ["f1"], "name": "f1", "x": 1}, JOB_JSON),
    ]
    assert merge_statements(statements) == {"nodes": ["h1"], "name": "f0", "x": 1}


def test_what_contradicts_settled_facts_is_a_conflict_unless_its_token_may_correct() -> None:
    facts = {"job_id": "7", "nodes": ["n0"], "world_size": 8, "name": "a"}
    other = Statement({"nodes": ["x"], "name": "b"})
    assert list_contradicted(facts, other) == ("nodes",)
    assert state_when_settled(facts, other) is FactsState.CONFLICT
    reader = Statement(other.facts, caller=Caller("key_r", frozenset({"read"})))
    assert state_when_settled(facts, reader) is FactsState.USED


def test_what_would_move_the_answer_by_only_adding_is_a_conflict_too() -> None:
    assert state_when_settled({"world_size": 8}, Statement({"rank_to_node": {"0": "x"}})) == (
        FactsState.CONFLICT
    )
    # Near misses: the same once more, what no answer rests on, and the first word of all.
    for facts, said in (
        ({"world_size": 8}, {"world_size": 8}),
        ({"world_size": 8}, {"alert": "JobFailed", "name": "b"}),
    ):
        assert state_when_settled(facts, Statement(said)) is FactsState.LATE
    assert state_when_settled({}, Statement({"nodes": ["n0"]})) is FactsState.USED
    late = Statement({"world_size": 9}, JOB_JSON)
    assert state_when_settled({"world_size": 8}, late) is FactsState.LATE


def test_a_conflict_with_what_was_withdrawn_is_none() -> None:
    conflict = Statement({"nodes": ["n0"], "gpus_per_node": 8}, state=FactsState.CONFLICT)
    assert is_still_in_conflict({"nodes": ["x"]}, conflict, [{"name": "a"}])
    assert is_still_in_conflict({}, conflict, [{"nodes": ["x"]}])
    assert not is_still_in_conflict({}, conflict, [{"nodes": ["x"], "gpus_per_node": 4}])


@given(STATEMENTS)
def test_statements_are_merged_one_by_one_as_together(statements: list[Statement]) -> None:
    facts: dict = {}
    for one in statements:
        facts = add_statement(facts, one)
    assert facts == merge_statements(statements)
    counting = (FactsState.USED, FactsState.LATE)
    assert facts == merge_statements(one for one in statements if one.state in counting)
    assert facts.items() <= {
        (key, value)
        for one in statements
        if one.state in counting
        for key, value in one.facts.items()
    }


@given(FACTS, STATEMENTS)
def test_no_token_that_only_sends_moves_the_answer_of_a_settled_incident(
    facts: dict, late: list[Statement]
) -> None:
    before = {key: facts.get(key) for key in ("nodes", "world_size")}
    if not facts:
        return
    for one in late:
        said = Statement(one.facts, one.source)
        said = Statement(one.facts, one.source, state=state_when_settled(facts, said))
        facts = add_statement(facts, said)
    assert {key: facts.get(key) for key in before} == before
