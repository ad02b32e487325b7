"""Who sits where: sources in their order of trust, and the numbers that are no ranks."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from triage.analysis.placement.attribution import attribute
from triage.analysis.placement.gpu_names import infer_layout
from triage.analysis.placement.host_names import parse_plain_host
from triage.analysis.placement.identity import resolve
from triage.analysis.placement.order_of_nodes import fill_by_names
from triage.domain.evidence import Evidence, EvidenceRole, Kind, Trait
from triage.domain.job import Job
from triage.formats.streams import read_logs
from triage.parsers.files.inputs import find_inputs


def row(node: str | None = None, **more: object) -> Evidence:
    base = Evidence("f", 1, "x.y", Kind.CUDA, EvidenceRole.ROOT, "text", node=node)
    return replace(base, **more)  # type: ignore[arg-type]


def comm(node: str, rank: int, nranks: int, gpu: str, pid: int, device: int) -> Evidence:
    return row(node, signature="identity.nccl_comm", kind=Kind.IDENTITY, rank=rank, gpu=gpu,
               pid=pid, cuda_device=device, fields={"nranks": str(nranks)})  # fmt: skip


def table(node: str, rank: int, local_rank: int, pid: int) -> Evidence:
    fields = {"node": node, "rank": str(rank), "local_rank": str(local_rank), "pid": str(pid)}
    return row(None, signature="elastic.failure", kind=Kind.ELASTIC, fields=fields)


WORLD = [comm(f"n{r // 2}", r, 4, f"0000:{0x1B + r % 2:02x}:00", 100 + r, r % 2) for r in range(4)]
JOB = Job(world_size=4, gpus_per_node=2, nodes=("n0", "n1"),
          gpu_bus_ids={"n1": ("0000:3b:00", "0000:5d:00")})  # fmt: skip


def test_the_job_file_seats_everybody() -> None:
    fleet = resolve([], JOB, {})
    assert [fleet.node_of(rank) for rank in range(5)] == ["n0", "n0", "n1", "n1", None]
    assert (fleet.gpu_of(3), fleet.rank_of_gpu("n1", "0000:5d:00")) == ("0000:5d:00", 3)
    assert (fleet.rank_of_local("n1", 0), fleet.ranks_on("n1")) == (2, [2, 3])
    assert fleet.notes == ()


def test_the_world_communicator_seats_without_a_job_file() -> None:
    groups = [comm("n1", 0, 2, "0000:1b:00", 102, 0), comm("n1", 1, 2, "0000:1c:00", 103, 1)]
    fleet = resolve([*groups, *WORLD], Job(), {})
    assert fleet.world_size == 4
    assert [fleet.node_of(rank) for rank in range(4)] == ["n0", "n0", "n1", "n1"]
    assert fleet.gpu_of(2) == "0000:1b:00"
    assert fleet.rank_of_pid("n1", 103) == 3


def test_a_group_alone_is_not_the_world() -> None:
    group = [comm("n1", 0, 2, "0000:1b:00", 102, 0)]
    fleet = resolve(group, Job(world_size=4), {})
    assert fleet.node_of(0) is None
    assert attribute(group, fleet)[0].rank is None
    # The dumps tell of more ranks than the communicator has.
    fleet = resolve(group, Job(), {7: "n3"})
    assert fleet.node_of(0) is None


def test_rows_get_what_follows_from_what_they_carry() -> None:
    fleet = resolve(WORLD, Job(), {})
    rows = [
        row("n1", gpu="0000:1c:00"), row("n1", pid=102), row("n1", local_rank=1),
        row("n0", cuda_device=1), row(None, rank=2), row("n1.cluster.local"), row("n9", pid=102),
    ]  # fmt: skip
    got = [(one.node, one.rank) for one in attribute(rows, fleet)]
    assert got == [
        ("n1", 3), ("n1", 2), ("n1", 3), ("n0", 1), ("n1", 2), ("n1", None), ("n9", None),
    ]  # fmt: skip


def test_tables_of_torchelastic_seat_and_are_attributed() -> None:
    rows = [table("n0", 0, 0, 11), table("n1.cluster.local", 9, 1, 12)]
    fleet = resolve(rows, Job(), {})
    assert (fleet.node_of(9), fleet.rank_of_pid(fleet.nodes[-1], 12)) == (fleet.nodes[-1], 9)
    assert attribute([row("n1", pid=12)], fleet)[0].rank == 9
    assert [(one.rank, one.local_rank) for one in attribute(rows, fleet)] == [(0, 0), (9, 1)]


def test_maps_that_launchers_print() -> None:
    text = "'n0': [0, 1], 'n1': [2, 3]"
    printed = row(None, signature="identity.deepspeed_map", kind=Kind.IDENTITY,
                  fields={"mapping": text})  # fmt: skip
    agent = row("n1", signature="identity.elastic_ranks", kind=Kind.IDENTITY,
                fields={"global_ranks": "2, 3"})  # fmt: skip
    assert resolve([printed], Job(), {}).node_of(3) == "n1"
    assert [resolve([agent], Job(), {}).node_of(rank) for rank in (1, 2, 3)] == [None, "n1", "n1"]


def test_disagreements_are_told_and_the_better_source_is_believed() -> None:
    fleet = resolve([comm("n0", 3, 4, "0000:1b:00", 1, 0)], JOB, {3: "n0"})
    assert fleet.node_of(3) == "n1"
    assert fleet.gpu_of(3) == "0000:5d:00"
    assert any("rank 3" in note and "job.json" in note for note in fleet.notes)


def test_names_of_one_host_are_one_node() -> None:
    fleet = resolve(WORLD, Job(), {})
    for name in ("n1", "N1", "n1.cluster.local", "n1-ib0", "n1:29500", "n1<4711>"):
        assert fleet.node_of_address(name) == "n1", name
    for name in ("n11", "10.0.0.1", "", "m1"):
        assert fleet.node_of_address(name) is None, name


def test_two_hosts_of_one_short_name_stay_two() -> None:
    job = Job(nodes=("n1.east", "n1.west"), gpus_per_node=1, world_size=2)
    fleet = resolve([], job, {})
    assert fleet.node_of_address("n1.east") == "n1.east"
    assert fleet.node_of_address("n1.west") == "n1.west"
    assert fleet.node_of_address("n1") is None


def test_a_folder_and_a_full_name_are_one_node() -> None:
    job = Job(nodes=("n0.cluster", "n1.cluster"), gpus_per_node=2, world_size=4)
    fleet = resolve([row("n1")], job, {2: "n1"})
    assert fleet.nodes == ("n0.cluster", "n1.cluster")
    assert attribute([row("n1", local_rank=1)], fleet)[0].rank == 3
    assert fleet.notes == ()


def test_ranks_beyond_the_world_are_none() -> None:
    fleet = resolve(WORLD, Job(), {})
    assert attribute([row("n1", rank=4_000)], fleet)[0].rank is None


def monitor(gpu: str, node: str = "n1") -> Evidence:
    return row(node, gpu=gpu, signature="gpu_monitor.slowed", kind=Kind.THERMAL)


def test_gpus_sit_in_the_order_of_their_addresses_where_all_nodes_name_as_many() -> None:
    seen = [monitor("0000:5d:00"), monitor("0000:3b:00", "n0")]
    fleet = resolve(seen, replace(JOB, gpu_bus_ids={}), {})
    assert [one.rank for one in attribute(seen, fleet)] == [3, 0]


def test_addresses_of_two_types_of_machines_say_nothing_of_the_order() -> None:
    seen = [monitor("0000:5d:00"), monitor("0000:3b:00", "n0"), monitor("0000:1b:00", "n0")]
    fleet = resolve(seen, replace(JOB, gpu_bus_ids={}), {})
    assert [one.rank for one in attribute(seen, fleet)] == [None] * 3


def test_a_rank_that_sits_on_another_gpu_says_that_the_order_is_none() -> None:
    told = comm("n0", 0, 4, "0000:5d:00", 100, 0)
    seen = [told, monitor("0000:3b:00")]
    fleet = resolve(seen, replace(JOB, gpu_bus_ids={}), {})
    assert attribute(seen, fleet)[1].rank is None


def test_ranks_in_a_group_do_not_say_which_node_a_task_label_means() -> None:
    """`srun -l` of one launcher a node: what stands before each line numbers the nodes."""
    labelled = [
        replace(one, artifact=f"{one.node}.out",
                fields={**one.fields, "task": "1" if one.node == "n1" else "0"})
        for one in (*WORLD, *(comm("n1", 0, 2, f"0000:{0x1B + k:02x}:00", 102 + k, k)
                              for k in (0, 0, 1, 1, 0)))
    ]  # fmt: skip
    reading = replace(monitor("0000:1c:00"), artifact="n1.out", rank=1, fields={"task": "1"})
    fleet = resolve([*labelled, reading], Job(), {})
    last = attribute([*labelled, reading], fleet)[-1]
    assert (last.node, last.rank) == ("n1", 3)


@given(st.text(max_size=40))
def test_any_name_is_plain_at_once(text: str) -> None:
    assert isinstance(parse_plain_host(text), str)


@pytest.mark.parametrize(
    ("seen", "per_node", "index"),
    [
        (["0000:1b:00", "0000:9d:00"], 8, 4),
        (["0008:01:00", "0019:01:00"], 4, 3),
        (["0000:47:00", "0000:bd:00"], 8, 7),
    ],
)
def test_an_address_of_a_known_machine_is_an_index(
    seen: list[str], per_node: int, index: int
) -> None:
    assert infer_layout(seen, per_node).index(seen[-1]) == index


@pytest.mark.parametrize(
    ("seen", "per_node"),
    [
        ([], 8),
        (["0000:9d:00"], 8),
        (["0000:1b:00", "0000:9d:00"], 4),
        (["0000:9d:00", "0000:9e:00"], 8),
        # Two machines have GPUs there, at different places.
        (["0001:00:00", "000b:00:00"], 8),
    ],
)
def test_other_addresses_are_none(seen: list[str], per_node: int) -> None:
    assert infer_layout(seen, per_node) == ()


FOUR = ("n1", "n2", "n3", "n4")


def seated(*names: str | None) -> dict[int, str]:
    """Two ranks a node; None where nobody tells who they sit on."""
    return {2 * k + i: name for k, name in enumerate(names) if name for i in range(2)}


@pytest.mark.parametrize(
    ("told", "left", "home"),
    [
        pytest.param((*FOUR, None, "n10"), ["n9"], "n9", id="between two, by number"),
        pytest.param(("a1", "a2", "a3", "a4", "a5", None), ["b1"], "b1", id="behind all"),
        pytest.param((*FOUR, None, "n10"), ["n11"], None, id="not between these two"),
        pytest.param((*FOUR, None, "n10"), ["n8", "n9"], None, id="two for one place"),
        pytest.param((*FOUR[::-1], None, "n10"), ["n9"], None, id="another order"),
        pytest.param((*FOUR, None), ["n9"], "n9", id="the one place for the one node"),
        pytest.param((*FOUR[::-1], None), ["n9"], "n9", id="in whatever order"),
        pytest.param((*FOUR, None), ["n8", "n9"], None, id="four may be in order by chance"),
    ],
)
def test_a_node_takes_the_place_that_the_order_of_names_leaves(
    told: tuple[str | None, ...], left: list[str], home: str | None
) -> None:
    node_by_rank = seated(*told)
    place = 2 * told.index(None)
    notes = fill_by_names(node_by_rank, Job(), 2 * len(told), [*filter(None, told), *left])
    assert (node_by_rank.get(place), bool(notes)) == (home, home is not None)


def test_one_address_for_all_ranks_of_a_node_maps_nobody() -> None:
    """What printed it lost the domain of the address: 0008:01:00 and 0018:01:00 look alike."""
    told = [comm("n0", rank, 4, "0000:01:00", 100 + rank, rank) for rank in range(2)]
    told += [comm("n1", 2 + k, 4, f"000{k + 1}:01:00", 200 + k, k) for k in range(2)]
    fleet = resolve(told, Job(world_size=4), {})
    assert [fleet.gpu_of(rank) for rank in range(4)] == [
        "0001:01:00", "0002:01:00", "0001:01:00", "0002:01:00",
    ]  # fmt: skip


def test_a_name_that_others_only_speak_of_takes_no_place() -> None:
    told = [comm(f"n{k}", k, 7, f"0000:{k:02x}:00", 100 + k, 0) for k in (1, 2, 3, 4, 6)]
    spoken = row("n5", artifact="slurmctld.log", fields={"said_of": "n5"})
    speaks = row("n5", artifact="nodes/n5/kernel.log")
    assert resolve([*told, spoken], Job(world_size=7), {}).node_of(5) is None
    assert resolve([*told, speaks], Job(world_size=7), {}).node_of(5) == "n5"


def test_an_address_is_no_rank_where_ranks_of_the_node_are_missing() -> None:
    """Of each node one rank is known: that is not how many GPUs it has."""
    told = [comm("n0", 0, 16, "0000:1b:00", 100, 0), comm("n1", 8, 16, "0000:1b:00", 108, 0)]
    seen = monitor("0000:9d:00")
    fleet = resolve([*told, seen], Job(), {})
    assert attribute([seen], fleet)[0].rank is None


def test_a_worker_that_says_its_address_is_on_that_node():
    """Ray prints where each of its workers runs."""
    seat = Evidence(
        "ray.log", 1, "nccl.init", Kind.IDENTITY, EvidenceRole.NOISE, "", node="gpu-3", rank=8,
        fields={"address": "10.4.0.9"},
    )  # fmt: skip
    said = Evidence(
        "ray.log", 9, "python.user_code", Kind.PYTHON, EvidenceRole.ROOT, "KeyError",
        fields={"address": "10.4.0.9"},
    )  # fmt: skip
    of_another = replace(said, line=10, fields={"address": "10.4.0.9", "said_of": "gpu-4"})
    fleet = resolve([seat], Job(), {})
    nodes = [row.node for row in attribute([seat, said, of_another], fleet)]
    assert nodes == ["gpu-3", "gpu-3", None]


def printed(text: str, **fields: str) -> str | None:
    """The node of a process's line in a log of several hosts; n1 and n2 are the job's."""
    job = Job(world_size=16, gpus_per_node=8, nodes=("n1", "n2"))
    row = Evidence("job.log", 9, "cuda.x", Kind.CUDA, EvidenceRole.ROOT, text, fields=fields)
    [seen] = attribute([row], resolve([], job, {}))
    return seen.node


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("n2 task 158 E cuda.cc:1204] failed", "n2"),
        ("n2: RuntimeError: CUDA error", "n2"),
        ("[n2] RuntimeError: CUDA error", "n2"),
        ("n2.example.org | RuntimeError", "n2"),
        ("n2   | RuntimeError: CUDA error", "n2"),
        ("n9 task 158 E cuda.cc:1204] failed", None),
        ("RuntimeError: n2 said CUDA error", None),
        ("n22 task 1", None),
    ],
)
def test_the_host_in_front_of_a_line_is_where_it_was_printed(text: str, node: str | None) -> None:
    assert printed(text) == node


def test_a_collectors_label_counts_where_it_is_a_node_of_the_job() -> None:
    assert printed("RuntimeError", printed_by="n2") == "n2"
    assert printed("RuntimeError", printed_by="worker-2") is None
    assert printed("n1 RuntimeError", said_of="n2") is None


def labelled(artifact: str) -> str | None:
    """Whose a bare error of task 2 is, in a log of ``srun -l`` with an agent's line of task 1."""
    nodes = tuple(f"n{k}" for k in range(4))
    job = Job(world_size=16, gpus_per_node=4, nodes=nodes)
    agent = Evidence(
        artifact, 3, "elastic.worker_exit", Kind.ELASTIC, EvidenceRole.CONSEQUENCE, "exit", rank=1,
        fields={"task": "1", "exit_code": "1"},
    )  # fmt: skip
    error = Evidence(
        artifact, 9, "cuda.ecc", Kind.CUDA, EvidenceRole.ROOT, "ECC", rank=2, fields={"task": "2"}
    )
    rows = [agent, error]
    return attribute(rows, resolve(rows, job, {}))[-1].node


