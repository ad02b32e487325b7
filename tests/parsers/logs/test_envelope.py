# ruff: noqa: E501 - real lines are as long as they are
"""Every wrapping that a line may carry comes off, and what it said is kept."""

import datetime
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.spent import spent_s
from triage.domain.evidence import NO_STAMP, Clock
from triage.parsers.logs.envelope import compute_relative_stamps, read_envelope
from triage.parsers.logs.prefixes import NUMBER_LABEL
from triage.parsers.logs.stamps import SECOND_NS, read_time

XID = "NVRM: Xid (PCI:0000:9b:00): 79, pid=1234, GPU has fallen off the bus."
PG = "[PG ID 5 PG GUID 55(mesh_replicate) Rank 1] Watchdog caught collective operation timeout"
NO = object()


def at(text: str) -> int:
    """ISO text as ns since the epoch, whatever its zone as if it were UTC."""
    whole = datetime.datetime.fromisoformat(text).replace(tzinfo=datetime.UTC)
    return int(whole.timestamp()) * SECOND_NS + whole.microsecond * 1000


KERNEL = [
    ("[  123.456789] {}", {"uptime": 123_456_789_000, "kernel": True}),
    ("[ 1130.400001] [ T1946] {}", {"uptime": 1130_400_001_000, "kernel": True}),
    ("[ 1130.400001][    C3] {}", {"uptime": 1130_400_001_000, "kernel": True}),
    ("[1130.400001] [T1946] {}", {"uptime": 1130_400_001_000, "pid": None}),
    ("[Fri Mar  3 04:27:08 2023] {}", {"wall": "2023-03-03T04:27:08", "kernel": True}),
    ("[Fr M\u00e4r  3 04:27:08 2023] {}", {"wall": "2023-03-03T04:27:08"}),
    ("[Fr M\ufffdr  3 04:27:08 2023] {}", {"wall": "2023-03-03T04:27:08"}),
    ("[pi\u0105 pa\u017a  3 04:27:08 2025] {}", {"wall": "2025-10-03T04:27:08"}),
    ("[ven. ao\u00fbt  1 04:27:08 2025] {}", {"wall": "2025-08-01T04:27:08"}),
    ("[\u4e94 3\u6708  3 04:27:08 2023] {}", {"wall": "2023-03-03T04:27:08", "kernel": True}),
    ("[Fri Xyz  3 04:27:08 2023] {}", {"clock": Clock.NONE, "kernel": True}),
    ("2024-04-29T14:55:41,678628+02:00 {}", {"wall": "2024-04-29T14:55:41.678628", "zone": 7200, "kernel": True}),
    ("kern  :err   : 2024-04-29T14:55:41,678628+02:00 {}", {"zone": 7200, "kernel": True}),
    ("kern  :warn  : [ 12.345678] {}", {"uptime": 12_345_678_000, "kernel": True}),
    ("user  :info  : [ 12.3456] {}", {"kernel": False}),
    ("6,3964,206764307,-;{}", {"uptime": 206_764_307_000, "sequence": 3964, "kernel": True}),
    ("4,12,99,c,caller=T12;{}", {"uptime": 99_000, "sequence": 12}),
    ("Aug 10 15:36:05 n3 kernel: {}", {"wall": "2000-08-10T15:36:05", "year": False, "node": "n3", "kernel": True}),
    ("Aug 10 15:36:05 kernel: {}", {"wall": "2000-08-10T15:36:05", "node": None, "kernel": True}),
    ("Feb 23 10:19:16  kernel: {}", {"node": None, "kernel": True}),
    ("Sep 19 16:18:02 n3 kernel: [68183.615790] {}", {"wall": "2000-09-19T16:18:02", "uptime": 68_183_615_790_000, "node": "n3"}),
    ("2019-08-19T04:18:38.274652-04:00 n3 kernel: [ 261.270000] {}", {"wall": "2019-08-19T04:18:38.274652", "zone": -14400, "uptime": 261_270_000_000, "node": "n3"}),
    ("2019-08-19T04:18:38+0200 n3 kernel: {}", {"zone": 7200, "node": "n3", "kernel": True}),
    ("2025 Jul  2 06:56:57.749658 leaf3 ERR kernel: [1.000000] {}", {"wall": "2025-07-02T06:56:57.749658", "year": True, "node": "leaf3", "kernel": True}),
    ("messages:Jun 17 01:02:03 n3 kernel: {}", {"wall": "2000-06-17T01:02:03", "node": "n3"}),
    ("/var/log/kern.log.1:812:Jun 17 01:02:03 n3 kernel: {}", {"node": "n3"}),
    ("incident/nodes/n7/kernel.log:12:[ 12.345678] {}", {"node": "n7", "uptime": 12_345_678_000}),
    ("n7: [ 12.345678] {}", {"node": "n7", "kernel": True}),
    ("10.0.0.1: kern: warning: [2026-04-22T21:27:51.29Z]: {}", {"wall": "2026-04-22T21:27:51.290", "zone": 0, "address": "10.0.0.1", "kernel": True}),
    ("Warning  Ext4Error  2m13s (x2 over 2m13s)  kernel-monitor  {}", {"kernel": True, "clock": Clock.NONE}),
    ("2026-01-02T03:04:05.123456789Z stderr F {}", {"wall": "2026-01-02T03:04:05.123456", "zone": 0, "partial": False}),
    ("2026-01-02T03:04:05.123456789Z stdout P {}", {"partial": True}),
    (" kernel:[405108.690000] {}", {"uptime": 405_108_690_000_000, "kernel": True}),
    ("MESSAGE={}", {}),
    ("<3>[ 12.345678] {}", {"uptime": 12_345_678_000}),
    ("Xid errors on instance: gpu-17, Error: {}", {"node": "gpu-17"}),
    ('{{"MESSAGE":"{}","_HOSTNAME":"n3","__REALTIME_TIMESTAMP":"1767323045123456","_SOURCE_MONOTONIC_TIMESTAMP":"99000000","_TRANSPORT":"kernel"}}',
     {"wall": "2026-01-02T03:04:05.123456", "zone": 0, "uptime": 99_000_000_000, "node": "n3", "kernel": True}),
    ('{{"log":"{}\\n","stream":"stderr","time":"2026-01-02T03:04:05.1Z"}}', {"wall": "2026-01-02T03:04:05.100", "zone": 0}),
    ('    "message": "{}",', {}),
    ('{{"message":"{}', {}),
    ('{{"log":"Aug 10 15:36:05 n3 kernel: {}\\n","time":"2026-08-10T13:36:05Z"}}', {"wall": "2026-08-10T13:36:05", "zone": 0, "node": "n3"}),
    ("Tue 2025-12-30 16:05:39 UTC n3 kernel: {}", {"wall": "2025-12-30T16:05:39", "zone": 0, "node": "n3", "kernel": True}),
    ("Tue 2025-12-30 16:05:39 PST n3 kernel: {}", {"zone": -8 * 3600, "node": "n3", "kernel": True}),
    ("Tue 2025-12-30 16:05:39 CST n3 kernel: {}", {"zone": None, "node": "n3", "kernel": True}),
    ("Tue 2025-12-30 16:05:39 -03 n3 kernel: {}", {"zone": -3 * 3600, "node": "n3", "kernel": True}),
    ("Tue 2025-12-30 16:05:39.123456 AEDT n3 kernel: {}", {"wall": "2025-12-30T16:05:39.123456", "zone": 11 * 3600}),
    ("Tue Dec 30 16:05:39 CEST 2025 n3 kernel: {}", {"wall": "2025-12-30T16:05:39", "zone": 7200, "kernel": True}),
    ("1767323045.123456 n3 kernel: {}", {"wall": "2026-01-02T03:04:05.123456", "zone": 0, "node": "n3", "kernel": True}),
    ("[   87.123456] n3 kernel: {}", {"uptime": 87_123_456_000, "node": "n3", "kernel": True}),
    ("[   87.123456 <    0.000123>] {}", {"uptime": 87_123_456_000, "kernel": True}),
    ("[   87.123456 <    0.000123 >] n3 kernel: {}", {"uptime": 87_123_456_000, "node": "n3"}),
    ("[   87.123456] [T 4035] {}", {"uptime": 87_123_456_000, "kernel": True}),
    ("2026-01-02 03:04:05 10.1.2.3 [   87.123456] {}", {"wall": "2026-01-02T03:04:05", "uptime": 87_123_456_000, "node": "10.1.2.3", "address": "10.1.2.3", "kernel": True}),
    ("2026-01-02T03:04:05Z 10.1.2.3:6665 6,12,99,-;{}", {"zone": 0, "uptime": 99_000, "node": "10.1.2.3", "kernel": True}),
    ("Jan  2 03:04:05 n3 [   87.123456] {}", {"uptime": 87_123_456_000, "node": "n3", "kernel": True}),
    ("{}", {"clock": Clock.NONE, "kernel": False}),
]  # fmt: skip

