"""Explained: every term of the sum on its line, and what would change the answer."""

import json
from dataclasses import replace

import pytest

from tests.render import explanations
from triage.analysis.explain import Trial
from triage.analysis.joining.hangs_on import Source
from triage.render.terminal.explained import render, render_json
from triage.render.words.clean import count_cells

EVERY = ["weighed", "empty", "hostile"]


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.parametrize("width", [60, 80, 120])
def test_keeps_to_its_width_and_is_plain(name, width):
    text = render(getattr(explanations, name)(), width=width, top=20)
    assert max(map(count_cells, text.splitlines())) <= width
    assert all(char == "\n" or char.isprintable() for char in text)


def test_shows_the_sum_term_by_term():
    assert """\
  1. n3, rank 27, gpu, probability 0.96
       -2.2  where every place begins
       +4.0  its kernel log says so at the time of the stop
       +3.0  a part of a GPU
       -0.5  there are no dumps to hold it against
       +4.2= log-odds, 5.5 ahead of the next: probability 0.96
     - NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.
       [nodes/n3/kernel.log:812 at 2026-11-21T03:04:14.723Z; kernel.xid]
  2. n5, nic, probability 0.12
""" in render(explanations.weighed())


def test_says_when_the_stop_was_and_how_that_is_known():
    text = " ".join(render(explanations.weighed()).split())
    assert (
        "stopped 2026-11-21T03:04:15.000Z (the watchdogs: when they gave up, less the time that"
        " they had waited)" in text
    )
    assert "given up 2026-11-21T03:14:15.000Z (as job.json says)" in text


def test_a_cause_in_no_node_is_said_to_be_so():
    assert "  3. no single node, storage, probability 0.02\n" in render(explanations.weighed())


def test_says_what_would_change_it():
    assert """\
What would change it
  - without nodes/n3/kernel.log: n5 (hang, nic, 0.61)
  - without job.log: the same, less sure (0.80)
  - without the dumps: the same, 0.96
""" in render(explanations.weighed())


def test_says_what_it_hangs_on():
    assert """\
What the answer hangs on
  - without the dumps: it stands (0.96)
  - without any kernel log: it falls: nobody is named (hang, nccl_timeout, 0.70)
  - without the logs of n3: it falls: n5 may be looked at (hang, nic, 0.61)
  - without knowing the words of its root lines: the place stands, as host_stall
    (0.90)
""" in render(explanations.weighed())


def test_sources_whose_loss_comes_to_the_same_share_a_line():
    whole = explanations.weighed()
    dumps = whole.hangs_on[0]
    text = render(replace(whole, hangs_on=(dumps, replace(dumps, source=Source.JOB_LOGS))))
    assert "  - without the dumps, without any job log: it stands (0.96)\n" in text


def test_files_whose_loss_comes_to_the_same_share_a_line():
    whole = explanations.weighed()
    trials = tuple(Trial(f"n{i}.log", "n3", whole.verdict) for i in range(3))
    text = render(replace(whole, trials=trials))
    assert "  - without any one of n0.log, n1.log, n2.log: the same, 0.96\n" in text


def test_says_what_was_not_there():
    assert render(explanations.weighed()).endswith(
        """\
What was not there to be read
  - the kernel log of n7
  - the flight-recorder dumps
  - a job.json with the nodes
"""
    )


@pytest.mark.parametrize(
    ("ahead", "words"),
    [
        (None, "log-odds, with no rival: "),
        (0.01, "log-odds, level with its rival: "),
        (-2.0, "log-odds, 2.0 behind the best: "),
    ],
)
def test_a_place_is_held_against_its_rival(ahead, words):
    whole = explanations.weighed()
    assert words in render(replace(whole, places=(replace(whole.places[0], ahead=ahead),)))


def test_nothing_weighed_is_said_and_leaves_no_empty_part():
    assert (
        render(explanations.empty())
        == """\
All 8 ranks finished what they issued; no suspect.

  verdict     healthy, none, 0.99
  stopped     nothing says that it did
  rests on    the dumps alone: no line of a log names a cause

Nothing was weighed
  no line and no dump names a place
"""
    )


def test_top_limits_the_places():
    text = render(explanations.weighed(), top=1)
    assert "n5, nic" not in text
    assert "and 2 more (--top N)" in text


def test_colours_are_ours_alone():
    text = render(explanations.hostile(), colour=True)
    assert {part.split("m")[0] for part in text.split("\x1b[")[1:]} == {"0", "1", "2"}


def test_json_has_a_schema_and_every_term():
    told = json.loads(render_json(explanations.weighed()))
    assert told["schema"] == "triage.explain/1"
    assert told["places"][0]["terms"][0] == {
        "feature": "kernel_at",
        "words": "its kernel log says so at the time of the stop",
        "log_odds": 4.0,
    }
    assert told["stop"]["start"] == "2026-11-21T03:04:15.000Z"
    assert [one["artifact"] for one in told["without"]] == ["nodes/n3/kernel.log", "job.log", None]
    assert told["hangs_on"][0] == {
        "source": "dumps", "outcome": "stands", "node": "n3", "ranks": [27], "convicts": True,
        "kind": "hang", "category": "gpu", "confidence": 0.96,
    }  # fmt: skip
    assert told["missing"]["kernel_logs_of"] == ["n7"]
    for one in told["places"]:
        terms = sum(part["log_odds"] for part in one["terms"])
        assert one["node"] != "n3" or told["bias"] + terms == pytest.approx(one["log_odds"])


def test_json_of_hostile_text_drives_no_terminal():
    raw = render_json(explanations.hostile(), top=2).decode()
    assert not set(raw) & set("\x1b\x07\x9b\u202e\u2069")
    assert len(json.loads(raw)["places"]) == 2
