"""Options of a pull, for ``triage live`` and for ``python3 -m triage.collectors live`` alike."""

from __future__ import annotations

from typing import NamedTuple

from triage.collectors.options import Option

_MIB = 1 << 20

# What can be asked, and so left out by --without.
SOURCES = ("py-spy", "proc", "debug-server", "pipe", "ras", "gpu")


LIVE_OPTIONS = {
    "--job": Option("ID", "the job, where several run on this node"),
    "--pid": Option("PID", "a process of the job: it and all below it"),
    "--all-nodes": Option("", "ask every node of the job, over srun, ssh or kubectl exec"),
    "--nodes": Option("LIST", "the nodes or pods, with commas, or a file with one a line"),
    "--via": Option("HOW", "how nodes are reached: auto, srun, ssh or kubectl", "auto"),
    "--out": Option("DIR", "the incident folder to write; - is a tar on stdout"),
    "--looks": Option("N", "how often all is asked", 2),
    "--budget": Option("S", "seconds that all looks may take", 30.0),
    "--max-bytes": Option("SIZE", "most of all files of a node", "256M"),
    "--without": Option("SOURCE", "leave out a source, repeatable: " + ", ".join(SOURCES)),
    "--node": Option("NAME", "this node [SLURMD_NODENAME, NODE_NAME, the host name]"),
    "--cluster": Option("NAME", "the cluster [TRIAGE_CLUSTER, SLURM_CLUSTER_NAME, the token's]"),
    "--send": Option("", "send the folder to a service"),
    "--url": Option("URL", "address of the service, for --send", ""),
    "--token-file": Option("FILE", "file that holds the token; else TRIAGE_TOKEN"),
    "--ca-file": Option("FILE", "certificate authorities to trust for https"),
    "--every": Option("S", "look every S seconds for ever; act only on a hang", 0.0),
}


class LiveOptions(NamedTuple):
    """All that can be asked; sizes in bytes, times in seconds."""

    job: str | None = None
    pid: int | None = None
    all_nodes: bool = False
    nodes: str | None = None
    via: str = "auto"
    out: str | None = None
    looks: int = 2
    budget_s: float = 30.0
    max_bytes: int = 256 * _MIB
    without: tuple[str, ...] = ()
    node: str | None = None
    cluster: str | None = None
    send: bool = False
    url: str = ""
    token_file: str | None = None
    ca_file: str | None = None
    every_s: float = 0.0
    spool: str | None = None
    one_of_many: bool = False
