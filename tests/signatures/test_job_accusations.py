"""Whom a job's line is about: the rank that computed, the end of a connection, or nobody.

Each table has lines in the words of real tools beside lines that come close to them.
"""

import pytest

from triage.domain.evidence import Blame, Trait
from triage.signatures import registry
from triage.signatures.registry import Match


def read(line: str) -> Match | None:
    """The first match of ``line`` with the lines behind it."""
    first, *after = line.split("\n")
    return registry.match(first, after)


def role_of(found: Match | None) -> str:
    """Role, with ``weak`` for a weak root; ``none`` for a line that nothing knows."""
    if found is None:
        return "none"
    role = str(found.reading.role or found.signature.role)
    weak = found.signature.weak if found.reading.weak is None else found.reading.weak
    return "weak" if role == "root" and weak else role


def category_of(found: Match) -> str | None:
    category = found.reading.category or found.signature.category
    return None if category is None else str(category)


def peer_of(found: Match) -> str | None:
    return found.reading.peer or found.found.groupdict().get("peer")


def traits_of(found: Match) -> frozenset[Trait]:
    return found.signature.traits if found.reading.traits is None else found.reading.traits


# line, the rank whose numbers are wrong, role
COMPUTED_BY = [
    (
        "rank 0: checksum of bucket 7 from rank 13 does not match (0x1f, expected 0x2f)",
        "13",
        "root",
    ),
    ("rank 5 reports that rank 17 returned another checksum: hash mismatch", "17", "root"),
    (
        "[rank0]: weights checksum mismatch: rank 21 has 5f2e, all other ranks have 77aa",
        "21",
        "root",
    ),
    ("Hash of parameters differs on rank 6: 1234, and 1235 on 7 other ranks", "6", "root"),
    ("checksum of rank 9's parameters differs from rank 0", "9", "weak"),
    ("gradient checksum differs from rank 0 on rank 9", "9", "weak"),
    ("param hash of dp rank 3 (global rank 27) != majority: hash mismatch", "27", "root"),
    ("rank 4: param hash differs from the majority", "4", "root"),
    ("replay of step 90 on rank 12 differs from the first run", "12", "root"),
    ("rerun of iteration 900 on rank 5 not bitwise reproducible (2.1134 vs 2.1187)", "5", "root"),
    ("NaN of rank 5: the step was rerun on a spare GPU and is finite there", "5", "root"),
    ("NaN in the unreduced gradients of rank 12", "12", "weak"),
    ("non-finite loss: only rank 12 has nan", "12", "weak"),
    ("loss of rank 12 is nan, other 63 ranks are finite", "12", "weak"),
    ("activations on rank 9 contain NaN although inputs and weights are finite", "9", "weak"),
    ("rank 37 local grad norm is nan, global ranks 0-36,38-63 finite", "37", "weak"),
    ("optimizer state of rank 3 differs from its data-parallel peers", "3", "root"),
    ("rank 9 produced non-finite gradients before all_reduce (layer 22)", "9", "weak"),
]


@pytest.mark.parametrize(("line", "rank", "role"), COMPUTED_BY)
def test_accuses_the_rank_that_computed(line: str, rank: str, role: str) -> None:
    found = read(line)

    assert found is not None
    assert category_of(found) == "sdc"
    assert found.reading.fields.get("of_rank") == rank
    assert role_of(found) == role


@pytest.mark.parametrize(
    "line",
    [
        "rerun of step 310 reproduced the NaN on every rank: the model diverges",
        "replayed step 12: the NaN is reproduced on all ranks",
        "RuntimeError: NaN in loss, all data-parallel replicas agree",
        "First rerun: unexpected result is reproducible within the tolerance (nan = nan)",
    ],
)
def test_what_comes_again_or_on_all_ranks_is_numerical(line: str) -> None:
    found = read(line)

    assert found is not None
    assert category_of(found) == "numerical"
    assert "of_rank" not in found.reading.fields


@pytest.mark.parametrize(
    "line",
    [
        "checksum mismatch across data-parallel replicas at step 9",
        "parameter hashes do not match across 64 ranks",
    ],
)
def test_a_report_about_all_replicas_accuses_nobody(line: str) -> None:
    found = read(line)

    assert found is not None
    assert found.reading.blame is Blame.NOBODY


