"""Logs of which only the consequences are left: what they speak of, and nobody convicted."""

from pathlib import Path

import pytest

from triage import analyze


def verdict(folder: Path, text: str, name: str = "job.log") -> tuple[str, str, list[str]]:
    """Category, kind and the roles of the suspects of one log."""
    (folder / name).write_text(text)
    report = analyze(folder).to_dict()
    said = report["verdict"]
    return said["category"], said["kind"], [one["role"] for one in report["suspects"]]


@pytest.mark.parametrize(
    ("text", "category"),
    [
        (
            "[W socket.cpp:697] [c10d] The client socket has failed to connect to [n7]:29500"
            " (errno: 113 - No route to host).\n",
            "network",
        ),
        (
            "n1:81:90 [0] NCCL WARN NET/IB : Got completion from peer 10.9.1.2<7> with error 10,"
            " opcode 1, len 9, vendor err 136 (Send)\n",
            "dependency",
        ),
        (
            '  File "/x/training_args.py", line 2012, in main_process_first\n'
            "RuntimeError: [6] is setting up NCCL communicator and retrieving ncclUniqueId from"
            " [0] via c10d key-value store by key '0', but store->get('0') got error: Socket"
            " Timeout\n",
            "host_stall",
        ),
    ],
)
def test_a_consequence_says_of_what(text: str, category: str, tmp_path: Path) -> None:
    said, _, roles = verdict(tmp_path, text)
    assert said == category
    assert "culprit" not in roles


def test_a_driver_that_dumps_its_rpc_history_had_lost_the_gsp(tmp_path: Path) -> None:
    """A ring of a few lines keeps the table behind the Xid, and not the Xid."""
    text = (
        "[177054.434423] NVRM: GPU6 RPC event history (CPU <- GSP):\n"
        "[177054.434431] NVRM:     -3    4124 GSP_LOCKDOWN_NOTICE   0 0x0000000000000001"
        " 0x0000000000000002 0x0004f5e0468016b3 0x0004f5e0468016b3\n"
    )
    said, _, roles = verdict(tmp_path, text, "kernel.log")
    assert said == "gpu_gsp"
    assert "culprit" not in roles


@pytest.mark.parametrize(
    "text",
    [
        # A refused connection is a store that is not there.
        "[W socket.cpp:697] [c10d] The client socket has failed to connect to [n7]:29500 (errno:"
        " 111 - Connection refused).\n",
        # Whoever gave up waiting is stopped, and loses the store, without any cause of their own.
        "[rank1]:[E] [PG 0 Rank 1] Watchdog caught collective operation timeout:"
        " WorkNCCL(SeqNum=77, OpType=ALLREDUCE, NumelIn=8, NumelOut=8, Timeout(ms)=600000) ran for"
        " 600012 milliseconds before timing out.\n"
        "torch.distributed.DistNetworkError: The client socket has timed out after 600000ms while"
        " trying to connect to (10.1.0.4, 29500).\n"
        "slurmstepd: error: *** STEP 9.0 ON n1 CANCELLED AT 2026-01-10T15:27:25 ***\n",
    ],
)
def test_what_follows_from_any_stop_says_nothing(text: str, tmp_path: Path) -> None:
    said, _, roles = verdict(tmp_path, text)
    assert said == "nccl_timeout"
    assert not roles


def test_beside_a_root_a_consequence_is_not_heard(tmp_path: Path) -> None:
    text = (
        "[rank3]: torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 3"
        " has a total capacity of 79.10 GiB of which 1.06 GiB is free.\n"
        "[W socket.cpp:697] [c10d] The client socket has failed to connect to [n7]:29500 (errno:"
        " 110 - Connection timed out).\n"
    )
    assert verdict(tmp_path, text)[0] == "gpu_oom"


def test_an_outcry_without_place_follows_from_the_one_cause(tmp_path: Path) -> None:
    way_back = (
        "n13:1050:1316 [0] NCCL INFO include/net.h:263 -> 2\n"
        "n13:1050:1316 [0] NCCL INFO transport/net.cc:1773 -> 2\n"
        "ncclSystemError: System call (socket, malloc, munmap, etc) failed\n"
    )
    warning = (
        "n13:1050:1316 [0] transport/net_ib.cc:94 NCCL WARN NET/IB : Got async event : port error\n"
    )
    assert verdict(tmp_path, warning + way_back)[0] == "network"
    # The way back through NCCL's files tells where an error passed, not what it was.
    assert verdict(tmp_path, way_back)[0] == "nccl_timeout"
    bare = "ncclSystemError: System call (socket, malloc, munmap, etc) failed\n"
    assert verdict(tmp_path, bare)[0] == "nccl_timeout"
