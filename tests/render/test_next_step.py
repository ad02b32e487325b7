"""Next step: a sentence for each action, and commands that are safe to paste."""

from dataclasses import replace

import pytest

from tests.render import answers
from triage.domain.category import Action, VerdictKind
from triage.render.next_step import commands, next_step


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("build", [answers.culprit, answers.tie, answers.healthy])
def test_every_action_reads_as_a_sentence(action, build):
    whole = build()
    sentence = next_step(replace(whole, verdict=replace(whole.verdict, action=action)))
    assert sentence.endswith(".")
    assert "  " not in sentence
    assert "{" not in sentence


def test_names_the_node_to_drain():
    assert next_step(answers.culprit()) == "Drain n3, then restart the job without it."


def test_names_the_gpu_to_reset():
    whole = answers.culprit()
    verdict = replace(whole.verdict, action=Action.RESET_GPU, cordon=())
    sentence = next_step(replace(whole, verdict=verdict))
    assert sentence == "Reset the GPU 0000:5d:00.0 on n3, then restart the job."


def test_asks_to_confirm_when_nothing_is_cordoned():
    whole = answers.culprit()
    assert "Confirm it first" in next_step(
        replace(whole, verdict=replace(whole.verdict, cordon=()))
    )


def test_an_open_answer_says_what_to_bring():
    whole = answers.culprit()
    verdict = replace(
        whole.verdict, kind=VerdictKind.INCONCLUSIVE, action=Action.INVESTIGATE, cordon=()
    )
    assert "Bring the missing dumps (ranks 27)" in next_step(replace(whole, verdict=verdict))


def test_commands_for_each_cordoned_node():
    assert commands(answers.culprit()) == (
        "scontrol update nodename=n3 state=drain reason=triage:4711:gpu_hbm:0.97",
        "kubectl cordon n3",
    )


def with_cordon(*nodes, job_id="4711"):
    whole = answers.culprit()
    return replace(
        whole,
        job=replace(whole.job, job_id=job_id),
        verdict=replace(whole.verdict, cordon=nodes),
    )


@pytest.mark.parametrize(
    "node",
    ["n1; rm -rf /", "$(reboot)", "-f", "n1 n2", "n1\nn2", "a" * 100, "", "n[0-9]", "\u0441loud"],
)
def test_no_command_names_a_strange_node(node):
    assert commands(with_cordon(node)) == ()
    assert commands(with_cordon("n1", node)) == ()


def test_a_strange_job_id_stays_out_of_the_command():
    assert "reason=triage:job:gpu_hbm:0.97" in commands(with_cordon("n1", job_id="1; reboot"))[0]


def test_a_whole_rack_is_no_list_to_paste():
    assert commands(with_cordon(*(f"n{i}" for i in range(40)))) == ()
