"""Next step: a sentence for each action, and commands that are safe to paste."""

import shlex
from dataclasses import replace

import pytest

from tests.render import answers
from triage.domain.category import Action, Category, Role, VerdictKind
from triage.domain.next_step import NextCommand
from triage.domain.report import Because, Missing
from triage.domain.slow import SlowCause, SlowJob, SlowPart
from triage.render.words.commands import ADVICE, LOOKS
from triage.render.words.next_step import (
    MAX_INSPECTED,
    build_next_step,
    cordon_commands,
    describe_next_step,
    format_shell_line,
    list_inspection_commands,
)


@pytest.mark.parametrize("category", [Category.GPU, Category.HOST_OOM, Category.NUMERICAL])
@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("build", [answers.culprit, answers.tie, answers.healthy])
def test_every_action_reads_as_a_sentence(action, build, category):
    whole = build()
    verdict = replace(whole.verdict, action=action, category=category)
    sentence = describe_next_step(replace(whole, verdict=verdict))
    assert sentence.endswith(".")
    assert "  " not in sentence
    assert "{" not in sentence


def test_names_the_node_to_drain():
    assert describe_next_step(answers.culprit()) == "Drain n3, then restart the job without it."


def test_names_the_gpu_to_reset():
    whole = answers.culprit()
    verdict = replace(whole.verdict, action=Action.RESET_GPU, cordon=())
    sentence = describe_next_step(replace(whole, verdict=verdict))
    assert sentence == "Reset the GPU 0000:5d:00.0 on n3, then restart the job."


@pytest.mark.parametrize(
    ("category", "words"),
    [
        (Category.HOST_OOM, "Let the job ask for less host memory, or find what else takes it;"),
        (Category.SOFTWARE_USER, "Fix the code before the next start;"),
    ],
)
def test_fixing_is_said_for_what_is_to_be_fixed(category, words):
    whole = answers.culprit()
    verdict = replace(whole.verdict, action=Action.FIX_CODE, category=category, cordon=())
    assert (
        describe_next_step(replace(whole, verdict=verdict))
        == f"{words} a restart alone will stop again."
    )


def test_nobody_named_is_nobody_drained():
    whole = answers.culprit()
    verdict = replace(whole.verdict, action=Action.INVESTIGATE, cordon=())
    assert describe_next_step(replace(whole, suspects=(), verdict=verdict)) == (
        "No node is named, so none has to leave the pool on this."
    )


def test_asks_to_confirm_when_nothing_is_cordoned():
    whole = answers.culprit()
    assert "Confirm it first" in describe_next_step(
        replace(whole, verdict=replace(whole.verdict, cordon=()))
    )


def test_an_open_answer_says_what_to_bring():
    whole = answers.culprit()
    verdict = replace(
        whole.verdict, kind=VerdictKind.INCONCLUSIVE, action=Action.INVESTIGATE, cordon=()
    )
    assert "Bring the missing dumps (ranks 27)" in describe_next_step(
        replace(whole, verdict=verdict)
    )