JOB = [
    ("[rank3]: {}", {"rank": 3, "group_rank": None}),
    ("[rank9]:[E321 02:07:08.408271257 ProcessGroupNCCL.cpp:607] {}", {"rank": 9, "wall": "2000-03-21T02:07:08.408271", "year": False}),
    ("[E1206 18:44:12.715298746 file.cpp:1664] {}", {"wall": "2000-12-06T18:44:12.715298", "rank": None}),
    ("[E113 18:44:12.715298746 file.cpp:1664] {}", {"wall": "2000-01-13T18:44:12.715298"}),
    ("[E ProcessGroupNCCL.cpp:916] {}", {"clock": Clock.NONE}),
    ("rank12[488][MainThread]: {}", {"rank": 12, "pid": 488}),
    ("2026-05-23 02:20:46,844: rank12[488][MainThread]: n7:488:788 [4] {}", {"rank": 12, "node": "n7"}),
    ("(worker1, rank=9, pid=322, ip=10.28.225.10) 03-11 19:57:42 {}", {"task": 9, "pid": None, "wall": "2000-03-11T19:57:42", "year": False}),
    ("(head, rank=0, pid=8894) {}", {"task": 0, "clock": Clock.NONE}),
    ("E0325 20:57:27.620000 2606 site-packages/torch/api.py:869] {}", {"wall": "2000-03-25T20:57:27.620", "pid": 2606}),
    ("E0325 20:57:27.620000 139872398471923 torch/api.py:869] {}", {"pid": None}),
    ("[2024-02-09 09:09:15,164] {}", {"wall": "2024-02-09T09:09:15.164", "year": True, "zone": None}),
    ("[default3]:{}", {"local_rank": 3, "rank": None}),
    ("[trainer0|0]:{}", {"local_rank": 0, "rank": None}),
    ("gpu-0039:656439:176725 [2] {}", {"node": "gpu-0039", "pid": 656439, "cuda_device": 2, "rank": None, "local_rank": None}),
    ("[2026-03-13 22:26:02] n3:1:2 [7] {}", {"wall": "2026-03-13T22:26:02", "node": "n3", "cuda_device": 7}),
    ("12: [rank5]: {}", {"rank": 5, "task": 12}),
    ("12: n3:1:2 [7] {}", {"rank": 12, "task": 12, "node": "n3"}),
    ("2026-10-14T16:13:44.884Z: [1,12]<stdout>:{}", {"rank": 12, "zone": 0}),
    ("[1,mpirank:3,algo-2]<stderr>:{}", {"rank": 3, "node": "algo-2"}),
    ("[NeMo W 2026-11-20 12:00:00 nemo_logging:393] {}", {"wall": "2026-11-20T12:00:00"}),
    ("[INFO|2026-10-13 10:34:38] llamafactory.train.callbacks:143 >> {}", {"wall": "2026-10-13T10:34:38"}),
    ("[INFO|trainer.py:2409] 2026-10-13 10:34:38,120 >> {}", {"wall": "2026-10-13T10:34:38.120"}),
    ("\x1b[36m(WorkerDict pid=12, ip=10.0.0.1)\x1b[0m {}", {"pid": 12, "address": "10.0.0.1"}),
    ("(RayWorkerVllm pid=17) {}", {"pid": 17, "address": None}),
    ("(MegatronPolicyWorker[rank=8] pid=99, ip=10.0.0.2) {}", {"rank": 8, "pid": 99}),
    ("[2026-01-22 11:06:43,823] [INFO] {}", {"wall": "2026-01-22T11:06:43.823"}),
    ("stderr: {}", {}),
    ("[rank: 4] {}", {"rank": 4}),
    ("2026-03-25 05:02:26.131 | ERROR    | a.b:f:12 - {}", {"wall": "2026-03-25T05:02:26.131"}),
    ('{{"levelname":"ERROR","msg":"{}","asctime":"2026-03-25 05:02:26,131","rank":6}}', {"rank": 6, "wall": "2026-03-25T05:02:26.131"}),
    (" 41%|\u2588\u2588\u2588\u258f  | 66/160 [00:00<00:00, 113.92it/s, loss=0.7]{}", {}),
    ("Train:   0%|          | 1/596250 [00:10<1425:51:54, 10.54s/it][rank2]:[E225 20:46:33.319 P.cpp:6] {}", {"rank": 2, "wall": "2000-02-25T20:46:33.319"}),
    ("Map:   0% 0/85361 [00:00<?, ?it/s]{}", {}),
    ("  0%|          |[2025-01-02 03:04:05,678] {}", {"wall": "2025-01-02T03:04:05.678"}),
    ("[default0]:a: 8%|x | 4/5 [02:32<30:38, 48.01 examples/s][default2]:[E P.cpp:8] {}", {"local_rank": 2}),
    ("2026-01-02T03:04:05.1Z stderr F 3: [rank3]:[E321 02:07:08.408271257 P.cpp:607] {}", {"rank": 3, "wall": "2026-01-02T03:04:05.100", "zone": 0}),
    ("nodes.cn-d003.nolog [stderr] [rank3]: {}", {"rank": 3}),
]  # fmt: skip