@pytest.mark.parametrize(
    ("line", "gpu"),
    [
        ("bitwise test bd-05: 1 step: output differs from reference on device 2", "2"),
        ("Output differs from reference, checksum 0x1f2e != 0x1f2f on GPU 3", "3"),
        (
            "A memory mismatch was detected on GPU 5, but no error was reported by CUDA or NVML.",
            "5",
        ),
        ("gpu_memtest: GPU 2: detected 17 miscompares at 0x7f12", "2"),
        ("        GPU 3: FAULTY", "3"),
    ],
)
def test_a_test_of_a_gpu_accuses_that_gpu(line: str, gpu: str) -> None:
    found = read(line)

    assert found is not None
    assert category_of(found) == "sdc"
    named = found.reading.fields.get("cuda_device") or found.found.groupdict().get("cuda_device")
    assert named == gpu


@pytest.mark.parametrize(
    "line",
    [
        "checksum verified for all 64 ranks at step 900",
        "SDC scan complete: 0 mismatches",
        "rank 3: param checksum 0xabc matches majority",
        "0 miscompares on GPU 3",
        "        GPU 3: OK",
        "# Out of bounds values : 0 OK",
        "the config differs from the reference in 3 keys",
        "sha256 checksum mismatch of /data/shard-3.tar",
        "only rank 0 logs",
        "rank 3: no NaN found in local grads before all-reduce",
        "rank 3 found 0 NaN in 128 tensors before reduce",
        "Exiting with code 16: need to rerun on a different GPU to decide if it is correct",
        "bitwise test bd-04: 1 step: output equals reference, checksum 0x51c2",
    ],
)
def test_numbers_that_are_right_accuse_nobody(line: str) -> None:
    found = read(line)

    assert found is None or category_of(found) != "sdc"


# line, the end that it names, role
OTHER_END = [
    (
        "n3:12:23 [3] NCCL WARN socketProgress: Connection closed by remote peer n7.cluster<41234>",
        "n7.cluster",
        "consequence",
    ),
    (
        "transport/net_socket.cc:571 NCCL WARN NET/Socket : peer 10.0.0.7<54321> message truncated"
        " : receiving 8 bytes instead of 4",
        "10.0.0.7",
        "consequence",
    ),
    (
        "RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:534] Connection"
        " closed by peer [10.2.0.3]:6120",
        "10.2.0.3",
        "consequence",
    ),
    ("Read error [fe80::9]:12345: Connection reset by peer", "fe80::9", "consequence"),
    (
        "[../third_party/gloo/gloo/transport/tcp/pair.cc:589] Read error [10.2.0.4]:41230: No"
        " route to host",
        "10.2.0.4",
        "weak",
    ),
    (
        "net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.7<41234> with"
        " status=12 opcode=0 len=0 vendor err 129 (Recv)",
        "10.0.0.7",
        "weak",
    ),
    (
        "net_ib.cc:1295 NCCL WARN NET/IB : Got completion from peer 10.0.0.7<41234> with"
        " status=5 opcode=0 len=0 vendor err 244 (Recv)",
        "10.0.0.7",
        "consequence",
    ),
    (
        "efa_rdm_txe_handle_error():683<warn> err: 113, message: Unresponsive remote My host id:"
        " i-0aaa Peer host id: i-0bbb",
        "i-0bbb",
        "weak",
    ),
    (
        "  [7] finished collective #182, but didn't join collective #183 (count from 1)",
        "rank 7",
        "consequence",
    ),
    (
        "requests to rank 7 (10.0.0.7:5555): connection closed by remote host",
        "rank 7",
        "consequence",
    ),
    (
        "NCCL WARN bootstrapRecv: peer 10.0.0.7<41000> closed the connection",
        "10.0.0.7",
        "consequence",
    ),
    ("rdma_cm: RDMA_CM_EVENT_UNREACHABLE from 10.0.0.7, status -110", "10.0.0.7", "weak"),
    (
        "XlaRuntimeError: UNAVAILABLE: /job:jax_worker/replica:0/task:3 has been unhealthy",
        "rank 3",
        "consequence",
    ),
]


