"""An incident as files: dumps, logs in the forms of its cluster, job.json, and its truth."""

# ruff: noqa: E501
import datetime as dt
import json
import random
from pathlib import Path

from benchmarks.field import packing
from benchmarks.field.dumps import recorder
from benchmarks.field.dumps.recorder import sequence
from benchmarks.field.envelopes import FORMS, UPTIME_ONLY, render
from benchmarks.field.incident import Incident
from benchmarks.field.joblog import JobLine
from benchmarks.field.joblog import render as job_text

ROWS = {
    "gpu": "Faulty GPU", "nvlink": "Faulty GPU", "gpu_hbm": "GPU HBM3 Memory", "gpu_sram": "GPU SRAM Memory",
    "gpu_gsp": "GPU System Processor", "gpu_thermal": "GPU Thermal Interface + Sensor", "sdc": "Silent Data Corruption",
    "nic": "NIC", "network": "Network Switch/Cable", "ssd": "SSD", "power": "Power Supply", "chassis": "Server Chassis",
    "io_board": "IO Expansion Board", "cpu": "CPU", "host_memory": "System Memory", "host_maintenance": "Host Maintenance",
    "software_user": "Software Bug", "software_framework": "Software Bug", "collective_mismatch": "Software Bug",
    "host_stall": "Software Bug", "gpu_oom": "Software Bug", "host_oom": "Software Bug", "numerical": "Software Bug",
    "dependency": "Dependency", "storage": "Dependency", "nccl_timeout": "NCCL Watchdog Timeouts",
    "straggler": None, "none": None,
}  # fmt: skip
HARDWARE = frozenset(
    [
        "gpu",
        "nvlink",
        "gpu_hbm",
        "gpu_sram",
        "gpu_gsp",
        "gpu_thermal",
        "sdc",
        "nic",
        "network",
        "ssd",
        "power",
        "chassis",
        "io_board",
        "cpu",
        "host_memory",
    ]
)
DUMP_NAMES = (
    "comm_lib_trace_rank_{r}", "comm_lib_trace_rank_{r}", "nccl_trace_rank_{r}", "nccl_trace_rank_{h}_{r}", "fr_{r}.pkl",
    "trace-{r:05d}.pickle", "{j}_rank{r}", "dump.{r:04d}", "nccl_fr.{h}.{r}", "rank_{r}/nccl_trace_{r}",
)  # fmt: skip