WRITTEN = [
    ("23.02.2026 07:24  {}", {"wall": "2026-02-23T07:24:00", "zone": None}),
    ("2026.10.14 15:49:42  {}", {"wall": "2026-10-14T15:49:42"}),
    ("13/06/2026 01:34 {}", {"wall": "2026-06-13T01:34:00"}),
    ("06/03/2026 01:34 {}", {"wall": "2026-06-03T01:34:00"}),
    ("06.03.2026 01:34 {}", {"wall": "2026-03-06T01:34:00"}),
    ("06-03-26, 01:34 - {}", {"wall": "2026-03-06T01:34:00"}),
    ("03/14/2026 02:41:51 PM - {}", {"wall": "2026-03-14T14:41:51"}),
    ("3/5/26, 12:20 AM - {}", {"wall": "2026-03-05T00:20:00"}),
    ("[05.03.2026, 14:20] {}", {"wall": "2026-03-05T14:20:00"}),
    ("2026-03-05 14:20 UTC+2: {}", {"wall": "2026-03-05T14:20:00", "zone": 7200}),
    ("2026-03-05T14:20Z {}", {"wall": "2026-03-05T14:20:00", "zone": 0}),
    ("Mar 3, 14:20 UTC - {}", {"wall": "2000-03-03T14:20:00", "year": False, "zone": 0}),
    ("Thu Mar  5 14:20 UTC 2026 {}", {"wall": "2026-03-05T14:20:00", "zone": 0}),
    ("March 3rd, 2026 at 2:20 pm EST {}", {"wall": "2026-03-03T14:20:00", "zone": -18000}),
    ("Wed, 18 Mar 2026 14:43:54 +0900 {}", {"wall": "2026-03-18T14:43:54", "zone": 32400}),
    ("05/Mar/26 2:20 PM {}", {"wall": "2026-03-05T14:20:00"}),
]  # fmt: skip


