"""Which part a suspect names: hits beside near misses, in the words of real logs."""

import pytest

from triage.analysis.facts.part import list_named_parts

XID = "NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus."
PORT = "mlx5_core 0000:1e:00.1 rdma1: TX timeout detected"
FLAP = "ib3: NIC Link is Down"
WATCHDOG = "NETDEV WATCHDOG: rdma1 (mlx5_core): transmit queue 3 timed out"
DISK = "nvme nvme1: Device not ready; aborting reset, CSTS=0x1"
DIMM = (
    "EDAC MC0: 1 CE memory read error on CPU_SrcID#1_MC#2_Chan#2_DIMM#0"
    " (channel:2 slot:0 page:0x002486 offset:0x7dc grain:32 syndrome:0x0) (2 times)"
)
VERBS = "NCCL WARN Call to ibv_reg_mr failed with error Input/output error, on dev mlx5_2:1"
PAIR = "NCCL WARN Call to ibv_modify_qp failed with 110 Connection timed out, on dev mlx5_2:1"
STALL = "3 of its peers have finished all_reduce 7 of mesh_tp (pg 1); this rank issued it"


def suspect(*texts: str, category: str = "gpu", gpus: tuple[str, ...] = ()) -> dict:
    return {
        "category": category,
        "gpus": list(gpus),
        "because": [{"text": text} for text in texts],
    }


@pytest.mark.parametrize(
    ("given", "parts", "codes"),
    [
        pytest.param(suspect(XID), ["GPU 0000:5d:00"], ["XID 79"], id="gpu-of-a-line"),
        pytest.param(
            suspect(STALL, gpus=("0000:2a:00",)), ["GPU 0000:2a:00"], [], id="gpu-of-dumps-alone"
        ),
        pytest.param(
            suspect(XID, gpus=("0000:5d:00",)), ["GPU 0000:5d:00"], ["XID 79"], id="said-twice"
        ),
        pytest.param(suspect(PORT, category="nic"), ["NIC 0000:1e:00.1"], [], id="nic"),
        pytest.param(suspect(FLAP, category="network"), ["NIC ib3"], [], id="interface"),
        pytest.param(suspect(WATCHDOG, category="nic"), ["NIC rdma1"], [], id="queue-of-a-nic"),
        pytest.param(
            suspect(WATCHDOG, PORT, category="nic"), ["NIC rdma1"], [], id="by-name-and-by-address"
        ),
        pytest.param(
            suspect(FLAP, PORT, category="nic"), ["NIC ib3", "NIC 0000:1e:00.1"], [],
            id="another-name-is-another-nic",
        ),
        pytest.param(suspect(VERBS, category="nic"), ["NIC mlx5_2"], [], id="adapter-of-nccl"),
        pytest.param(suspect(PAIR, category="nic"), [], [], id="one-end-of-two-is-not-said-which"),
        pytest.param(
            suspect(DISK.replace("nvme1:", "nvme12:"), category="ssd"), ["disk nvme12"], [],
            id="disk-of-two-digits",
        ),
        pytest.param(suspect(DISK, category="ssd"), ["disk nvme1"], [], id="disk"),
        pytest.param(
            suspect(DIMM, category="host_memory", gpus=("0000:bd:00",)),
            ["DIMM CPU_SrcID#1_MC#2_Chan#2_DIMM#0"], [], id="dimm-not-the-gpu-of-its-rank",
        ),
        pytest.param(
            suspect(STALL, category="host_stall", gpus=("0000:bd:00",)), [], [],
            id="the-seat-of-a-rank-is-no-part",
        ),
        pytest.param(suspect(f"n7 says of it: {XID}"), [], [], id="another-nodes-line"),
        pytest.param(suspect("the job ended"), [], [], id="no-line-that-is-known"),
        pytest.param(suspect(), [], [], id="no-reason"),
        pytest.param({"because": None, "gpus": None}, [], [], id="an-empty-row"),
    ],
)  # fmt: skip
def test_the_part_and_the_codes(given: dict, parts: list[str], codes: list[str]) -> None:
    found = list_named_parts(given)

    assert list(found.parts.values()) == parts
    assert list(found.codes) == codes
    assert found.first == (parts[0] if parts else None)


def test_two_lines_of_one_port_are_one_part_and_another_port_is_another() -> None:
    other = PORT.replace("00.1", "00.0")

    assert len(list_named_parts(suspect(PORT, PORT + " (2 times)", category="nic")).parts) == 1
    assert len(list_named_parts(suspect(PORT, other, category="nic")).parts) == 2