def test_labels_of_a_log_in_a_nodes_folder_are_ranks_where_all_sit_there() -> None:
    assert labelled("nodes/n0/slurm.log") == "n0"
    assert labelled("slurm.log") == "n2"


def test_task_labels_count_nodes_in_the_order_that_their_own_lines_agree_with() -> None:
    """Slurm counts tasks by the names of nodes, ranks may sit otherwise."""
    job = Job(world_size=8, gpus_per_node=4, nodes=("n7", "n3"))
    agent = Evidence(
        "slurm.log", 3, "elastic.worker_exit", Kind.ELASTIC, EvidenceRole.CONSEQUENCE, "exit",
        rank=1, fields={"task": "1", "exit_code": "1"},
    )  # fmt: skip
    error = replace(
        agent, line=9, signature="cuda.ecc", kind=Kind.CUDA, text="ECC", fields={"task": "1"}
    )
    closed = replace(
        error, line=12, signature="nccl.closed", kind=Kind.NCCL, text="closed", rank=0, node="n3",
        fields={"task": "0"},
    )  # fmt: skip
    for rows, home in (([agent, error], "n3"), ([agent, error, closed], "n7")):
        assert attribute(rows, resolve(rows, job, {}))[1].node == home


def test_an_address_that_a_log_calls_its_node_by_is_the_host_that_nccl_found_there() -> None:
    """netconsole writes who sent a line by its address."""
    seat = Evidence(
        "a.log", 1, "identity.bootstrap", Kind.IDENTITY, EvidenceRole.NOISE, "", node="n4",
        fields={"address": "10.44.0.157"},
    )  # fmt: skip
    fault = Evidence("net.log", 9, "nvidia.xid", Kind.XID, EvidenceRole.ROOT, "Xid 79",
                     node="10.44.0.157")  # fmt: skip
    for job, node in ((Job(), "n4"), (Job(nodes=("10.44.0.157", "10.44.0.158")), "10.44.0.157")):
        fleet = resolve([fault, seat], job, {})
        assert attribute([fault], fleet)[0].node == node