def check(line: str, payload: str, want: dict[str, object]) -> None:
    got = read_envelope(line)
    assert got.text.strip() == payload
    shown = {
        "clock": got.stamp.clock,
        "uptime": got.stamp.uptime_ns,
        "zone": got.stamp.zone_s,
        "year": got.stamp.has_year,
        **{name: getattr(got, name) for name in got.__slots__},
    }
    for name, value in want.items():
        if name == "wall":
            assert got.stamp.wall_ns is not None
            assert abs(got.stamp.wall_ns - at(str(value))) < 1_000_000
        else:
            assert shown[name] == value, name


@pytest.mark.parametrize(("shape", "want"), KERNEL)
def test_kernel_envelopes(shape: str, want: dict[str, object]) -> None:
    check(shape.format(XID), XID, want)


@pytest.mark.parametrize(("shape", "want"), WRITTEN)
def test_times_that_people_write(shape: str, want: dict[str, object]) -> None:
    check(shape.format("hgx31 was dark"), "hgx31 was dark", want)


@pytest.mark.parametrize(
    "line",
    [
        "32.13.2026 07:24 x", "1.2.3 12:30 x", "Epoch 12 13:45 x", "Step 3, 14:20 left",
        "10.0.0.1 14:20 x", "2026.10 15:49 x", "23.02.2026 x", "May 7 of 14:20 x",
        "12/5 14:20 x", "06.03.2026 01:34:x",
    ],
)  # fmt: skip
def test_numbers_that_are_no_written_time(line: str) -> None:
    got = read_envelope(line)
    assert (got.text, got.stamp) == (line, NO_STAMP)


@pytest.mark.parametrize(("shape", "want"), JOB)
def test_job_prefixes(shape: str, want: dict[str, object]) -> None:
    check(shape.format("RuntimeError: NCCL error"), "RuntimeError: NCCL error", want)