def _iso(at: float) -> str:
    return dt.datetime.fromtimestamp(at, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _job_json(c: Incident, rng: random.Random, how: str) -> dict[str, object]:
    names = [c.nodes[i].name for i in c.order]
    per = c.platform.per_node
    out: dict[str, object] = {"job_id": c.job, "world_size": c.world}
    if how == "nodes":
        out.update(nodes=names, gpus_per_node=per)
    elif how == "rank_to_node":
        out["rank_to_node"] = {str(r): c.nodes[c.node_of(r)].name for r in range(c.world)}
        out["gpus_per_node"] = per
    elif rng.random() < 0.6:
        out["gpus_per_node"] = per
    if rng.random() < 0.7:
        out["started_at"] = _iso(c.started)
    if c.ended is not None and rng.random() < 0.7:
        out["failed_at"] = _iso(c.ended)
        out["exit_code"] = c.exit_code
    if how in ("nodes", "rank_to_node") and rng.random() < 0.5:
        out["gpu_bus_ids"] = {n.name: [f"{b}.0" for b in c.platform.buses] for n in c.nodes}
    if c.leaves is not None:
        out["leaf_switch"] = {n.name: c.leaves[n.index] for n in c.nodes}
    if rng.random() < 0.5:
        out["name"] = rng.choice(["llama3-70b-cpt", "dense-8b", "moe-16x", "sft-nightly"])
        out["labels"] = {"framework": c.log.framework, "queue": "prod"}
    if rng.random() < 0.4:
        out["cluster"] = c.platform.key
    return out


def _dumps(c: Incident, rng: random.Random) -> tuple[dict[int, bytes], dict[int, str]]:
    """Bytes and file name of each rank's dump."""
    out: dict[int, bytes] = {}
    names: dict[int, str] = {}
    if not c.has_dumps or c.run is None:
        return out, names
    rec = c.recorder()
    as_json = c.new_torch and rng.random() < 0.1
    pattern = rng.choice(DUMP_NAMES)
    per_node = {i: rng.uniform(0, 2.5) for i in range(c.count)}
    for r in range(c.world):
        if r in c.no_dump:
            continue
        if c.live is not None:
            at = (
                c.live
                + (per_node[c.node_of(r)] if c.spread else 0.0) * c.spread
                + rng.uniform(0, 0.4) * c.spread
            )
        else:
            at = (c.ended - c.at if c.ended else c.timeout) + c.fault_sim
        data = recorder.describe(c.run, r, rec, at, c.nodes[c.node_of(r)].skew, rng)
        raw = recorder.as_json(data) if as_json else recorder.as_pickle(data)
        if r in c.cut_dumps:
            raw = raw[: int(len(raw) * rng.random() * 0.9)] if rng.random() < 0.8 else b""
        name = pattern.format(r=r, h=c.nodes[c.node_of(r)].name, j=c.job)
        out[r] = raw
        names[r] = name + (".json" if as_json and "." not in name.split("/")[-1] else "")
    return out, names


class _Folder:
    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    def add(self, name: str, data: bytes | str) -> None:
        raw = data.encode() if isinstance(data, str) else data
        if name in self.files:
            raw = self.files[name] + raw
        self.files[name] = raw


def _kernel_logs(c: Incident, rng: random.Random, folder: _Folder, flat: bool) -> None:
    mixed = rng.random() < 0.12
    central = (
        rng.random() < 0.08
        and c.form
        in ("rsyslog", "rsyslog_iso", "rfc5424", "journal", "loki", "stackdriver", "netconsole")
        and c.form != "netconsole"
    )
    whole: list[tuple[float, str]] = []
    until = c.collected or c.at + 600
    for n in c.nodes:
        if n.index in c.lost_kernel and n.index not in c.keep_kernel:
            continue
        form = c.form if not mixed else rng.choice(sorted(FORMS))
        if c.whole_log and FORMS[form][1] and n.index in c.keep_kernel:
            form = rng.choice([f for f in sorted(FORMS) if not FORMS[f][1]])
        boots = [n.boot, *n.reboots]
        since = (
            n.boot - 1
            if rng.random() < 0.5
            or form in UPTIME_ONLY
            or (c.long_log and n.index in c.keep_kernel)
            else c.at - rng.uniform(0.05, 5) * 86400
        )
        if form in (
            "raw",
            "raw_thread",
            "journal_monotonic",
            "kmsg",
            "human",
            "human_decoded",
            "iso",
        ):
            since = max(since, max(boots) - 1)  # a ring holds one boot
            if n.dead_at is not None and max(boots) > n.dead_at and n.index in c.keep_kernel:
                form = rng.choice(["journal", "rsyslog", "journal_json", "serial", "netconsole"])
                since = n.boot - 1
        rows = render(n, form, since, until)
        if len(rows) > 60 and rng.random() < 0.15:
            rows.insert(
                rng.randrange(20, len(rows) - 20),
                f"** {rng.randrange(2, 60)} printk messages dropped **",
            )
        text = "\n".join(rows) + "\n"
        if central:
            whole.append((0.0, text))
            continue
        base = FORMS[form][2]
        if flat:
            name = (
                f"{n.name}.{base}" if rng.random() < 0.5 else f"{base.split('.')[0]}-{n.name}.log"
            )
        else:
            name = f"nodes/{n.name}/" + (
                base if rng.random() < 0.6 else rng.choice(["kernel.log", "kern.log", "system.log"])
            )
        raw = text.encode()
        pick = rng.random()
        if pick < 0.07:
            name, raw = name + ".gz", packing.gz(raw)
        elif pick < 0.13:
            name, raw = name + ".zst", packing.zst(raw)
        folder.add(name, raw)
    if whole:
        folder.add(
            rng.choice(["syslog-server/all-nodes.log", "central-syslog.log"]),
            "".join(t for _, t in whole),
        )


def _job_logs(c: Incident, rng: random.Random, folder: _Folder, shape: str, flat: bool) -> None:
    log = c.log
    lines = [x for x in log.lines if c.collected is None or x.at <= c.collected + 5]
    gone = {n.index: n.dead_at for n in c.nodes if n.dead_at is not None}
    lines = [
        x
        for x in lines
        if x.node not in gone
        or x.at < (gone[x.node] or 0.0)
        or (x.rank is None and x.text.startswith(("srun", "slurmstepd")))
    ]
    lost = {i for i in c.lost_job if i not in c.keep_job}
    if shape == "merged":
        style = log.prefix
        name = rng.choice(
            [
                f"slurm-{c.job}.out",
                "train.log",
                f"{c.job}.log",
                f"logs/{c.job}.o{c.job}",
                "stdout.txt",
            ]
        )
        if rng.random() < 0.2:
            folder.add(
                name.replace(".out", "").replace(".log", "") + ".out",
                job_text(log, [x for x in lines if not x.err], style),
            )
            folder.add(
                name.replace(".out", "").replace(".log", "") + ".err",
                job_text(log, [x for x in lines if x.err], style),
            )
        else:
            folder.add(name, job_text(log, lines, style))
        return
    by: dict[tuple[int, int | None], list[JobLine]] = {}
    each = shape == "per_rank"
    for x in lines:
        if x.node in lost:
            continue
        by.setdefault((x.node, x.rank if each else None), []).append(x)
    style = log.prefix if log.prefix not in ("srun", "pdsh") else "rank"
    base = rng.choice(["train.log", "worker.out", "job.err", "stdout.log"])
    for (node, rank), rows in sorted(
        by.items(), key=lambda x: (x[0][0], -1 if x[0][1] is None else x[0][1])
    ):
        n = c.nodes[node]
        if each:
            name = "torchrun.log" if rank is None else f"rank_{rank}.out"
            text = job_text(log, rows, "none" if rank is not None and rng.random() < 0.5 else style)
        else:
            name, text = base, job_text(log, rows, style)
        folder.add(f"{n.name}-{name}" if flat else f"nodes/{n.name}/{name}", text)


def write(c: Incident, root: Path, truths: Path) -> dict[str, object]:
    """Write the case and its truth; returns the truth."""
    rng = c.rng
    shape = rng.choice(
        ["standard", "standard", "dumps_in_nodes", "flat", "merged", "merged", "per_rank", "tar"]
    )
    layout = "standard" if shape == "tar" else shape
    how = rng.choice(["nodes", "nodes", "nodes", "rank_to_node", "none", "nofile"])
    style_knows = c.log.prefix in ("rank", "rank_stamp", "mpi") or c.info
    if how in ("none", "nofile") and not (style_knows and c.has_job) and layout != "dumps_in_nodes":
        how = "nodes"
    if how in ("none", "nofile") and layout == "merged" and not c.info:
        how = "nodes"
    if how in ("none", "nofile") and layout != "dumps_in_nodes":
        c.keep_job |= set(range(c.count))
    folder = _Folder()
    flat = layout == "flat"
    if how != "nofile":
        folder.add("job.json", json.dumps(_job_json(c, rng, how), indent=1))
    raws, names = _dumps(c, rng)
    for r, raw in raws.items():
        if layout == "dumps_in_nodes":
            place = f"nodes/{c.nodes[c.node_of(r)].name}/{names[r].split('/')[-1]}"
        else:
            place = names[r] if flat else f"fr/{names[r]}"
        folder.add(place, raw)
    if c.has_kernel:
        _kernel_logs(c, rng, folder, flat)
    if c.has_job:
        _job_logs(c, rng, folder, layout, flat)
    for name, text in c.files.items():
        folder.add(name, text)
    if rng.random() < 0.1:
        folder.add(rng.choice(["NOTES.txt", "collect.log", "MANIFEST"]), "collected by on-call\n")
    if len(folder.files) <= 1 and not raws:
        folder.add("collect.log", "nothing else found\n")
    root.mkdir(parents=True, exist_ok=True)
    if shape == "tar":
        inner = {k: v for k, v in folder.files.items() if k != "job.json"}
        squeeze = rng.random() < 0.6
        (root / ("incident.tar.gz" if squeeze else "incident.tar")).write_bytes(
            packing.tar(inner, squeeze)
        )
        if "job.json" in folder.files:
            (root / "job.json").write_bytes(folder.files["job.json"])
    else:
        for name, data in folder.files.items():
            path = root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
    truth = truth_of(c, shape, how, sorted(raws))
    (truths / f"{c.id}.json").write_text(json.dumps(truth, indent=1) + "\n")
    return truth


def _op(c: Incident) -> dict[str, object] | None:
    if c.run is None or c.op_at is None:
        return None
    rank, i = c.op_at
    if i >= len(c.run.ops[rank]):
        return None
    op = c.run.ops[rank][i]
    group = c.run.mesh.groups[op.group]
    return {
        "rank": rank,
        "group": group.name,
        "role": group.role,
        "name": op.name,
        "seq": sequence(c.run, rank, i, c.base),
    }


def truth_of(c: Incident, shape: str, how: str, written: list[int]) -> dict[str, object]:
    """The truth as the scorer of campaigns reads it."""
    t = c.truth
    names = [n.name for n in c.nodes]
    mesh = c.mesh
    styled = c.log.prefix in ("rank", "rank_stamp", "mpi")
    if t.ranks and not (t.ranks_sure or written or (c.has_job and (c.info or (c.told and styled)))):
        t.ranks, t.rank_sets = [], []
    return {
        "id": c.id, "kind": c.kind, "category": t.category,
        "acceptable": sorted({t.category, *t.acceptable}), "llama3_category": ROWS[t.category],
        "verdict_kinds": t.kinds, "culprit_nodes": [names[i] for i in t.nodes],
        "alternate_nodes": [names[i] for i in t.alternates], "culprit_ranks": t.ranks,
        "alternate_rank_sets": t.rank_sets, "hardware": t.category in HARDWARE,
        "cordon_expected": [names[i] for i in t.cordon],
        "cordon_allowed": sorted({names[i] for i in [*t.cordon, *t.cordon_allowed]}),
        "expect_suspects": t.suspects, "hard": bool(t.hard), "hard_reasons": t.hard, "notes": "; ".join(t.notes),
        "world_size": c.world, "gpus_per_node": c.platform.per_node, "nodes": [names[i] for i in c.order],
        "rank_to_node": {str(r): names[c.node_of(r)] for r in range(c.world)},
        "mesh": {"tp": mesh.tp, "pp": mesh.pp, "dp": mesh.dp, "ep": mesh.ep, "order": mesh.order, "names": mesh.style},
        "dumps": {
            "any": bool(written), "written": len(written),
            "missing": sorted(set(range(c.world)) - set(written)) if written else [],
            "truncated": sorted(c.cut_dumps & set(written)), "version": c.version,
            "active_only": c.only_active, "timing": c.timing,
        },
        "shape": shape, "map_in": how, "platform": c.platform.key, "scheduler": c.scheduler, "envelope": c.form,
        "fault_at": dt.datetime.fromtimestamp(c.at, dt.UTC).isoformat(),
        "ended_at": dt.datetime.fromtimestamp(c.ended, dt.UTC).isoformat() if c.ended else None,
        "op": _op(c),
    }  # fmt: skip
