"""The GPU that does not spin while the others of the job do."""

from dataclasses import replace

import pytest

from triage.analysis.live.case import LiveCase
from triage.analysis.live.detectors.gpus import find_odd_gpus
from triage.analysis.placement.identity import JobPlacement
from triage.domain.category import Category, Role
from triage.domain.live.look import GpuSample, Look, Tool
from triage.report import analyze

S, Z, W, U = "spins", "idle", "works", "unclear"
SHOWN = {S: (100, 0, 232), Z: (0, 0, 119), W: (97, 55, 640), U: (40, 2, 300)}
SECOND = 1_000_000_000
T0 = 1_790_000_000 * SECOND


def look(node, does, at_s=None, name=None):
    """``does`` is a word for each GPU of a node."""
    at_ns = None if at_s is None else T0 + at_s * SECOND
    gpus = tuple(
        GpuSample(
            node, index, utilisation_percent=SHOWN[word][0], memory_percent=SHOWN[word][1],
            power_w=SHOWN[word][2], power_limit_w=700, at_ns=at_ns, line=index + 2,
        )
        for index, word in enumerate(does)
    )  # fmt: skip
    return Look(name or f"{node}-{at_s}.csv", Tool.GPU_STATE, gpus=gpus)


def placed(*nodes, per_node=8):
    ranks = {k * per_node + i: (node, i) for k, node in enumerate(nodes) for i in range(per_node)}
    return JobPlacement(
        node_by_rank={rank: node for rank, (node, _) in ranks.items()},
        rank_by_local={seat: rank for rank, seat in ranks.items()},
        seated=frozenset(nodes),
    )


def found(*looks, fleet=None):
    return list(find_odd_gpus(LiveCase(looks, fleet or JobPlacement())))


def twice(node, does):
    return look(node, does, 0), look(node, does, 30)


def test_names_the_rank_whose_gpu_idles():
    (one,) = found(*twice("n0", [S] * 8), *twice("n1", [S] * 5 + [Z] + [S] * 2),
                   fleet=placed("n0", "n1"))  # fmt: skip
    assert (one.ranks, one.role, one.strength) == ((13,), Role.POSSIBLE, 0.6)
    assert "idles" in one.summary
    assert "GPU 5 of n1 (rank 13) in two looks: 0 % utilisation" in one.because[0].text


def test_one_look_is_worth_less():
    (one,) = found(look("n0", [S] * 7 + [Z], 0), fleet=placed("n0"))
    assert one.strength == 0.4


def test_a_gpu_that_works_on_is_waited_for_too():
    (one,) = found(*twice("n0", [S] * 7 + [W]), fleet=placed("n0"))
    assert one.ranks == (7,)
    assert "works on" in one.summary


def test_without_ranks_the_node_is_named():
    (one,) = found(*twice("n0", [S] * 7 + [Z]))
    assert (one.ranks, one.nodes) == ((), ("n0",))
    assert "GPU 7 idles" in one.summary


def test_a_whole_node_of_the_job_may_idle():
    (one,) = found(*twice("n0", [S] * 8), *twice("n1", [Z] * 8), fleet=placed("n0", "n1"))
    assert one.ranks == tuple(range(8, 16))


def test_gpus_of_several_nodes_are_no_stall_of_one_host():
    nodes = [f"n{k}" for k in range(4)]
    looks = [one for node in nodes for one in twice(node, [S] * 7 + [Z if node < "n2" else S])]
    (one,) = found(*looks, fleet=placed(*nodes))
    assert (one.ranks, one.category) == ((7, 15), Category.NCCL_TIMEOUT)
    (one,) = found(*twice("n0", [S] * 7 + [Z]), fleet=placed("n0"))
    assert one.category == Category.HOST_STALL


def test_all_spin_is_nobodys_device():
    (one,) = found(*twice("n0", [S] * 8), fleet=placed("n0"))
    assert (one.ranks, one.nodes) == ((), ())
    assert "none of them" in one.summary


@pytest.mark.parametrize(
    ("looks", "fleet"),
    [
        pytest.param([*twice("n0", [W] * 8)], None, id="all compute"),
        pytest.param([*twice("n0", [W] * 7 + [Z])], None, id="all compute, and one is not used"),
        pytest.param([*twice("n0", [Z] * 8)], None, id="nothing runs"),
        pytest.param([look("n0", [S] * 8, 0)], None, id="all spin for the blink of an eye"),
        pytest.param([*twice("n0", [S, S, S, W, W, Z, Z, U])], None, id="mixed"),
        pytest.param([*twice("n0", [Z])], None, id="a single GPU"),
        pytest.param([*twice("n0", [S, S, Z])], None, id="too few spin"),
        pytest.param([look("n0", [S] * 7 + [Z], 0), look("n0", [S] * 7 + [W], 30)], None,
                     id="it moved"),
        pytest.param([look("n0", [W] * 7 + [Z], 0), look("n0", [S] * 7 + [Z], 30)], None,
                     id="the others moved"),
        pytest.param([*twice("n0", [S] * 7 + [Z]), *twice("n1", [S] * 7 + [Z]),
                      *twice("n2", [S] * 7 + [Z])], None, id="the same GPU of each node is free"),
        pytest.param([*twice("n0", [S] * 5 + [U] * 3)], None, id="too much is unclear"),
    ],
)  # fmt: skip
def test_is_silent(looks, fleet):
    assert found(*looks, fleet=fleet) == []


