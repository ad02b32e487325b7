"""From outside the nodes: maintenance in the words of schedulers and clouds, and storage."""

# ruff: noqa: E501
from benchmarks.field.endings import aftermath, by_crash, by_timeout, traceback
from benchmarks.field.incident import Incident
from benchmarks.field.kinds.registry import kind
from benchmarks.field.sources import schedulers

SERVERS = {
    "lustre": "10.8.1.31@o2ib", "nfs": "nas-train-02", "gpfs": "gpfs01-nsd", "weka": "weka-backend-7", "vast": "vast-vip-11", "s3": "s3",
    "fsx": "10.0.7.91@tcp", "efs": "fs-0aa71c9d1.efs.us-east-1.amazonaws.com", "blobfuse": "blob", "gcsfuse": "gcs", "filestore": "10.243.0.2",
    "ceph": "10.4.0.17:6789", "cpfs": "cpfs-0aa1.cn-beijing", "juicefs": "juicefs-meta",
}  # fmt: skip


@kind("host_maintenance", "host_maintenance", 6)
def maintenance(c: Incident) -> None:
    """A node is taken away, or the job is: told by whoever took it, often by nobody else."""
    c.say("host_maintenance", ["crash", "hang", "inconclusive"])
    scheduler = c.scheduler
    if scheduler == "slurm":
        pick = c.rng.choice([_slurm_limit, _slurm_preempt, _slurm_drain, _shutdown, _cloud])
    elif scheduler.startswith("kubernetes"):
        pick = c.rng.choice([_kube, _kube, _kube, _shutdown, _cloud])
    else:
        pick = c.rng.choice([_shutdown, _shutdown, _cloud, _batch])
    if pick is _cloud and c.platform.key not in ("aws-p5", "azure-nd", "gcp-a3"):
        pick = _kube if scheduler.startswith("kubernetes") else _shutdown
    pick(c)
    c.truth.notes.append(pick.__name__.strip("_"))


def _gone(c: Incident, at: float) -> None:
    """A node's processes get a signal and leave; the others notice."""
    if c.rng.random() < 0.6:
        c.log.pylog(
            at,
            c.node,
            "W",
            "torch/distributed/elastic/agent/server/api.py:719",
            "Received 15 death signal, shutting down workers",
        )
        for p in c.bad.pids[:4]:
            c.log.pylog(
                at + 0.1,
                c.node,
                "W",
                "torch/distributed/elastic/multiprocessing/api.py:908",
                f"Sending process {p} closing signal SIGTERM",
            )
    c.no_dump |= set(c.ranks_on(c.node))
    if c.rng.random() < 0.5:
        by_crash(c, at + 1, set(c.ranks_on(c.node)), code=-15)
    else:
        by_timeout(c, set(c.ranks_on(c.node)))


def _whole(c: Incident, text: str, at: float) -> None:
    c.dies(list(range(c.world)))
    c.has_dumps = False
    c.has_job = True
    c.begin()
    first = c.order[0]
    c.keep_job.add(first)
    c.log.agent(at, first, text)
    for n in c.nodes:
        c.log.pylog(
            at + c.rng.random(),
            n.index,
            "W",
            "torch/distributed/elastic/agent/server/api.py:719",
            "Received 15 death signal, shutting down workers",
        )
    c.ended = at + 30
    c.exit_code = 143


def _slurm_limit(c: Incident) -> None:
    n0 = c.nodes[c.order[0]]
    _whole(
        c,
        f"slurmstepd: error: *** JOB {c.job} ON {n0.name} CANCELLED AT {c.log.wall(c.at, n0.index):%Y-%m-%dT%H:%M:%S} DUE TO TIME LIMIT ***",
        c.at,
    )