def test_the_same_words_of_two_hosts_in_one_log_stay_apart(tmp_path: Path) -> None:
    line = "2026-05-23T11:05:26.000Z RuntimeError: CUDA error: unspecified launch failure"
    (tmp_path / "all.log").write_text("".join(f"n{k} {line}\n" for k in (1, 2, 2)))
    rows = read_logs(find_inputs([tmp_path]).files).evidence
    job = Job(world_size=16, gpus_per_node=8, nodes=("n1", "n2"))
    seen = attribute(rows, resolve(rows, job, {}))
    assert sorted((row.node or "", row.count) for row in seen) == [("n1", 1), ("n2", 2)]


def test_a_pods_lines_are_on_the_node_that_nccl_names_behind_its_name(tmp_path: Path) -> None:
    lines = [
        f"[pod/llm-worker-{k}/pytorch] n{k}:{500 + k}:{600 + k} [0] NCCL INFO Bootstrap: Using"
        f" eth0:10.0.0.{k}<0>\n"
        for k in (1, 2)
    ]
    error = "RuntimeError: CUDA error: unspecified launch failure"
    (tmp_path / "all.log").write_text("".join([*lines, f"[pod/llm-worker-2/pytorch] {error}\n"]))
    rows = read_logs(find_inputs([tmp_path]).files).evidence
    job = Job(world_size=16, gpus_per_node=8, nodes=("n1", "n2"))
    seen = attribute(rows, resolve(rows, job, {}))
    assert [row.node for row in seen if error in row.text] == ["n2"]