@pytest.mark.parametrize(("line", "peer", "role"), OTHER_END)
def test_a_lost_connection_names_the_other_end(line: str, peer: str, role: str) -> None:
    found = read(line)

    assert found is not None
    assert peer_of(found) == peer
    assert role_of(found) == role


@pytest.mark.parametrize(
    ("line", "role", "category"),
    [
        (
            "XlaRuntimeError: RESOURCE_EXHAUSTED: Out of memory while trying to allocate 1",
            "root",
            "gpu_oom",
        ),
        ("XlaRuntimeError: DATA_LOSS: Checksum does not match: stored 1 vs. 4", "weak", "storage"),
        (
            "XlaRuntimeError: INTERNAL: Failed to execute XLA Runtime executable",
            "weak",
            "software_framework",
        ),
        ("XlaRuntimeError: ABORTED: another task has failed", "consequence", None),
        (
            "ray.exceptions.GetTimeoutError: Get timed out: some objects not ready.",
            "consequence",
            None,
        ),
        (
            "ray.exceptions.RuntimeEnvSetupError: Failed to set up runtime environment.",
            "root",
            "dependency",
        ),
        ("RuntimeError: Worker failed with error, see the traceback above", "consequence", None),
        (
            "RuntimeError: NCCL Error 6: remote process exited or there was a network error",
            "consequence",
            None,
        ),
        ("RuntimeError: the schedule has no micro-batches left", "weak", "software_user"),
        (
            "RuntimeError: Failed to import transformers.models.x because of the following",
            "root",
            "dependency",
        ),
        (
            "AttributeError: partially initialized module 'x' has no attribute 'y'",
            "root",
            "dependency",
        ),
        ("AttributeError: 'NoneType' object has no attribute 'shape'", "root", "software_user"),
        ("DataLoader worker stuck: no batch for 600 s", "weak", "host_stall"),
        ("DataLoader worker stuck: no batch for 600 s (on /mnt/lustre/a.tar)", "weak", "storage"),
        ("download of s3://b/shard-12.tar stalled, no bytes for 900 s", "weak", "storage"),
        ("Spot instance termination notice received: i-0abc", "weak", "host_maintenance"),
        ("weka: client IO hang on /mnt/weka for 312 s", "weak", "storage"),
        ("s3 GET bucket/shard-12 failed after 10 retries: SlowDown", "weak", "storage"),
        ("s3 GET bucket/shard-12: SlowDown, retrying in 2 s", "none", None),
        ("[rank3] collective failed after 3 retries", "none", None),
        ("ERROR worker 3 was OOM-killed by the kernel", "root", "host_oom"),
        ("potential root causes: (1) the process was OOM-killed", "none", None),
        ("event RDMA_CM_EVENT_DEVICE_REMOVAL on mlx5_3", "root", "nic"),
        ("got RDMA_CM_EVENT_REJECTED", "consequence", None),
        ("loss spike at step 400: 2.1 -> 11.8, grad norm 341", "root", "numerical"),
        ("RuntimeError: failed", "consequence", None),
        ("no hang detected in the last 600 s", "none", None),
        ("train.py: error: the following arguments are required: --data", "root", "software_user"),
        ("synStatus 8 [Device not found]. Device acquire failed.", "weak", "gpu"),
        (
            "HSA_STATUS_ERROR_EXCEPTION: An HSAIL operation resulted in a hardware exception.",
            "weak",
            "gpu",
        ),
        ("!!!!!!! Segfault encountered !!!!!!!", "root", "software_framework"),
        ("polls for a spot interruption every 5 s", "none", None),
        ("dataloader: stuck detection after 600 s", "none", None),
        ("UCP worker was created", "none", None),
        ("There was an error initializing an OpenFabrics device.", "none", None),
    ],
)
def test_what_the_words_say(line: str, role: str, category: str | None) -> None:
    found = read(line)

    assert role_of(found) == role
    if found is not None:
        assert category_of(found) == category


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: CUDA error: invalid device ordinal",
        "RuntimeError: No CUDA GPUs are available",
        "Cuda failure 999 'unknown error'",
        "cuda runtime error (999) : unknown error at THCGeneral.cpp:50",
        "failed call to cuInit: CUDA_ERROR_UNKNOWN: unknown error",
        "RuntimeError: CUDA error: all CUDA-capable devices are busy or unavailable",
    ],
)
def test_a_gpu_that_does_not_start_can_be_explained_by_one_that_is_gone(line: str) -> None:
    found = read(line)

    assert found is not None
    assert Trait.GPU_NOT_STARTED in traits_of(found)