def _slurm_preempt(c: Incident) -> None:
    n0 = c.nodes[c.order[0]]
    if c.rng.random() < 0.5:
        _whole(
            c,
            f"slurmstepd: error: *** STEP {c.job}.0 ON {n0.name} CANCELLED AT {c.log.wall(c.at, n0.index):%Y-%m-%dT%H:%M:%S} DUE TO PREEMPTION ***",
            c.at,
        )
        return
    _whole(
        c,
        f"slurmstepd: error: *** STEP {c.job}.0 ON {n0.name} CANCELLED AT {c.log.wall(c.at, n0.index):%Y-%m-%dT%H:%M:%S} ***",
        c.at,
    )
    rows = schedulers.slurm_noise(c.rng, c.nodes, c.at, c.job)
    rows += [
        (
            c.at - 1,
            f"_preempt_jobs: preempted JobId={c.job} has been requeued to reclaim resources for JobId={int(c.job) + 71}",
        ),
        (c.at - 0.9, f"requeue JobId={c.job} due to preemption"),
    ]
    c.files["slurmctld.log"] = schedulers.slurm_lines(rows)


def _slurm_drain(c: Incident) -> None:
    rng, n, t = c.rng, c.bad, c.at
    c.dies(c.ranks_on(c.node))
    c.begin()
    rows = schedulers.slurm_noise(rng, c.nodes, t, c.job)
    reason = rng.choice(
        [
            "firmware update CHG0041182",
            "scheduled maintenance window",
            "rack move r17",
            "kernel patching",
        ]
    )
    rows += [
        (t - 40, f"update_node: node {n.name} reason set to: {reason}"),
        (
            t - 39.9,
            f"update_node: node {n.name} state set to {rng.choice(['DOWN', 'FAIL', 'REBOOT ISSUED'])}",
        ),
        (t - 0.5, f"Killing JobId={c.job} on failed node {n.name}"),
        (t - 0.4, f"requeue job JobId={c.job} due to failure of node {n.name}"),
    ]
    c.files[rng.choice(["slurmctld.log", "slurm/slurmctld.log"])] = schedulers.slurm_lines(rows)
    _gone(c, t)
    c.truth.hard.append("one source")
    c.blame(None)


def _kube(c: Incident) -> None:
    rng, n, t = c.rng, c.bad, c.at
    c.dies(c.ranks_on(c.node))
    c.begin()
    pod = f"{c.job}-worker-{c.order.index(c.node)}"
    rows = schedulers.kube_noise(rng, c.nodes, t, c.job)
    rows += rng.choice([
        [(t - 6, "Normal", "NodeNotSchedulable", f"node/{n.name}", f"Node {n.name} status is now: NodeNotSchedulable"), (t - 2, "Normal", "Evicted", f"pod/{pod}", f"Evicted pod: drained for upgrade of node {n.name}"), (t - 1, "Normal", "Killing", f"pod/{pod}", "Stopping container pytorch")],
        [(t - 5, "Warning", "TaintManagerEviction", f"pod/{pod}", f"Marking for deletion Pod train/{pod} (node {n.name} tainted node.kubernetes.io/unschedulable:NoExecute for maintenance)"), (t - 1, "Normal", "Killing", f"pod/{pod}", "Stopping container pytorch")],
        [(t - 3, "Normal", "Preempted", f"pod/{pod}", f"Preempted by pod 5b1c-9f in namespace infer on node {n.name}"), (t - 1, "Normal", "Killing", f"pod/{pod}", "Stopping container pytorch")],
        [(t - 120, "Normal", "DisruptionTerminating", f"node/{n.name}", "Disrupting Node: Drifted/Delete"), (t - 4, "Normal", "Evicted", f"pod/{pod}", "Evicted pod")],
        [(t - 90, "Warning", "SpotInterrupted" if c.platform.key == "aws-p5" else "PreemptScheduled", f"node/{n.name}", "Spot interruption warning was triggered" if c.platform.key == "aws-p5" else "Node will be preempted by its provider"), (t - 2, "Normal", "Killing", f"pod/{pod}", "Stopping container pytorch")],
        [(t - 30, "Normal", "NodeMaintenance", f"node/{n.name}", "cordoned by maintenance-operator: BIOS update"), (t - 1, "Normal", "EvictionByEvictionAPI", f"pod/{pod}", f"Pod was evicted by the eviction API from {n.name}")],
    ])  # fmt: skip
    form = rng.choice([schedulers.kube_table, schedulers.kube_json, schedulers.kube_stream])
    if form is schedulers.kube_table:
        c.files["k8s/events.txt"] = schedulers.kube_table(rows, t + 1200)
    elif form is schedulers.kube_json:
        c.files["k8s/events.json"] = schedulers.kube_json(rows)
    else:
        c.files["k8s/event-exporter.jsonl"] = schedulers.kube_stream(rows)
    _gone(c, t)
    c.truth.hard.append("one source")
    c.blame(None)