def test_the_pods_that_kubectl_lists_name_nodes_and_addresses() -> None:
    listed = [
        row(f"gpu-{k}", signature="kubernetes.pod_listed", kind=Kind.IDENTITY,
            fields={"pod": f"trainer-{k}", "address": f"10.8.0.{k}"})
        for k in (1, 2)
    ]  # fmt: skip
    fleet = resolve(listed, Job(nodes=("gpu-1", "gpu-2")), {})
    assert fleet.node_of_address("trainer-2") == "gpu-2"
    assert fleet.node_of_address("10.8.0.1:54120") == "gpu-1"


SISTERS = Job(nodes=("tlc04g33", "tlc05g33", "login"))


@pytest.mark.parametrize(
    ("text", "sister"),
    [
        ("PROBLEM tlc53g53/check_gpu CRITICAL - GPU fallen off the bus", "tlc53g53"),
        ("PROBLEM tlc04g33/check_gpu CRITICAL - GPU fallen off the bus", None),
        ("tlc53g53 and tlc54g53 are out", None),
        ("PROBLEM gpu53/check_gpu CRITICAL - GPU fallen off the bus", None),
    ],
    ids=["called alike", "of the job", "two", "called otherwise"],
)
def test_a_host_that_is_called_as_the_jobs_are_is_another(text: str, sister: str | None) -> None:
    fleet = resolve([], SISTERS, {})
    assert fleet.find_sister(text) == sister
    (placed,) = attribute([row(text=text, kind=Kind.GPU)], fleet)
    assert (Trait.NOT_THE_JOB in placed.traits) == (sister is not None)
    assert placed.node == (sister or ("tlc04g33" if "tlc04g33" in text else None))


def test_devices_are_no_sisters_of_nodes_that_are_called_like_them() -> None:
    fleet = resolve([], Job(nodes=("gpu1", "gpu2")), {})
    assert fleet.find_sister("gpu7 is hot") is None
