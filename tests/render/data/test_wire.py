"""Wire: canonical bytes that are JSON whatever the names hold."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render import answers
from triage.domain.report import CollectiveAtFrontier
from triage.render.data.wire import encode, encode_line, render


@pytest.mark.parametrize("name", ["culprit", "tie", "healthy", "large"])
def test_is_exactly_the_wire_form(name):
    answer = getattr(answers, name)()
    assert json.loads(render(answer)) == json.loads(json.dumps(answer.to_dict()))


def test_is_indented_and_ends_in_a_newline():
    lines = render(answers.healthy()).decode().splitlines(keepends=True)
    assert lines[1] == '  "schema": "triage.report/1",\n'
    assert lines[-1] == "}\n"


def test_the_same_answer_gives_the_same_bytes():
    assert render(answers.culprit()) == render(answers.culprit())


def test_top_keeps_the_best():
    assert len(json.loads(render(answers.large()))["suspects"]) == 2
    assert [s["node"] for s in json.loads(render(answers.large(), top=1))["suspects"]] == ["n3"]


def test_hostile_names_stay_escaped_and_whole():
    shown = render(answers.hostile()).decode("utf-8")
    assert not set(shown) & set("\x1b\x07\x7f\x9b\u202e\u2069")
    node = json.loads(shown)["suspects"][0]["node"]
    assert node == answers.HOSTILE.replace("\udcff", "\\udcff")


def test_an_integer_past_64_bits_is_written_in_full():
    whole = answers.tie()
    vast = CollectiveAtFrontier("0", "", 2**80, "all_reduce", (), (), ())
    shown = render(replace(whole, collectives=(vast,)))
    assert json.loads(shown)["groups"][0]["seq_id"] == 2**80


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.dictionaries(st.text(max_size=5), VALUES, max_size=4))
def test_any_row_is_one_line_of_json(row):
    line = encode_line(row)
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert json.loads(line) == json.loads(encode(row))


def test_both_writers_agree():
    row = {"a": [], "b": {}, "c": [1, {"d": None}], "e": "\u00fc", "f": 0.5, "g": True}
    assert encode({**row, "h": "\udcff"}) == encode({**row, "h": "\\udcff"})
    assert encode_line({**row, "h": "\udcff"}) == encode_line({**row, "h": "\\udcff"})