def _shutdown(c: Incident) -> None:
    rng, n, t = c.rng, c.bad, c.at
    c.dies(c.ranks_on(c.node))
    c.begin()
    c.keep_kernel.add(c.node)
    c.whole_log = True
    rows = [
        (
            "systemd-logind[1801]",
            rng.choice(
                [
                    "The system will reboot now!",
                    "System is rebooting (kernel update)",
                    "Power key pressed short.",
                ]
            ),
        ),
        ("systemd[1]", "Stopping User Manager for UID 10021..."),
        (
            "systemd[1]",
            rng.choice(
                [
                    "Stopped target Multi-User System.",
                    "Reached target System Reboot.",
                    "Shutting down.",
                ]
            ),
        ),
        ("systemd-shutdown[1]", "Sending SIGTERM to remaining processes..."),
        ("systemd-shutdown[1]", "Syncing filesystems and block devices."),
    ]
    if rng.random() < 0.5:
        n.say(
            t - 60,
            f"root : TTY=pts/0 ; PWD=/root ; USER=root ; COMMAND=/usr/sbin/shutdown -r +1 {rng.choice(['firmware', 'patch window', 'planned maintenance'])}",
            5,
            "sudo[81231]",
        )
    for i, (who, text) in enumerate(rows):
        n.say(t + i * 0.7, text, 5, who)
    n.say(t + 4.5, "reboot: Restarting system", 0)
    n.dead_at = t + 5
    n.reboots.append(t + rng.uniform(200, 700))
    _gone(c, t)
    c.blame(None)


def _cloud(c: Incident) -> None:
    rng, n, t = c.rng, c.bad, c.at
    c.dies(c.ranks_on(c.node))
    c.begin()
    if c.platform.key == "azure-nd":
        c.files[f"nodes/{n.name}/scheduledevents.json"] = schedulers.azure_event(
            [n.name], rng.choice(["Reboot", "Redeploy", "Preempt", "Terminate"]), t
        )
    elif c.platform.key == "aws-p5":
        instance = f"i-0{rng.getrandbits(64):016x}"
        code, text = rng.choice([
            ("AWS_EC2_INSTANCE_RETIREMENT_SCHEDULED", f"EC2 has detected degradation of the underlying hardware hosting your instance {instance} ({n.name}). It is scheduled for retirement."),
            ("AWS_EC2_SYSTEM_MAINTENANCE_EVENT", f"Instance {instance} ({n.name}) is being rebooted for scheduled maintenance of the host."),
            ("AWS_EC2_SPOT_INTERRUPTION", f"Spot instance {instance} ({n.name}) will be interrupted; action: terminate."),
        ])  # fmt: skip
        c.files["cloud/health-event.json"] = schedulers.aws_event(
            n.name, instance, t - 60, code, text
        )
    else:
        c.keep_kernel.add(c.node)
        c.whole_log = True
        n.say(
            t - 50,
            f"maintenance-event metadata changed: NONE -> {rng.choice(['TERMINATE_ON_HOST_MAINTENANCE', 'MIGRATE_ON_HOST_MAINTENANCE'])}",
            5,
            "google_metadata_script_runner[911]",
        )
        n.say(
            t - 3,
            "Shutting down: host maintenance of the instance begins now",
            5,
            "google_guest_agent[930]",
        )
    n.dead_at = t + 4
    _gone(c, t)
    c.truth.hard.append("one source")
    c.blame(None)