@pytest.mark.parametrize(
    ("line", "want"),
    [
        (f"[rank9]:[E321 02:07:08.408271257 P.cpp:607] {PG}", (9, 1)),
        (f"[E321 02:07:08.408271257 P.cpp:607] {PG}", (None, 1)),
        ("[E ProcessGroupNCCL.cpp:916] [Rank 1] Watchdog caught", (None, 1)),
        ("[E P.cpp:916] [PG 0 (default_pg) Rank 3] Timeout", (3, 3)),
        ("[E P.cpp:916] [PG 7 (mesh_dp) Rank 3] Timeout", (None, 3)),
        ("n3:1:2 [3] NCCL INFO x", (None, None)),
        ("[3] NCCL INFO x", (None, None)),
        ("[default3]: x", (None, None)),
        ("Rank 11: found NaN in local grad norm", (11, None)),
    ],
)
def test_the_rank_of_a_group_is_never_the_global_one(
    line: str, want: tuple[int | None, int | None]
) -> None:
    got = read_envelope(line)
    assert (got.rank, got.group_rank) == want


@pytest.mark.parametrize(
    "line",
    [
        "12: eth0: <BROADCAST,MULTICAST,UP> mtu 1500",
        " 12:    0    0  IO-APIC   12-edge",
        "12: some text of a list",
        "/opt/train.py:44: FutureWarning: torch.load",
        "mlx5_0: port 1 is down",
        "nvidia-nvswitch1: SXid (PCI:0000:84:00.0): 52805, Data {0x1}",
        "CPU3: Core temperature above threshold",
        "[torch.nn.parallel][INFO] - Reducer buckets",
        "[/pytorch/third_party/gloo/pair.cc:1226] Connection closed",
        "[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring sdma0 timeout",
        "[mlx5_0]: text",
        "[0]:",
        '{"name": "torchelastic.worker.status.FAILED", "metadata": {"global_rank": 3}}',
        "file.cc:123:45 [0] text",
        "02:07:08 [3] text",
        "Mar was the month",
        "  5%|5 | 1/20 [00:01<00:19, 1.0it/s]",
        "2 of 3",
    ],
)
def test_near_misses_stay_as_they_are(line: str) -> None:
    got = read_envelope(line)
    assert got.text == line
    assert (got.rank, got.task, got.node, got.pid, got.local_rank) == (None,) * 5


@pytest.mark.parametrize(
    ("line", "text", "node"),
    [
        ("3m  Warning  NodeNotReady  node/n3  Node is not ready",
         "NodeNotReady  node/n3  Node is not ready", "n3"),
        ("Warning  FailedMount  2m (x3 over 9m)  kubelet  it timed out",
         "Warning  FailedMount  2m (x3 over 9m)  kubelet  it timed out", None),
    ],
)  # fmt: skip
def test_the_reason_of_an_event_is_kept(line: str, text: str, node: str | None) -> None:
    """Only what the node problem detector read is a kernel's own line."""
    found = read_envelope(line)
    assert (found.text, found.node, found.kernel) == (text, node, False)


def test_the_object_of_an_event_stands_before_its_words() -> None:
    event = (
        '{"reason": "NodeNotReady", "kind": "Node", "name": "gpu-9", "msg": "Node is not ready"}'
    )
    assert read_envelope(event).text == "NodeNotReady node/gpu-9 Node is not ready"
    other = '{"reason": "Retry", "kind": "span", "name": "gpu-9", "msg": "Node is not ready"}'
    assert read_envelope(other).text == "Node is not ready"


def test_labels_count_where_the_whole_file_has_them() -> None:
    assert read_envelope("12: plain text").task is None
    got = read_envelope(" 12: plain text", label=NUMBER_LABEL)
    assert (got.text, got.rank, got.task) == ("plain text", 12, 12)


@pytest.mark.parametrize(
    "line",
    [
        "2026-13-01T00:00:00Z x", "2026-02-30 00:00:00 x", "99999-01-01T00:00:00Z x",
        "[1" + "0" * 30 + ".000000] x", "Feb 30 00:00:00 n3 kernel: x",
        "[E1399 00:00:00.0 a.cpp:1] x", "2026-01-01T25:00:00Z x",
        '{"msg":"x","time":1e300}', '{"msg":"x","ts":-5}', '{"msg":"x","ts":NaN}',
        "6,1," + "9" * 40 + ",-;x",
    ],
)  # fmt: skip
def test_what_no_clock_shows_is_no_time(line: str) -> None:
    got = read_envelope(line)
    assert got.stamp.clock is Clock.NONE
    assert got.text.endswith("x")


def test_an_epoch_in_brackets_is_a_wall_time() -> None:
    stamp = read_envelope("[1767323045.123456] x").stamp
    assert (stamp.wall_ns, stamp.zone_s, stamp.uptime_ns) == (1767323045123456000, 0, None)


