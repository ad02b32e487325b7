"""Whose a line is: of the rank on it, then of the host on it, then of the folder it lies in."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.job_folders import (
    BUSES,
    GROUP,
    HOSTS,
    KERNELS,
    ended_by,
    facts,
    init_lines,
    kernel,
    node_of,
    said,
    steps,
    traceback,
    watchdogs,
)

ECC = "RuntimeError: CUDA error: uncorrectable ECC error encountered"
XID_79 = "NVRM: Xid (PCI:{}): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
GPUS = {host: list(BUSES) for host in HOSTS}


def acted_on(wire: Any) -> set[str]:
    restart = wire["restart"] or {}
    return {*wire["verdict"]["cordon"], *restart.get("exclude", ())}


@pytest.mark.parametrize("error", [ECC, "ZeroDivisionError: division by zero"])
@pytest.mark.parametrize("folder", HOSTS)
@pytest.mark.parametrize("init", [True, False])
def test_a_merged_log_accuses_nobody_by_its_folder(
    tmp_path: Path, error: str, folder: str, *, init: bool
) -> None:
    lines = [*(init_lines() if init else []), *steps(), *traceback(6, error)]

    wire = said(tmp_path, {**KERNELS, f"nodes/{folder}/slurm-5150.out": lines}, facts())

    assert [(node, ranks) for node, ranks, _ in ended_by(wire)] == [("cn02", [6])]
    assert acted_on(wire) <= {"cn02"}


def test_the_log_of_a_node_in_its_folder_is_still_that_nodes(tmp_path: Path) -> None:
    lines = [*steps(), *traceback(None, ECC)]

    wire = said(tmp_path, {**KERNELS, "nodes/cn03/train.log": lines}, facts())

    assert ended_by(wire)[0][0] == "cn03"


def test_without_a_map_ranks_sit_where_their_own_logs_lie(tmp_path: Path) -> None:
    files = {
        f"nodes/{host}/train.log": [
            *steps(),
            *(traceback(6, ECC) if host == "cn02" else watchdogs(range(4 * k, 4 * k + 4))),
        ]
        for k, host in enumerate(HOSTS)
    }

    wire = said(tmp_path, {**KERNELS, **files}, None)

    assert ended_by(wire)[0][:2] == ("cn02", [6])


def test_a_process_number_places_what_a_launcher_says_in_a_merged_log(tmp_path: Path) -> None:
    lines = [
        *init_lines(),
        *steps(),
        *traceback(None, "KeyError: 'lr'"),
        "E0917 10:00:02.000000 6999 torch/distributed/elastic/multiprocessing/api.py:874] failed"
        " (exitcode: 1) local_rank: 2 (pid: 7010) of binary: /usr/bin/python3",
    ]

    wire = said(tmp_path, {**KERNELS, "nodes/cn01/slurm-5150.out": lines}, facts())

    assert ended_by(wire)[0][:2] == (node_of(10), [10])


@pytest.mark.parametrize("folders", [("cn01", "cn04"), HOSTS])
def test_the_same_bytes_from_several_nodes_belong_to_nobody(
    tmp_path: Path, folders: tuple[str, ...]
) -> None:
    lines = [*steps(), *traceback(None, ECC)]

    wire = said(
        tmp_path, {**KERNELS, **{f"nodes/{one}/job.log": lines for one in folders}}, facts()
    )

    assert ended_by(wire) == []
    assert not acted_on(wire)
    assert wire["verdict"]["category"] == "gpu_hbm"


ENDED = [*steps(), *traceback(None, ECC)]
COPIES = {
    "another head": ("\n", ["#!/bin/bash", "hostname", *ENDED]),
    "another tail": ("\n", [*ENDED, "[end of the output]"]),
    "line ends": ("\r\n", ENDED),
    "its last lines": ("\n", ENDED[9:]),
    "both": ("\r\n", ["#!/bin/bash", *ENDED, "bye"]),
}


@pytest.mark.parametrize(("end", "copy"), COPIES.values(), ids=COPIES)
@pytest.mark.parametrize("known", [True, False])
def test_copies_that_were_cut_or_begun_in_another_way_belong_to_nobody(
    tmp_path: Path, end: str, copy: list[str], *, known: bool
) -> None:
    path = tmp_path / "nodes" / "cn04" / "job.log"
    path.parent.mkdir(parents=True)
    path.write_bytes("".join(f"{line}{end}" for line in copy).encode())

    wire = said(
        tmp_path, {**KERNELS, "nodes/cn01/job.log": [*ENDED, "end"]}, facts() if known else None
    )

    assert ended_by(wire) == []
    assert not acted_on(wire)
    assert wire["verdict"]["category"] == "gpu_hbm"


OWN_LOGS = {
    "another error": [*steps(), *watchdogs(range(12, 16))],
    "the same error at another time": [*steps(-600, -300), *traceback(None, ECC, -299)],
    "the same steps without an error": steps(),
    "steps of another time": [line.replace("0] step", "5] step") for line in steps()] + ENDED[-5:],
}


@pytest.mark.parametrize("lines", OWN_LOGS.values(), ids=OWN_LOGS)
def test_logs_of_two_nodes_that_share_some_lines_are_still_theirs(
    tmp_path: Path, lines: list[str]
) -> None:
    files = {"nodes/cn01/job.log": ENDED, "nodes/cn04/job.log": lines}

    wire = said(tmp_path, {**KERNELS, **files}, facts())

    assert "cn01" in {node for node, _, _ in ended_by(wire)}


def test_copies_of_a_log_with_a_rank_are_that_ranks(tmp_path: Path) -> None:
    lines = [*init_lines(), *steps(), *traceback(14, ECC)]

    wire = said(tmp_path, {**KERNELS, **{f"nodes/{one}/job.log": lines for one in HOSTS}}, facts())

    assert ended_by(wire)[0][:2] == ("cn04", [14])
    assert any("copies" in note for note in wire["coverage"]["notes"])


@pytest.mark.parametrize(("host", "named"), [("cn03", "cn03"), ("CN03.pod7.example", "cn03")])
def test_a_kernel_line_of_another_host_is_that_hosts(tmp_path: Path, host: str, named: str) -> None:
    other = kernel(host, (-0.5, XID_79.format(BUSES[1])))[-1:]
    files = {**KERNELS, "nodes/cn02/kernel.log": [*kernel("cn02"), *other]}

    wire = said(tmp_path, {**files, "job.log": [*steps(), *watchdogs(range(16))]}, facts())

    assert {node for node, _, _ in ended_by(wire)} <= {named}
    assert "cn02" not in acted_on(wire)


def test_a_kernel_line_of_a_stranger_convicts_nobody(tmp_path: Path) -> None:
    other = kernel("st99", (-0.5, XID_79.format(BUSES[1])))[-1:]
    files = {**KERNELS, "nodes/cn02/kernel.log": [*kernel("cn02"), *other]}

    wire = said(tmp_path, {**files, "job.log": [*steps(), *watchdogs(range(16))]}, facts())

    assert ended_by(wire) == []
    assert not acted_on(wire)


@pytest.mark.parametrize("alias", ["ip-10-4-0-3", "localhost", "cn03.pod7.example", "CN03"])
def test_one_name_on_all_lines_is_another_name_of_the_folder(tmp_path: Path, alias: str) -> None:
    lines = kernel(alias, (-0.5, XID_79.format(BUSES[1])))

    wire = said(
        tmp_path,
        {**KERNELS, "nodes/cn03/kernel.log": lines, "job.log": [*steps(), *watchdogs(range(16))]},
        facts(),
    )

    assert wire["verdict"]["cordon"] == ["cn03"]


def test_logs_that_changed_their_folders_are_those_of_their_lines(tmp_path: Path) -> None:
    files = dict(KERNELS)
    files["nodes/cn01/kernel.log"] = kernel("cn02", (-0.5, XID_79.format(BUSES[1])))
    files["nodes/cn02/kernel.log"] = kernel("cn01")

    wire = said(tmp_path, {**files, "job.log": [*steps(), *watchdogs(range(16))]}, facts())

    assert wire["verdict"]["cordon"] == ["cn02"]
    assert any("folder of another node" in note for note in wire["coverage"]["notes"])


@pytest.mark.parametrize("words", ["Xid 79", "traceback"])
def test_a_gpu_that_the_job_does_not_have_stops_nobody(tmp_path: Path, words: str) -> None:
    lines = kernel("cn02", (-20.0, XID_79.format("0000:e1:00")))
    own = traceback(9, "ValueError: too many values to unpack") if words == "traceback" else []
    own = own or watchdogs(range(16))

    wire = said(
        tmp_path,
        {**KERNELS, "nodes/cn02/kernel.log": lines, "job.log": [*steps(), *own]},
        facts(gpu_bus_ids=GPUS),
    )

    assert "cn02" not in {node for node, _, _ in ended_by(wire)} | acted_on(wire)
    if words == "traceback":
        assert ended_by(wire)[0][:2] == ("cn03", [9])


def test_a_gpu_of_the_job_and_a_map_that_is_not_full_still_convict(tmp_path: Path) -> None:
    for bus, listed in ((BUSES[1], GPUS), ("0000:e1:00", {"cn02": list(BUSES[:3])})):
        lines = kernel("cn02", (-0.5, XID_79.format(bus)))
        wire = said(
            tmp_path / bus.replace(":", ""),
            {**KERNELS, "nodes/cn02/kernel.log": lines, "job.log": watchdogs(range(16))},
            facts(gpu_bus_ids=listed),
        )
        assert wire["verdict"]["cordon"] == ["cn02"]


def test_a_process_of_the_job_on_a_gpu_that_is_not_listed_is_the_jobs(tmp_path: Path) -> None:
    text = "NVRM: Xid (PCI:0000:e1:00): 94, pid=7005, name=python3, Contained: SM (0x1)."
    files = {**KERNELS, "nodes/cn02/kernel.log": kernel("cn02", (-0.5, text))}

    wire = said(tmp_path, {**files, "job.log": [*init_lines(), *watchdogs(range(16))]},
                facts(gpu_bus_ids=GPUS))  # fmt: skip

    assert wire["suspects"][0]["node"] == "cn02"


@pytest.mark.parametrize(
    "job",
    [
        facts(nodes=["cn03"], world_size=4),
        facts(nodes=["cn03"], world_size=None, gpus_per_node=None),
        facts(nodes=None, world_size=4, rank_to_node=dict.fromkeys("0123", "cn03")),
    ],
)
def test_a_job_of_one_node_owns_its_log(tmp_path: Path, job: dict[str, Any]) -> None:
    wire = said(tmp_path, {"train.log": [*steps(), *traceback(None, ECC)]}, job)

    assert ended_by(wire)[0][0] == "cn03"


def test_one_host_alone_in_the_prefixes_owns_the_log(tmp_path: Path) -> None:
    lines = [*init_lines(range(4), nranks=4), *steps(), *traceback(None, ECC)]

    assert ended_by(said(tmp_path / "one", {"train.log": lines}, None))[0][0] == "cn01"

    warned = "cn03:7009:8009 [1] NCCL WARN Cuda failure 'unspecified launch failure'"
    more = [*steps(), *traceback(None, ECC), *watchdogs(range(16)), warned]
    assert ended_by(said(tmp_path / "many", {"train.log": more}, None)) == []


@pytest.mark.parametrize("text_first", [True, False])
def test_a_label_never_takes_a_rank_that_the_text_repeats(
    tmp_path: Path, *, text_first: bool
) -> None:
    lines = []
    for rank, line in enumerate(watchdogs(range(16))):
        body = line if text_first else line.partition("]:")[2]
        lines.append(f"{rank // 4}: {body}")

    wire = said(tmp_path, {"slurm-5150.out": lines}, facts())

    assert 0 not in {rank for one in wire["suspects"] for rank in one["ranks"]}
    assert wire["verdict"]["kind"] == "hang"


def test_a_label_alone_is_its_nodes_launcher(tmp_path: Path) -> None:
    lines = [f"{k}: {line}" for k in (0, 1, 3) for line in watchdogs(range(4 * k, 4 * k + 4))]
    lines += [f"2: {line}" for line in (*traceback(8, ECC), "ValueError: bad")]

    wire = said(tmp_path, {"slurm-5150.out": lines}, facts())

    assert ended_by(wire)[0][:2] == ("cn03", [8])


def test_who_is_named_by_a_number_alone_is_named_and_left_in(tmp_path: Path) -> None:
    lines = [*steps(), *traceback(6, ECC)]
    alone = said(tmp_path / "alone", {"train.log": lines}, facts())
    agreed = said(tmp_path / "agreed", {"train.log": [*init_lines(), *lines]}, facts())

    assert ended_by(alone)[0][:2] == ended_by(agreed)[0][:2] == ("cn02", [6])
    assert not acted_on(alone)
    assert acted_on(agreed) == {"cn02"}


def test_a_map_that_the_processes_contradict_moves_nobody_out(tmp_path: Path) -> None:
    swapped = {str(rank): node_of(15 - rank) for rank in range(16)}
    lines = [*init_lines(), *steps(), *traceback(6, ECC)]

    wire = said(tmp_path, {"train.log": lines}, facts(nodes=None, rank_to_node=swapped))

    assert not acted_on(wire)


@pytest.mark.parametrize("prefix", ["", "[default2]:", "[rank6]: ", "[default2]:[rank6]: "])
def test_a_suspect_has_no_rank_that_the_map_puts_elsewhere(tmp_path: Path, prefix: str) -> None:
    """A launcher names its host itself; on which node its rank sits is said otherwise."""
    swapped = {str(rank): node_of(15 - rank) for rank in range(16)}
    right = {str(rank): node_of(rank) for rank in range(16)}
    report = [
        "Root Cause (first observed failure):", "[0]:", "  time      : 2026-09-17_10:00:01",
        "  host      : cn02", "  rank      : 6 (local_rank: 2)", "  exitcode  : 1 (pid: 7006)",
        "  error_file: <N/A>",
    ]  # fmt: skip
    lines = [*init_lines(range(4, 8)), *steps(), f"{prefix}{traceback(None, ECC)[-1]}", *report]
    for name, homes in (("right", right), ("swapped", swapped)):
        files = {**KERNELS, "nodes/cn02/train.log": lines}
        suspects = ended_by(said(tmp_path / name, files, facts(rank_to_node=homes)))
        assert suspects
        for node, ranks, _ in suspects:
            assert {homes[str(rank)] for rank in ranks} <= {node}
        if name == "right":
            assert suspects[0][:2] == ("cn02", [6])


LABELS = {
    "[9]: ": "[{rank}]: ",
    "[9] ": "[{rank}] ",
    "<9>:": "<{rank}>:",
    "9: ": "{rank}: ",
    "mpirun --tag-output": "[1,{rank}]<stderr>: ",
    "Ray": "(TrainWorker pid={rank}, ip=10.0.0.{k}) ",
    "pod": "trainer-{k}-0: ",
    "kubectl": "trainer-{k}-0 pytorch ",
    "kubectl logs --prefix": "[pod/trainer-{k}-0/pytorch] ",
    "compose": "worker-{k}  | ",
    "another name": "gx-101-{k}: ",
    "pdsh by address": "10.0.0.{k}: ",
}


def labelled(form: str, rank: int, line: str) -> str:
    """A line of a rank behind the label of what gathered it."""
    return form.format(rank=rank, k=rank // GROUP + 1) + line


def gathered(form: str) -> list[str]:
    """Steps of all ranks, one by one, behind their labels."""
    return [
        labelled(form, rank, line) for line in steps(-300, 0, 30) for rank in range(len(HOSTS) * 4)
    ]


def failing_behind(form: str, *, throughout: bool) -> list[str]:
    """A log in which rank 10, on the third node, fails; all lines or its last words alone bear a
    label.
    """
    lines = gathered(form) if throughout else steps()
    return lines + [labelled(form, 10, line) for line in traceback(None, ECC)[1:]]


# An address on a few lines alone may be anything.
ON_FEW_LINES = {name: form for name, form in LABELS.items() if name != "pdsh by address"}


@pytest.mark.parametrize(
    ("form", "throughout"),
    [*((one, True) for one in LABELS.values()), *((one, False) for one in ON_FEW_LINES.values())],
)
def test_the_folder_of_a_merged_log_says_nothing_of_a_label(
    tmp_path: Path, form: str, *, throughout: bool
) -> None:
    lines = failing_behind(form, throughout=throughout)

    wire = said(tmp_path, {**KERNELS, "nodes/cn01/job.log": lines}, facts())

    named = [(node, ranks) for node, ranks, _ in ended_by(wire)]
    assert named == ([("cn03", [10])] if "{rank}" in form and "Worker" not in form else [])
    assert not acted_on(wire)
    assert wire["verdict"]["category"] == "gpu_hbm"


@pytest.mark.parametrize("form", LABELS.values(), ids=LABELS)
def test_without_a_map_the_folder_of_a_merged_log_is_not_accused(tmp_path: Path, form: str) -> None:
    files = {"nodes/cn01/job.log": failing_behind(form, throughout=True)}

    wire = said(tmp_path, {**KERNELS, **files}, None)

    assert {node for node, _, _ in ended_by(wire)} & {*HOSTS} == set()
    assert acted_on(wire) & {*HOSTS} == set()
    assert wire["verdict"]["category"] == "gpu_hbm"


@pytest.mark.parametrize(
    "form", ["{rank}: ", "[{rank}]: ", "[{local}]: ", "{local}: ", "pod-{k}: "]
)
def test_labels_in_the_log_of_each_node_leave_it_that_nodes(tmp_path: Path, form: str) -> None:
    files = {}
    for k, host in enumerate(HOSTS):
        ranks = range(GROUP * k, GROUP * (k + 1))
        heads = [form.format(rank=rank, local=rank % GROUP, k=k) for rank in ranks]
        lines = [head + line for line in steps(-300, 0, 30) for head in heads]
        words = watchdogs(ranks) if host != "cn03" else [ECC] * 4
        lines += [
            head + word.partition("]:")[2] if host != "cn03" else head + word
            for head, word in zip(heads, words, strict=True)
        ][: 4 if host != "cn03" else 1]
        files[f"nodes/{host}/job.log"] = lines

    wire = said(tmp_path, {**KERNELS, **files}, facts())

    assert [node for node, _, _ in ended_by(wire)] == ["cn03"]


ENDS = {
    "one task": ["srun: error: cn03: task 9: Exited with exit code 1"],
    "several": [
        "srun: error: cn03: tasks 8-11: Exited with exit code 1",
        "srun: error: cn01: tasks 0-3: Terminated",
    ],
    "killed": ["srun: error: cn03: task 9: Segmentation fault (core dumped)"],
}


@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize("kernels", [True, False])
@pytest.mark.parametrize("folder", ["cn01", "cn03"])
def test_a_log_whose_launcher_names_other_hosts_is_merged(
    tmp_path: Path, ends: list[str], folder: str, *, known: bool, kernels: bool
) -> None:
    files = {f"nodes/{folder}/slurm-5150.out": [*steps(), *traceback(None, ECC), *ends]}

    wire = said(tmp_path, {**(KERNELS if kernels else {}), **files}, facts() if known else None)

    assert {node for node, _, _ in ended_by(wire)} <= {"cn03"}
    assert acted_on(wire) <= {"cn03"}
    if folder == "cn03" and len(ends) == 1:
        assert ended_by(wire)[0][0] == "cn03"


WARNED = "NCCL WARN Cuda failure 'uncorrectable ECC error encountered'"


@pytest.mark.parametrize("label", ["3: ", "[3]: ", "[1,3]<stdout>: "])
@pytest.mark.parametrize("init", [True, False])
@pytest.mark.parametrize(
    ("process", "named"),
    [("cn03:7009:8009 [1]", ("cn03", [9])), ("cn01:7003:8003 [3]", ("cn01", [3]))],
)
def test_the_host_that_a_process_prints_outweighs_the_label_before_it(
    tmp_path: Path, label: str, process: str, named: tuple[str, list[int]], *, init: bool
) -> None:
    lines = [f"{k}: {line}" for k, line in enumerate(init_lines())] if init else []
    lines += [f"{rank}: {line}" for line in steps(-300, 0, 30) for rank in range(16)]

    wire = said(tmp_path, {**KERNELS, "slurm.out": [*lines, f"{label}{process} {WARNED}"]}, facts())

    assert ended_by(wire)[0][:2] == named


SEL = "3 | 09/17/2026 | 10:00:01 UTC | Processor CPU_2_Status | Uncorrectable machine check exception | Asserted"  # noqa: E501


@pytest.mark.parametrize(
    ("name", "node"),
    [
        ("bmc/cn02.sel", "cn02"),
        ("ilo/cn02-ilo.csv", "cn02"),
        ("idrac-cn02.txt", "cn02"),
        ("bmc/rack7.sel", None),
        ("bmc/cn021.sel", None),
    ],
)
@pytest.mark.parametrize("job", [True, False], ids=["a job's map", "kernels alone"])
def test_a_file_is_of_the_node_that_its_name_is(
    tmp_path: Path, name: str, node: str | None, *, job: bool
) -> None:
    logs = {f"{host}/kernel.log": kernel(host) for host in HOSTS}
    files = {**logs, name: [SEL], "job.log": steps()}
    wire = said(tmp_path, files, facts() if job else None)
    suspects = [one["node"] for one in wire["suspects"] if one["category"] == "cpu"]
    assert suspects == ([] if node is None else [node])