def _batch(c: Incident) -> None:
    rng = c.rng
    text = rng.choice([
        "=>> PBS: job killed: walltime 86417 exceeded limit 86400",
        "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\nExited with exit code 140.",
        "TERM_PREEMPT: job killed after preemption.",
        "[launcher] SIGTERM received from the batch system: maintenance reservation begins, exiting",
    ])  # fmt: skip
    _whole(c, text, c.at)


@kind("storage", "storage", 4)
def storage(c: Incident) -> None:
    """Shared storage fails under reads or checkpoints: many ranks say so, or wait in silence."""
    rng, t = c.rng, c.at
    kind_ = rng.choice(c.platform.storage)
    server = SERVERS[kind_]
    c.has_job = True
    c.keep_job |= set(range(c.count))
    c.say("storage", ["crash", "hang", "inconclusive"])
    c.avoid.add("nfs")
    hang = (
        kind_ in ("lustre", "nfs", "fsx", "efs", "filestore", "ceph", "gpfs", "vast")
        and rng.random() < 0.5
    )
    if hang:
        c.host_stops(
            list(range(c.world))
            if rng.random() < 0.5
            else sorted(rng.sample(range(c.world), max(3, c.world // 2)))
        )
    else:
        c.dies(list(range(c.world)))
        c.has_dumps = False
    c.begin()
    c.log.say(
        t - 1,
        0,
        rng.choice(
            [
                f"saving checkpoint at iteration {c.base} to /checkpoints/run7 in torch_dist format",
                f"Saving model checkpoint to /mnt/ckpt/global_step{c.base}",
            ]
        ),
        False,
    )
    for n in c.nodes:
        c.keep_kernel.add(n.index)
        at = t + rng.uniform(0, 20)
        if kind_ in ("nfs", "efs", "filestore", "vast"):
            n.say(
                at,
                f"nfs: server {server} not responding, {rng.choice(['still trying', 'timed out'])}",
                5,
            )
        elif kind_ in ("lustre", "fsx"):
            n.say(
                at,
                f"LustreError: 11-0: scratch-OST0011-osc-ffff9a: operation ost_write to node {server} failed: rc = -107",
                3,
            )
            n.say(
                at + 0.1,
                f"Lustre: scratch-OST0011-osc-ffff9a: Connection to scratch-OST0011 (at {server}) was lost; in progress operations using this service will wait for recovery to complete",
                4,
            )
        elif kind_ == "ceph":
            n.say(at, f"libceph: mon0 (1){server} session lost, hunting for new mon", 4)
            n.say(at + 30, "ceph: mds0 hung", 4)
        elif kind_ == "gpfs":
            n.say(
                at,
                f"mmfs: [E] Node {server} is unreachable; file system scratch: stale, panic unmount",
                3,
                "mmfsd[4401]",
            )
    if hang:
        by_timeout(c, share=1.0)
        c.truth.alternates = []
        return
    error = {
        "s3": "botocore.exceptions.ClientError: An error occurred (503) when calling the UploadPart operation (reached max retries: 4): Slow Down",
        "gcsfuse": "OSError: [Errno 5] Input/output error: '/gcs/checkpoints/run7/shard_3.distcp'",
        "blobfuse": "azure.core.exceptions.ServiceResponseError: ('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))",
        "juicefs": "OSError: [Errno 5] Input/output error: '/jfs/tokens/part-0311.bin'",
    }.get(kind_, rng.choice([
        "OSError: [Errno 116] Stale file handle: '/checkpoints/run7/iter_0005000/__3_1.distcp'",
        "OSError: [Errno 28] No space left on device: '/checkpoints/run7/iter_0005000'",
        "OSError: [Errno 122] Disk quota exceeded",
        "torch.distributed.checkpoint.api.CheckpointException: CheckpointException ranks:dict_keys([0, 3, 5]) [Errno 121] Remote I/O error",
        "RuntimeError: [enforce fail at inline_container.cc:603] . unexpected pos 1879048192 vs 1879048086",
    ]))  # fmt: skip
    who = [r for r in range(c.world) if rng.random() < 0.6] or [0]
    for r in who:
        traceback(c, t + rng.uniform(0, 15), r, error)
    c.ended = t + 40
    aftermath(c, c.ended, 1)
