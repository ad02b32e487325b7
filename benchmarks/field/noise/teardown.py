"""What nodes print when a job has been given up: drivers, containers, schedulers, file systems."""

# ruff: noqa: E501

import random

from benchmarks.field.nodes import Node

DESTROY = (
    "DESTROY_QP(0x501) op_mod(0x0) failed, status bad resource state(0x9)",
    "DESTROY_MKEY(0x202) op_mod(0x0) failed, status bad resource(0x5)",
    "DEALLOC_PD(0x801) op_mod(0x0) failed, status resource busy(0x6)",
    "DESTROY_CQ(0x401) op_mod(0x0) failed, status bad resource state(0x9)",
    "DEALLOC_UAR(0x803) op_mod(0x0) failed, status bad parameter(0x3)",
    "2ERR_QP(0x507) op_mod(0x0) failed, status bad resource(0x5)",
)


def _nic(rng: random.Random, n: Node, t: float) -> None:
    driver = n.platform.nic_driver
    for _ in range(rng.choice([1, 1, 2, 5, 12])):
        dev, _, bdf = n.nic(rng.randrange(len(n.platform.nics)))
        pid = rng.choice(n.pids)
        t += rng.expovariate(3)
        if driver == "mlx5_core":
            if rng.random() < 0.7:
                n.say(
                    t,
                    f"mlx5_core {bdf}: mlx5_cmd_out_err:{rng.choice([802, 808, 838])}:(pid {pid}): {rng.choice(DESTROY)}, syndrome (0x{rng.getrandbits(24):06x}), err(-22)",
                    3,
                )
            else:
                n.say(t, rng.choice([
                    f"infiniband {dev}: destroy_qp_common:2802:(pid {pid}): modify QP 0x{rng.getrandbits(20):06x} to RESET failed",
                    f"infiniband {dev}: dump_cqe:277:(pid {pid}): WC error: 5, Message: Work Request Flushed Error",
                    f"{dev}: dereg_mr: destroy_mkey failed, err -22",
                    f"infiniband {dev}: create_qp:3206:(pid {pid}): Create QP type 2 failed",
                ]), 4)  # fmt: skip
        elif driver == "efa":
            n.say(
                t,
                f"infiniband {dev}: Failed to process command DESTROY_QP (opcode {rng.randrange(2, 6)}) comp_status 7 err -22",
                3,
            )
        elif driver == "gve":
            n.say(t, f"gve {bdf}: AQ command failed with status -8", 3)
        else:
            n.say(t, f"bnxt_en {bdf}: bnxt_re_destroy_qp: Failed to destroy HW QP", 3)


def _gpu(rng: random.Random, n: Node, t: float, victims: float) -> None:
    if n.platform.vendor == "amd":
        if rng.random() < victims:
            n.say(
                t,
                f"amdgpu: Freeing queue vital buffer 0x7f{rng.getrandbits(40):010x}, queue evicted",
                4,
            )
            n.say(t + 0.1, f"amdgpu: pasid 0x80{rng.randrange(16, 99)}: evicting process", 4)
        return
    for g in range(n.platform.per_node):
        if rng.random() < victims:
            ch = (
                f"Ch {rng.randrange(8, 40):08x}"
                if int(n.driver[:3]) < 580
                else f"channel 0x{rng.randrange(8, 40):08x}"
            )
            for _ in range(rng.choice([1, 2, 6])):
                n.xid(t + rng.uniform(0, 2), g, 45, ch, n.pids[g])
        elif rng.random() < victims * 0.2:
            n.xid(t + rng.uniform(0, 2), g, 43, f"Ch {rng.randrange(8, 40):08x}", n.pids[g])
    if rng.random() < 0.4:
        n.say(
            t + 1,
            "nvidia-peermem nv_get_p2p_free_callback:127 ERROR detected invalid context, skipping further processing",
            3,
        )
    if rng.random() < 0.2:
        n.say(
            t + 1,
            "NVRM: nvAssertOkFailedNoLog: Assertion failed: Invalid object handle [NV_ERR_INVALID_OBJECT_HANDLE] (0x00000033) returned from pRmApi->Free(pRmApi, hClient, hObject) @ rs_server.c:259",
            3,
        )


def _host(rng: random.Random, n: Node, t: float, job: str, scheduler: str) -> None:
    pid = rng.randrange(2000, 9000)
    if scheduler == "slurm":
        rows = [
            ("slurmstepd", f"error: *** STEP {job}.0 ON {n.name} CANCELLED AT teardown ***"),
            (
                "slurmd",
                "error: slurm_send_node_msg: REQUEST_STEP_COMPLETE has msg_type: Zero Bytes were transmitted or received",
            ),
            ("slurmd", f"epilog for job {job} ran for {rng.randrange(2, 40)} seconds"),
            ("slurmstepd", f"done with step [{job}.0] slurmd_rc [0x0] job_rc [0x8600]"),
        ]
    elif scheduler.startswith("kubernetes"):
        rows = [
            (
                "kubelet",
                f'I{rng.randrange(101, 1231):04d} kubelet.go:2431] "SyncLoop (PLEG): event for pod" pod="train/job-{job}-worker-{n.index}" event={{Type:ContainerDied}}',
            ),
            (
                "containerd",
                'time="2025-01-01T00:00:00Z" level=info msg="shim disconnected" id=4f9d namespace=k8s.io',
            ),
            (
                "containerd",
                'time="2025-01-01T00:00:00Z" level=warning msg="cleaning up after shim disconnected" id=4f9d',
            ),
            (
                "kubelet",
                'E0101 remote_runtime.go:366] "RemoveContainer from runtime service failed" err="rpc error: code = NotFound desc = an error occurred when try to find container"',
            ),
        ]
    else:
        rows = [
            (
                "dockerd",
                'level=error msg="attach: stdout: write unix /run/docker.sock->@: write: broken pipe"',
            ),
            ("systemd", f"docker-{rng.getrandbits(48):012x}.scope: Deactivated successfully."),
            ("systemd", "run-docker-runtime\\x2drunc-moby.mount: Deactivated successfully."),
        ]
    for who, text in rows:
        if rng.random() < 0.6:
            n.say(t + rng.uniform(0, 20), text, 4, f"{who}[{pid}]")
    if rng.random() < 0.35:
        victim = rng.choice(n.pids)
        n.say(
            t + rng.uniform(5, 60),
            f"Process {victim} ({n.process}) of user 10021 dumped core.",
            2,
            "systemd-coredump[9917]",
        )
    if rng.random() < 0.25:
        n.say(t + rng.uniform(30, 180), rng.choice([
            "umount: /mnt/enroot/data: target is busy.",
            "overlayfs: missing redirect",
            "nvidia-uvm: Unloaded the UVM driver.",
            "fuse: trying to steal weird page",
            "XFS (loop4): Unmounting Filesystem",
        ]), 5)  # fmt: skip


def teardown(rng: random.Random, nodes: list[Node], at: float, job: str, scheduler: str) -> None:
    """The end of a job on every node that still lives."""
    victims = rng.choice([0.0, 0.0, 0.25, 0.8])
    for n in nodes:
        if n.dead_at is not None:
            continue
        t = at + rng.uniform(0.2, 3)
        _gpu(rng, n, t, victims)
        if rng.random() < 0.55:
            _nic(
                rng,
                n,
                t + rng.choice([0.5, 5, 60, 400]),
            )
        _host(rng, n, t + 1, job, scheduler)