def test_a_container_without_its_device_is_one_too() -> None:
    found = read(
        "task-307 node=worker-19 container launch failed: nvidia-container-cli: device error:"
        " unknown device id: GPU-7d3f"
    )

    assert found is not None
    assert Trait.GPU_NOT_STARTED in traits_of(found)
    assert found.reading.fields["node"] == "worker-19"


def test_a_driver_of_another_version_is_an_image_that_does_not_fit() -> None:
    found = read(
        "nvidia-container-cli: initialization error: nvml error: driver/library version mismatch"
    )

    assert found is not None
    assert Trait.GPU_NOT_STARTED not in traits_of(found)


def test_an_illegal_address_is_no_gpu_that_does_not_start() -> None:
    found = read("ERROR: kernel launch failed with CUDA error 700")

    assert found is not None
    assert Trait.GPU_NOT_STARTED not in traits_of(found)


def test_the_node_that_a_test_names_is_the_one_that_was_tested() -> None:
    found = read("bitwise test bd-05: 1 step: output differs from reference on device 2")

    assert found is not None
    assert found.reading.fields["node"] == "bd-05"


@pytest.mark.parametrize(
    "line",
    [
        "Rank 3, node n4, device 3, iteration #9: First rerun: unexpected result is reproducible"
        " within the tolerance (nan = nan)",
        "Unexpected result nan on rank 3 at iteration #3 invocation #2 (message='found NaN')",
    ],
)
def test_a_nan_whose_rerun_is_not_done_blames_nobody(line: str) -> None:
    found = read(line)

    assert found is not None
    assert (found.reading.blame or found.signature.blame) is Blame.NOBODY


@pytest.mark.parametrize(
    ("end", "sure"),
    [
        ("(result = 2.04, initial result = nan)! Possible transient error!", True),
        ("(2.13 != 2.21)", False),
    ],
)
def test_another_result_on_the_same_gpu_is_a_fault_where_no_tolerance_explains_it(
    end: str, *, sure: bool
) -> None:
    found = read(
        "Rank 3, node n4, device 3, iteration #9: First rerun: unexpected result is not"
        f" reproducible within the tolerance {end}"
    )
    assert found is not None
    assert (category_of(found), found.reading.weak) == ("sdc", not sure)


def test_a_pod_that_had_to_go_is_told_by_its_node() -> None:
    found = read("Normal  Preempted  1s  default-scheduler  Preempted by pod 7be1 on node gpu-3")
    assert found is not None
    assert (found.reading.fields["node"], found.reading.blame) == ("gpu-3", Blame.SELF)
    found = read("the job was preempted to make room")
    assert found is not None
    assert "node" not in found.reading.fields


@pytest.mark.parametrize(
    ("line", "index"),
    [
        ("ERROR [42:29] [[Health]] GPU 5: GPU has fallen off the bus", "5"),
        ("GPU 00000000:9B:00.0: GPU has fallen off the bus", None),
    ],
)
def test_a_number_before_a_colon_is_a_gpus(line: str, index: str | None) -> None:
    found = read(line)
    assert found is not None
    assert found.reading.fields.get("gpu_index") == index


@pytest.mark.parametrize(
    ("line", "weak"),
    [
        ("The system will reboot now! (requested by root via ansible)", False),
        ("System is rebooting (Kernel update 6.8.0-52)", False),
        ("The system will reboot now!", True),
    ],
)
def test_a_reboot_with_a_reason_is_no_symptom(line: str, *, weak: bool) -> None:
    found = read(f"systemd-logind[911]: {line}")
    assert found is not None
    said = found.reading.weak
    assert (found.signature.weak if said is None else said) is weak