def test_bytes_of_the_journal_are_decoded() -> None:
    line = '{"MESSAGE":[78,86,82,77,58,32,255],"_HOSTNAME":"n3"}'
    assert read_envelope(line).text == "NVRM: \ufffd"


def test_relative_prints_are_summed() -> None:
    stamps = compute_relative_stamps(
        ["[Feb22 04:01] a", "[  +0.000844] b", "    c", "[  +1.050439] d", "[Feb22 04:03] e"]
    )
    base = at("2000-02-22T04:01:00")
    want = [0, 844_000, 844_000, 1_051_283_000, 120 * SECOND_NS]
    assert [stamp.wall_ns for stamp in stamps] == [base + ns for ns in want]
    assert all(stamp.error_ns == 60 * SECOND_NS for stamp in stamps)
    assert compute_relative_stamps(["[  +0.5] x"])[0].clock is Clock.NONE


@pytest.mark.parametrize("text", ["2026-01-09_11:39:43", "[2026/01/09 11:39:43]", "Jan 9 11:39:43 2026"])  # fmt: skip
def test_times_that_stand_alone(text: str) -> None:
    stamp = read_time(text)
    assert stamp is not None
    assert (stamp.wall_ns, stamp.has_year) == (at("2026-01-09T11:39:43"), True)


PIECES = st.sampled_from(
    [shape.split("{}")[0].replace("{{", "{") for shape, _ in [*KERNEL, *JOB]]
    + [shape.replace("{}", "x").replace("{{", "{").replace("}}", "}") for shape, _ in KERNEL]
)
LINES = st.lists(st.one_of(PIECES, st.text(max_size=12), st.text(string.printable, max_size=20)), max_size=5).map("".join)  # fmt: skip


@given(LINES)
def test_any_text_is_read_and_the_payload_is_a_fixed_point(line: str) -> None:
    text = read_envelope(line).text
    assert read_envelope(text).text == text


