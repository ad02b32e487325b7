"""GPUs that work and cannot be trusted: too hot, or wrong in their results."""

# ruff: noqa: E501
from benchmarks.field.dumps.run import Fault
from benchmarks.field.endings import cancelled
from benchmarks.field.incident import Incident
from benchmarks.field.kinds.registry import kind
from benchmarks.field.sources import health


@kind("gpu_thermal", "gpu_thermal", 3, vendor="nvidia")
def thermal(c: Incident) -> None:
    """A GPU throttles for heat: told by a monitor's lines; the job slows and is cancelled."""
    rng, n, g = c.rng, c.bad, c.gpu
    slower = rng.uniform(1.6, 3.0)
    c.runs(lambda _: Fault(slow={c.rank: slower}))
    told = c.begin(upto=c.at)
    log, t = c.log, c.at
    took = c.step_s * rng.uniform(1.5, 2.4)
    for k in range(rng.randrange(8, 30)):
        t += took
        log.progress(t, told + k, took * rng.uniform(0.97, 1.03), 2.1, c.world, c.base + 100_000)
    form = rng.randrange(4)
    where = rng.choice(["job", "job", "syslog", "file"])
    reason = rng.choice(["hw_thermal_slowdown", "sw_thermal_slowdown", "HW_THERMAL|HW_SLOWDOWN"])
    rows: list[str] = []
    step = max(20.0, (t - c.at) / 12)
    at = c.at - 3 * step
    while at < t:
        for m in c.nodes:
            for k in range(c.platform.per_node):
                hot = m is n and k == g and at >= c.at
                if not hot and rng.random() < 0.75:
                    continue
                values = (
                    (
                        rng.randrange(88, 97),
                        rng.randrange(280, 380),
                        rng.randrange(600, 1050),
                        reason,
                    )
                    if hot
                    else (
                        rng.randrange(52, 71),
                        rng.randrange(560, 690),
                        rng.randrange(1740, 1980),
                        "none",
                    )
                )
                row = health.telemetry_row(form, m, k, at, *values)
                if where == "job":
                    log.agent(at, m.index, row, False)
                elif where == "syslog":
                    m.say(at, row, 4, "gpu-telemetry[5123]")
                else:
                    rows.append(f"{m.name} {row}")
        at += step
    if where == "file":
        c.files["telemetry/gpu_monitor.log"] = "\n".join(rows) + "\n"
    elif where == "job":
        c.keep_job.add(c.node)
    else:
        c.keep_kernel.add(c.node)
        c.whole_log = True
    if where == "job":
        c.has_job = True
    cancelled(c, t + 30)
    c.has_dumps = c.has_dumps and rng.random() < 0.3
    c.live = c.fault_sim if c.has_dumps else None
    c.truth.hard.append("telemetry only")
    c.say("gpu_thermal", ["straggler", "hang", "inconclusive", "crash"])
    c.blame([c.rank])
    c.truth.cordon_allowed = [c.node]


@kind("sdc", "sdc", 3)
def wrong_results(c: Incident) -> None:
    """A GPU computes wrong values: a check, a rerun or a checksum names it, perhaps on another rank."""
    rng, log, t = c.rng, c.log, c.at
    c.host_stops([c.rank])
    c.begin()
    c.has_job = True
    c.keep_job |= set(range(c.count))
    n, r = c.bad, c.rank
    pick = rng.choice(["rerun", "nan_before", "checksum", "replica", "hash"])
    other = rng.choice([x for x in range(c.world) if c.node_of(x) != c.node]) if c.count > 1 else 0
    if pick == "rerun":
        log.say(
            t,
            r,
            f"ERROR:megatron.core.rerun_state_machine:Rank {r}, node {n.name}, device {c.gpu}, iteration #{c.base + 55}: First rerun: unexpected result is not reproducible within the tolerance ({rng.uniform(1, 3):.6f} != {rng.uniform(1, 3):.6f})",
        )
        log.say(
            t + 4,
            r,
            f"ERROR:megatron.core.rerun_state_machine:Rank {r}, node {n.name}, device {c.gpu}, iteration #{c.base + 55}: Possible transient error!",
        )
    elif pick == "nan_before":
        log.say(
            t,
            r,
            f"AssertionError: Rank {r}: found NaN in local forward loss calculation. Device: {c.gpu}, node: {n.full}",
        )
        log.say(
            t + 0.4,
            r,
            f"[sdc-check] rank={r} host={n.name}: replaying microbatch 3 on the same inputs: loss={rng.uniform(2, 3):.6f} (first pass: nan) -> results differ between two executions",
        )
    elif pick == "checksum":
        log.say(
            t,
            other,
            f"[replica-guard] rank {other}: parameter checksum mismatch inside data-parallel group: majority 0x{rng.getrandbits(64):016x} (all but one member), odd one out: rank {r} on {n.name} 0x{rng.getrandbits(64):016x}",
        )
        log.say(t + 1, 0, "RuntimeError: model replicas have diverged, aborting")
    elif pick == "replica":
        log.say(
            t,
            0,
            "grad-consistency: all-gathered norms before reduction: "
            + ", ".join(
                f"r{x}={'1.7e+19' if x == r else f'{rng.uniform(0.3, 0.5):.4f}'}"
                for x in sorted({0, other, r, (r + 1) % c.world})
            ),
        )
        log.say(
            t + 0.5,
            0,
            f"grad-consistency: rank {r} deviates by 19 orders of magnitude on identical data; recompute on {n.name} gpu {c.gpu} not bit-identical",
        )
    else:
        log.say(
            t,
            0,
            f"determinism test failed: sha256 of GEMM output differs on 1 of {c.world} GPUs: node={n.name} local_rank={c.gpu} (global rank {r}) iteration 3 of 10",
        )
    c.told = True
    at = t + 3
    c.log.pylog(
        at + 2,
        c.node if pick in ("rerun", "nan_before") else c.order[0],
        "E",
        "torch/distributed/elastic/multiprocessing/api.py:882",
        "failed (exitcode: 65) local_rank: 0 (pid: 4112) of binary: /usr/bin/python3",
    )
    c.ended = at + rng.uniform(10, 40)
    c.has_dumps = c.has_dumps and rng.random() < 0.3
    if c.has_dumps:
        c.dies(list(range(c.world)))
        c.has_dumps = False
    c.say("sdc", ["crash", "inconclusive"], *(["numerical"] if pick == "nan_before" else []))
    c.blame([r])
    c.truth.ranks_sure = True
    c.truth.cordon_allowed = [c.node]
