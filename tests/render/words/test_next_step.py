"""Next step: a sentence for each action, and commands that are safe to paste."""

from dataclasses import replace

import pytest

from tests.render import answers
from triage.domain.category import Action, Category, Role, VerdictKind
from triage.domain.report import Because, Missing
from triage.render.words.next_step import (
    _INSPECTIONS,
    MAX_INSPECTED,
    cordon_commands,
    inspection_commands,
    next_step,
)


@pytest.mark.parametrize("category", [Category.GPU, Category.HOST_OOM, Category.NUMERICAL])
@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("build", [answers.culprit, answers.tie, answers.healthy])
def test_every_action_reads_as_a_sentence(action, build, category):
    whole = build()
    verdict = replace(whole.verdict, action=action, category=category)
    sentence = next_step(replace(whole, verdict=verdict))
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
    assert next_step(replace(whole, verdict=verdict)) == f"{words} a restart alone will stop again."


def test_nobody_named_is_nobody_drained():
    whole = answers.culprit()
    verdict = replace(whole.verdict, action=Action.INVESTIGATE, cordon=())
    assert next_step(replace(whole, suspects=(), verdict=verdict)) == (
        "No node is named, so none has to leave the pool on this."
    )


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
    assert inspection_commands(possible(category))[0] == look
    assert cordon_commands(possible(category)) == ()


def test_what_is_cordoned_or_only_reached_is_not_looked_at():
    assert inspection_commands(answers.culprit()) == ()
    reached = possible()
    suspect = replace(reached.suspects[0], role=Role.AFFECTED)
    assert inspection_commands(replace(reached, suspects=(suspect,))) == ()


def test_a_fault_of_the_code_asks_for_no_look():
    assert inspection_commands(possible(Category.SOFTWARE_USER)) == ()


def test_looks_are_few():
    asked = inspection_commands(possible(num=40))
    assert len({look.split()[1] for look in asked}) == MAX_INSPECTED


@pytest.mark.parametrize("node", ["n1; rm -rf /", "-f", "n1\nn2", "", "\u0441loud", "a" * 100])
def test_no_look_at_a_strange_node(node):
    assert inspection_commands(possible(node=node)) == ()


def test_a_look_changes_nothing():
    told = " ".join(look for every in _INSPECTIONS.values() for look in every)
    for word in ("reset", "reboot", "update", "cordon", "clear", "restart", " rm ", ">", ";"):
        assert word not in told


def test_a_connection_is_named_by_its_ends_and_ports():
    whole = possible(Category.NETWORK, num=2)
    reason = Because("job.nccl", "NET/IB: Got async error on mlx5_3:1; see mlx5_3:1 and eth0")
    suspects = tuple(replace(one, because=(reason,)) for one in whole.suspects)
    verdict = replace(whole.verdict, action=Action.CHECK_NETWORK, category=Category.NETWORK)
    assert next_step(replace(whole, suspects=suspects, verdict=verdict)) == (
        "Check links, NICs and switch ports, beginning with the connection between n0 and n1"
        " (mlx5_3:1), before the next start. Bring the missing dumps (ranks 27) and run it again."
    )


def test_a_leaf_switch_is_named_with_the_nodes_behind_it():
    whole = possible(Category.NETWORK, num=3)
    reason = Because("fabric.leaf", "all ends hang on leaf switch leaf01")
    suspects = tuple(replace(one, because=(reason,), role=Role.AFFECTED) for one in whole.suspects)
    verdict = replace(whole.verdict, action=Action.CHECK_NETWORK, category=Category.NETWORK)
    assert next_step(replace(whole, suspects=suspects, verdict=verdict)).startswith(
        "Check links, NICs and switch ports, beginning with leaf switch leaf01 and its ports to"
        " n[0-2], before the next start."
    )


def test_asks_for_what_would_settle_it():
    whole = replace(
        possible(),
        missing=Missing(dumps_of=(27, 28), kernel_logs_of=("n3", "n4"), places=True),
    )
    assert next_step(whole).endswith(
        "Bring the missing dumps (ranks 27-28), the kernel logs of n[3-4] and a job.json with"
        " the nodes and run it again."
    )


def test_asks_for_nothing_when_somebody_is_convicted():
    whole = replace(answers.culprit(), missing=Missing(dumps=True, job_logs=True))
    assert "Bring" not in next_step(whole)


def test_a_strange_node_is_asked_for_on_one_clean_line():
    whole = replace(possible(), missing=Missing(kernel_logs_of=(answers.HOSTILE,)))
    sentence = next_step(whole)
    assert sentence.isprintable()
    assert len(sentence) < 400