def test_time_is_linear_in_the_line() -> None:
    for unit in ("[rank1]: ", "[", "a:1:", "n3/", '{"message":"', "%| ", "[00:01<", "a.log:", "Jan ", "\x1b[", '\\"'):  # fmt: skip
        for size in (40_000, 160_000):
            line = (unit * (size // len(unit) + 1))[:size]
            # A quadratic one takes many seconds.
            assert spent_s(lambda line=line: read_envelope(line), 0.1) < 0.1, (unit, size)


@pytest.mark.parametrize(
    ("line", "node", "kernel", "pid", "text"),
    [
        ("<4>1 2026-03-14T02:39:12.026220Z gpu17.cluster.local kernel - - - usb 1-1: gone",
         "gpu17.cluster.local", True, None, "usb 1-1: gone"),
        ("<29>1 - gpu17 nvidia-fabricmanager 881 ID47 [a@32473 b=\"3\"] started",
         "gpu17", False, 881, "nvidia-fabricmanager[881]: started"),
        ("<30>1 2026-03-14T02:39:12+01:00 - systemd 1 - - Started job.",
         None, False, 1, "systemd[1]: Started job."),
        ("<27>1 2026-03-14T02:39:12Z gpu17 slurmd - - - slurmd: error: x",
         "gpu17", False, None, "slurmd: error: x"),
        ("<27>1 2026-03-14T02:39:12Z gpu17 conmon 9 - - [rank3]: x", "gpu17", False, 9, "x"),
        ("<4>1 more thing", None, False, None, "1 more thing"),
        ("Fri 2026-03-13 14:22:57 UTC gpu17 kernel: usb 1-1: gone", "gpu17", True, None,
         "usb 1-1: gone"),
        ("Fri 2026-03-13 14:22:57 CET gpu17 systemd[1]: Reached target System Reboot.", "gpu17",
         False, None, "systemd[1]: Reached target System Reboot."),
        ("[titan] 2026-02-11 07:52:15,865 - root - INFO - step:  9  loss: 2.36", None, False, None,
         "step:  9  loss: 2.36"),
        ("Fri 2026-03-13 was a bad day", None, False, None, "Fri 2026-03-13 was a bad day"),
    ],
)  # fmt: skip
def test_reads_whole_syslog_and_journal(
    line: str, node: str | None, kernel: bool, pid: int | None, text: str
) -> None:
    found = read_envelope(line)

    assert (found.node, found.kernel, found.pid, found.text) == (node, kernel, pid, text)


@pytest.mark.parametrize(
    ("line", "node"),
    [
        ("n30039: RuntimeError: CUDA error: invalid device ordinal", "n30039"),
        ("ip-10-0-1-14: Traceback (most recent call last):", "ip-10-0-1-14"),
        ("dgx0.cluster: torch.distributed.DistBackendError: NCCL error", "dgx0.cluster"),
        ("rank3: RuntimeError: CUDA error: invalid device ordinal", None),
        ("worker-3: RuntimeError: CUDA error: invalid device ordinal", None),
        ("step12: KeyError: 'x'", None),
        ("GPU3: AssertionError", None),
        ("v2: ValueError: x", None),
        ("OSError: RuntimeError: x", None),
        ("n1: hello there", None),
    ],
)
def test_a_host_name_of_pdsh_stands_before_an_exception(line: str, node: str | None) -> None:
    assert read_envelope(line).node == node


@pytest.mark.parametrize(
    ("line", "node"),
    [
        ("slurmstepd-ip-10-1-74-228: error: pyxis: couldn't start container", "ip-10-1-74-228"),
        ("slurmstepd: error: pyxis: couldn't start container", None),
        ("slurmstepd-helper started", None),
    ],
)
def test_the_daemon_of_a_step_names_its_node(line: str, node: str | None) -> None:
    envelope = read_envelope(line)

    assert envelope.node == node
    assert envelope.text == line


@pytest.mark.parametrize(
    ("line", "printed_by", "text"),
    [
        ("n14 2026-05-23T11:05:26.000Z RuntimeError: x", "n14", "RuntimeError: x"),
        (
            "train-worker-0: 2026-05-23 11:05:26 RuntimeError: x",
            "train-worker-0",
            "RuntimeError: x",
        ),
        ("worker-4 | [rank4] closed", "worker-4", "closed"),
        ("worker-4  | Traceback (most recent", "worker-4", "Traceback (most recent"),
        ("loss 2026-05-23T11:05:26Z x", None, "loss 2026-05-23T11:05:26Z x"),
        ("iter100 | loss 2.31 | lr 3.0e-4", None, "iter100 | loss 2.31 | lr 3.0e-4"),
        ("gpu3 | temp=95C power=281W", None, "gpu3 | temp=95C power=281W"),
        ("H100 | 80GB", None, "H100 | 80GB"),
    ],
)
def test_who_gathers_several_hosts_writes_the_host_first(
    line: str, printed_by: str | None, text: str
) -> None:
    found = read_envelope(line)
    assert (found.printed_by, found.text) == (printed_by, text)
    assert printed_by is None or "2026" not in line or found.stamp.wall_ns is not None


@pytest.mark.parametrize(
    ("line", "node", "kernel", "text"),
    [
        ('{"job":"syslog","node":"n7","unit":"kernel"}\t' + XID, "n7", True, XID),
        ('2026-05-25T23:16:55.6Z\t{"node":"n7","unit":"kernel"}\t' + XID, "n7", True, XID),
        ('{node="n7", unit="kernel"} ' + XID, "n7", True, XID),
        ('{"host":"n7","unit":"ipmievd.service"} Fan 1A', "n7", False, "ipmievd: Fan 1A"),
        ('{app="trainer", host="n7", rank="3"} loss 2', "n7", False, "trainer: loss 2"),
        ('{"colour":"red"} ' + XID, None, False, '{"colour":"red"} ' + XID),
        ('{"host":"n7"}', None, False, '{"host":"n7"}'),
        ("{'a': 1} words", None, False, "{'a': 1} words"),
    ],
)
def test_a_store_of_logs_prints_labels_before_a_line(
    line: str, node: str | None, kernel: bool, text: str
) -> None:
    found = read_envelope(line)
    assert (found.node, found.kernel, found.text) == (node, kernel, text)


@pytest.mark.parametrize(
    "line", ['{"a":"b",' * 8_000, "{a=" + '"' * 30_000, '{"node":"n7"' + " " * 60_000]
)
def test_labels_without_end_cost_no_time(line: str) -> None:
    assert spent_s(lambda: read_envelope(line), 0.5) < 0.5


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ('"exc_info":"Traceback\\nValueError: x"', "failed\nTraceback\nValueError: x"),
        ('"exception":"Traceback\\nValueError: x"', "failed\nTraceback\nValueError: x"),
        ('"error":{"stack_trace":"at f\\nError: x"}', "failed\nat f\nError: x"),
        ('"err":{"message":"x","stack":"Error: x\\n at f"}', "failed\nError: x\n at f"),
        ('"exc_info":true', "failed"),
        ('"error":"x"', "failed"),
        ('"exception":{"args":[1]}', "failed"),
    ],
)
def test_a_loggers_traceback_stands_behind_its_message(beside: str, said: str) -> None:
    assert read_envelope('{"level":"error","message":"failed",' + beside + "}").text == said