def test_commands_for_each_cordoned_node():
    assert cordon_commands(answers.culprit()) == (
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
    assert cordon_commands(with_cordon(node)) == ()
    assert cordon_commands(with_cordon("n1", node)) == ()


def test_a_strange_job_id_stays_out_of_the_command():
    assert (
        "reason=triage:job:gpu_hbm:0.97"
        in cordon_commands(with_cordon("n1", job_id="1; reboot"))[0]
    )


def test_a_whole_rack_is_no_list_to_paste():
    assert cordon_commands(with_cordon(*(f"n{i}" for i in range(40)))) == ()


def with_suspect(action=Action.DRAIN_NODE, category=Category.GPU, **changes):
    """One culprit on n3, cordoned."""
    whole = answers.culprit()
    suspect = replace(whole.suspects[0], action=action, category=category, **changes)
    return replace(whole, suspects=(suspect,))


def test_a_reboot_comes_back_by_itself():
    assert cordon_commands(with_suspect(Action.REBOOT_NODE)) == (
        "scontrol reboot ASAP nextstate=resume reason=triage:4711:gpu_hbm:0.97 n3",
        "kubectl cordon n3",
    )


@pytest.mark.parametrize("gpu", ["0000:5d:00", "0000:5d:00.0"])
def test_a_gpu_is_reset_by_its_bus_id(gpu):
    assert cordon_commands(with_suspect(Action.RESET_GPU, gpus=(gpu,))) == (
        "scontrol update nodename=n3 state=drain reason=triage:4711:gpu_hbm:0.97",
        "kubectl cordon n3",
        "ssh n3 sudo nvidia-smi --gpu-reset -i 0000:5d:00.0",
    )


@pytest.mark.parametrize("gpu", ["0; reboot", "0000:5D:00\n", "-1", "", "0000:5d:00.0 -r"])
def test_no_reset_of_what_is_no_bus_id(gpu):
    assert len(cordon_commands(with_suspect(Action.RESET_GPU, gpus=(gpu,)))) == 2


def possible(category=Category.GPU, node="n3", num=1):
    """Suspects that are not convicted; nothing is cordoned."""
    whole = answers.culprit()
    return replace(
        whole,
        suspects=tuple(
            replace(
                whole.suspects[0],
                position=i + 1,
                node=node if num == 1 else f"n{i}",
                category=category,
                role=Role.POSSIBLE,
                action=Action.INVESTIGATE,
            )
            for i in range(num)
        ),
        verdict=replace(whole.verdict, cordon=(), action=Action.INVESTIGATE),
    )


@pytest.mark.parametrize(
    ("category", "look"),
    [
        (Category.GPU, "ssh n3 sudo dmesg -T | grep -i xid"),
        (Category.HOST_MEMORY, "ssh n3 sudo ipmitool sel list"),
        (Category.NIC, "ssh n3 ibstat"),
        (Category.STORAGE, "ssh n3 df -hT"),
    ],
)
def test_a_possible_suspect_is_looked_at(category, look):
    assert list_inspection_commands(possible(category))[0] == look
    assert cordon_commands(possible(category)) == ()


def test_what_is_cordoned_or_only_reached_is_not_looked_at():
    assert list_inspection_commands(answers.culprit()) == ()
    reached = possible()
    suspect = replace(reached.suspects[0], role=Role.AFFECTED)
    assert list_inspection_commands(replace(reached, suspects=(suspect,))) == ()


def test_a_fault_of_the_code_is_looked_at_where_it_is_told():
    """Issue 27: every verdict that names a place ends with a command to type there."""
    assert list_inspection_commands(possible(Category.SOFTWARE_USER)) == (
        "sed -n 792,822p ./nodes/n3/kernel.log",
        "ssh n3 sudo dmesg -T | tail -n 50",
    )


@pytest.mark.parametrize("category", sorted(set(Category) - {Category.NONE}))
def test_a_place_is_never_left_without_a_command(category):
    (first, *_) = build_next_step(possible(category)).commands
    assert first.where in ("n3", "any")
    assert first.why


@pytest.mark.parametrize("category", [Category.HOST_STALL, Category.COLLECTIVE_MISMATCH])
def test_the_stacks_of_the_rank_that_is_waited_for(category):
    (line, *_) = list_inspection_commands(possible(category))
    ssh, node, quoted = shlex.split(line)
    assert (ssh, node) == ("ssh", "n3")
    assert '"^RANK=27$"' in quoted
    assert "py-spy dump" in quoted


def test_a_rank_without_a_node_is_found_first():
    whole = possible(Category.HOST_STALL)
    suspects = tuple(replace(one, node=None) for one in whole.suspects)
    commands = build_next_step(replace(whole, suspects=suspects)).commands
    assert {one.where for one in commands} == {"any"}
    assert commands[0].command == 'sudo grep -lz "^RANK=27$" /proc/[0-9]*/environ'


@pytest.mark.parametrize(
    "artifact",
    [
        "x;reboot",
        "a b.log",
        "../../etc/passwd",
        "-rf",
        "$(id).log",
        "a\nb",
        "`id`",
        "b.log.gz",
        None,
    ],
)
def test_no_command_names_a_strange_file(artifact):
    whole = possible(Category.SOFTWARE_USER)
    reason = Because("job.python", "KeyError", artifact, 3)
    suspects = tuple(replace(one, because=(reason,)) for one in whole.suspects)
    assert list_inspection_commands(replace(whole, suspects=suspects)) == (
        "ssh n3 sudo dmesg -T | tail -n 50",
    )


def test_nobody_named_says_what_to_collect():
    whole = replace(possible(), suspects=(), missing=Missing(kernel_logs=True, dumps=True))
    commands = build_next_step(whole).commands
    assert [one.where for one in commands] == ["any", "any", "login"]
    assert commands[-1].command.startswith("sacct -j 4711 ")


def test_a_healthy_job_has_nothing_to_type():
    assert build_next_step(answers.healthy()).commands == ()


@pytest.mark.parametrize("signature", sorted(ADVICE))
def test_a_line_that_says_more_than_its_category(signature):
    whole = possible(Category.DEPENDENCY)
    verdict = replace(whole.verdict, category=Category.DEPENDENCY, action=Action.FIX_CODE)
    step = build_next_step(replace(whole, verdict=verdict), ["job.other", signature])
    assert step.text.startswith(ADVICE[signature].text)
    assert "a restart alone" not in step.text
    # What the category says, where nothing tells more.
    assert "a restart alone" in build_next_step(replace(whole, verdict=verdict), ["job.other"]).text


def test_shell_lines_are_quoted_once():
    assert format_shell_line(NextCommand("n3", "ibstat", "")) == "ssh n3 ibstat"
    assert format_shell_line(NextCommand("any", "a 'b'", "")) == "a 'b'"
    assert shlex.split(format_shell_line(NextCommand("n3", "a 'b' $c", ""))) == [
        "ssh",
        "n3",
        "a 'b' $c",
    ]


@pytest.mark.parametrize(
    ("confidence", "words"),
    [(0.72, "a cordon asks for 0.9, and this is 0.72"), (0.99, "only its place in its log")],
)
def test_says_why_a_node_is_not_under_cordon(confidence, words):
    whole = answers.culprit()
    verdict = replace(whole.verdict, cordon=(), confidence=confidence)
    assert words in describe_next_step(replace(whole, verdict=verdict))


def test_lines_without_a_time_are_why():
    whole = answers.culprit()
    undated = tuple(
        replace(one, because=tuple(replace(reason, at=None) for reason in one.because))
        for one in whole.suspects
    )
    verdict = replace(whole.verdict, cordon=(), confidence=0.99)
    assert "no clock dates" in describe_next_step(replace(whole, verdict=verdict, suspects=undated))


def test_no_node_is_drained_that_nobody_knows():
    whole = answers.culprit()
    verdict = replace(whole.verdict, cordon=())
    sentence = describe_next_step(replace(whole, verdict=verdict, suspects=()))
    assert sentence.startswith("Find out on which node it was")
    assert "Drain" not in sentence


def test_looks_are_few():
    asked = list_inspection_commands(possible(num=40))
    assert len({look.split()[1] for look in asked}) == MAX_INSPECTED


@pytest.mark.parametrize("node", ["n1; rm -rf /", "-f", "n1\nn2", "", "\u0441loud", "a" * 100])
def test_no_look_at_a_strange_node(node):
    assert list_inspection_commands(possible(node=node)) == ()


def test_a_look_changes_nothing():
    every = [*LOOKS.values(), *(advice.looks for advice in ADVICE.values())]
    told = " ".join(look.command for looks in every for look in looks)
    for word in ("reset", "reboot", "update", "cordon", "clear", "restart", " rm ", ">", ";"):
        assert word not in told


def test_a_connection_is_named_by_its_ends_and_ports():
    whole = possible(Category.NETWORK, num=2)
    reason = Because("job.nccl", "NET/IB: Got async error on mlx5_3:1; see mlx5_3:1 and eth0")
    suspects = tuple(replace(one, because=(reason,)) for one in whole.suspects)
    verdict = replace(whole.verdict, action=Action.CHECK_NETWORK, category=Category.NETWORK)
    assert describe_next_step(replace(whole, suspects=suspects, verdict=verdict)) == (
        "Check links, NICs and switch ports, beginning with the connection between n0 and n1"
        " (mlx5_3:1), before the next start. Bring the missing dumps (ranks 27) and run it again."
    )


def test_a_leaf_switch_is_named_with_the_nodes_behind_it():
    whole = possible(Category.NETWORK, num=3)
    reason = Because("fabric.leaf", "all ends hang on leaf switch leaf01")
    suspects = tuple(replace(one, because=(reason,), role=Role.AFFECTED) for one in whole.suspects)
    verdict = replace(whole.verdict, action=Action.CHECK_NETWORK, category=Category.NETWORK)
    assert describe_next_step(replace(whole, suspects=suspects, verdict=verdict)).startswith(
        "Check links, NICs and switch ports, beginning with leaf switch leaf01 and its ports to"
        " n[0-2], before the next start."
    )


def test_asks_for_what_would_settle_it():
    whole = replace(
        possible(),
        missing=Missing(dumps_of=(27, 28), kernel_logs_of=("n3", "n4"), places=True),
    )
    assert describe_next_step(whole).endswith(
        "Bring the missing dumps (ranks 27-28), the kernel logs of n[3-4] and a job.json with"
        " the nodes and run it again."
    )


def test_asks_for_nothing_when_somebody_is_convicted():
    whole = replace(answers.culprit(), missing=Missing(dumps=True, job_logs=True))
    assert "Bring" not in describe_next_step(whole)


def test_a_strange_node_is_asked_for_on_one_clean_line():
    whole = replace(possible(), missing=Missing(kernel_logs_of=(answers.HOSTILE,)))
    sentence = describe_next_step(whole)
    assert sentence.isprintable()
    assert len(sentence) < 400


def test_a_slow_job_is_never_told_that_nothing_is_to_be_done():
    text = "all ranks wait for their hosts: 210 ms a step"
    part = SlowPart(SlowCause.INPUT_BOUND, (), 210.0, 0.3, 57.6, text)
    whole = replace(answers.healthy(), slow_job=SlowJob(700.0, 1.43, 8, (part,)))
    sentence = describe_next_step(whole)
    assert text in sentence
    assert "slow" in sentence
    assert "Nothing to do" not in sentence
    assert describe_next_step(answers.healthy()) == "Nothing to do."