@pytest.mark.parametrize(
    ("looks", "fleet"),
    [
        pytest.param([*twice("n0", [S] * 8), *twice("n1", [Z] * 8)], None,
                     id="an idle node that nothing seats"),
        pytest.param([*twice("n0", [S] * 8), *twice("n9", [S] * 7 + [Z])], placed("n0"),
                     id="a node that is not the job's"),
        pytest.param([*twice("n0", [S] * 4 + [Z] * 4)], placed("n0", per_node=4),
                     id="GPUs without a rank of the job"),
    ],
)  # fmt: skip
def test_what_is_not_the_jobs_is_not_odd(looks, fleet):
    (one,) = found(*looks, fleet=fleet)
    assert (one.ranks, one.nodes) == ((), ())
    assert "none of them" in one.summary


def test_two_samples_of_a_second_are_one_look():
    assert found(look("n0", [S] * 7 + [Z], 0), look("n0", [S] * 7 + [Z], 1))[0].strength == 0.4


def test_two_files_without_a_time_are_two_looks():
    looks = [look("n0", [S] * 7 + [Z], name=f"look-{k}.csv") for k in (1, 2)]
    assert found(*looks)[0].strength == 0.6
    assert found(*reversed(looks)) == found(*looks)


def addressed(numbered, *, index):
    """The same look by a tool that prints addresses, beside the numbers or without."""
    gpus = [
        replace(one, bus_id=f"0000:{one.index + 16:02x}:00", index=one.index if index else None)
        for one in numbered.gpus
    ]
    return replace(numbered, gpus=tuple(gpus))


def test_an_address_and_a_number_may_be_one_gpu():
    first, later = twice("n0", [S] * 7 + [Z])
    looks = [addressed(first, index=True), addressed(later, index=False)]
    (one,) = found(*looks, fleet=placed("n0"))
    assert (one.strength, one.ranks) == (0.6, (7,))


HEAD = "index, pci.bus_id, utilization.gpu [%], utilization.memory [%], power.draw [W]\n"


def table(does, stamp=None):
    rows = []
    for index, word in enumerate(does):
        load, memory, power = SHOWN[word]
        row = f"{index}, 00000000:{index + 16:02X}:00.0, {load} %, {memory} %, {power}.00 W"
        rows.append(f"{stamp}, {row}" if stamp else row)
    return ("timestamp, " if stamp else "") + HEAD + "\n".join(rows) + "\n"


def write(folder, node, name, text):
    (folder / "nodes" / node).mkdir(parents=True, exist_ok=True)
    (folder / "nodes" / node / name).write_text(text)


@pytest.mark.parametrize("stamped", [False, True])
def test_the_whole_answer_points_at_the_odd_one(tmp_path, stamped):
    (tmp_path / "job.json").write_text('{"nodes": ["n0", "n1"], "gpus_per_node": 8}')
    for minute in (1, 4):
        stamp = f"2026/11/24 03:0{minute}:00.000" if stamped else None
        name = f"smi_20261124_030{minute}00.csv"
        write(tmp_path, "n0", name, table([S] * 8, stamp))
        write(tmp_path, "n1", name, table([S] * 2 + [Z] + [S] * 5, stamp))
    answer = analyze(tmp_path).answer
    assert answer.verdict.kind == "hang"
    assert [(one.node, one.ranks, one.role) for one in answer.suspects] == [
        ("n1", (10,), Role.POSSIBLE)
    ]
    assert answer.verdict.cordon == ()
    assert answer.suspects[0].because[0].artifact.startswith("nodes/n1/")


@pytest.mark.parametrize("does", [[W] * 8, [W] * 7 + [Z], [Z] * 8])
def test_the_whole_answer_accuses_nobody_of_a_job_that_works(tmp_path, does):
    for minute in (1, 4):
        name = f"smi_20261124_030{minute}00.csv"
        write(tmp_path, "n0", name, table(does, f"2026/11/24 03:0{minute}:00.000"))
    assert analyze(tmp_path).answer.suspects == ()