@pytest.mark.parametrize(
    ("line", "wall", "text"),
    [
        ("[25/Feb/2026:23:10:09 +0900] stderr: [rank2]:died", "2026-02-25T23:10:09", "died"),
        ("[5/Oct/2026:03:10:09] died", "2026-10-05T03:10:09", "died"),
        ("[25/Fee/2026:23:10:09 +0900] died", None, "[25/Fee/2026:23:10:09 +0900] died"),
        ("[45/Feb/2026:23:10:09 +0900] died", None, "died"),
    ],
)
def test_the_time_of_web_servers_is_a_time(line: str, wall: str | None, text: str) -> None:
    found = read_envelope(line)
    assert found.text.endswith(text)
    assert found.stamp.wall_ns == (None if wall is None else at(wall))


@pytest.mark.parametrize(
    ("line", "text"),
    [
        (
            '{"msg":"event","details":{"reason":"R","message":"row remap failed"}}',
            "event\nrow remap failed",
        ),
        (
            '{"msg":"events","events":[{"node":"n7","message":"link is down"}]}',
            "events\nlink is down (node n7)",
        ),
        ('{"events":[{"message":"link is down"}]}', "link is down"),
        ('{"msg":"step failed","error":"no memory is left"}', "step failed\nno memory is left"),
        ('{"msg":"no memory is left","error":"no memory is left"}', "no memory is left"),
        ('{"msg":"died","kubernetes":{"message":"labels are no words"}}', "died"),
        ('{"msg":"died","a":{"b":{"c":{"d":{"e":{"message":"too deep"}}}}}}', "died"),
    ],
)
def test_an_event_inside_a_record_is_read(line: str, text: str) -> None:
    assert read_envelope(line).text == text


@pytest.mark.parametrize(
    "key", ["@t", "lastTimestamp", "detected_at", "eventTime", "t", "when", "time"]
)
def test_a_record_without_a_message_has_its_time_and_its_place(key: str) -> None:
    line = f'{{"{key}":"2026-05-02T03:04:05Z","finding":"slow","rank":7,"node":"n7"}}'
    found = read_envelope(line)
    assert (found.text, found.rank, found.node) == (line, 7, "n7")
    assert found.stamp.wall_ns == 1_777_691_045_000_000_000


def test_words_that_look_like_times_are_none() -> None:
    for one in (
        '{"at":"step 12","finding":"slow"}',
        '{"when":7,"finding":"slow"}',
        '{"cpu_time":1782425331,"finding":"slow"}',
        '{"runtime":"1782425331","finding":"slow"}',
        '{"t":}',
    ):
        assert read_envelope(one).stamp == NO_STAMP


@pytest.mark.parametrize(
    ("line", "dated"),
    [
        ("700,Error,System,2026-05-02T03:04:05,FQX01: Fan 5 failed", True),
        ("2026-05-02 03:04:05,CRITICAL,Link,leaf-2 <-> n3 went down", True),
        ('"Critical","CPU","2026-05-02 03:04:05","FQX02","CPU 2 failed"', True),
        ("#88  RESOLVED  2026-05-02T03:04:05Z  [xid] n3: Xid 31 of another job", True),
        ("05/02/2026 03:04:05.123456;0008;Server@pbs;Job;8812.pbs;Job Run", True),
        ("[177769104] SERVICE ALERT: n3;GPU_TEMP;CRITICAL;HARD;3;98C", False),
        ("Critical;Power;2026-05-02 03:04:05;PSU 2 lost its input", True),
        ("saved a;b;c as of 2026-05-02 03:04:05", False),
        ("700,Error,System,2026-95-02T03:04:05,FQX01: Fan 5 failed", False),
    ],
)
def test_the_time_of_a_list_stands_in_a_column(line: str, dated: bool) -> None:
    found = read_envelope(line)
    assert (found.text, found.stamp != NO_STAMP) == (line, dated)


def test_seconds_since_1970_may_stand_in_brackets() -> None:
    found = read_envelope("[1777691045] SERVICE ALERT: n3;GPU_TEMP;CRITICAL;HARD;3;98C")
    assert found.text.startswith("SERVICE ALERT")
    assert found.stamp.wall_ns == at("2026-05-02T03:04:05")


def test_the_port_of_what_is_scraped_is_no_part_of_its_name() -> None:
    line = '{"host": "n7:9400", "time": "2026-05-02T03:04:05Z", "message": "hot"}'
    assert read_envelope(line).node == "n7"
