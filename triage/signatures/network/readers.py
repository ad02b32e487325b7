"""Readers of lines about collectives, adapters and switches.

A watchdog of c10d speaks for a rank that waits, so its lines are consequences and blame whoever did
not print them. ``Rank N`` inside the brackets counts within that process group; only the prefix of
the line is a global rank. The rank named in a dump signal is the first reporter: the shortest
timer, not the cause. The logs of switches and of the fabric's manager see the far end of a node's
link: a line that names what hangs on its port is about that node, one that names the port alone is
about the switch, which is no node of the job.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.numbers import parse_small_number
from triage.signatures.scheduler.node_names import HOST
from triage.signatures.severity import ROOT
from triage.signatures.signature import Reading

# [PG ID 5 PG GUID 55(mesh_replicate) Rank 1], [PG 0 (default_pg) Rank 3], [PG 1 Rank 0], [Rank 2]
_GROUP = compile_re(
    r"\[(?:PG (?:ID )?(?P<pg>\w{1,64})[ ,]{0,2}(?:PG GUID )?(?P<guid>\w{0,128})\s?"
    r"(?:\((?P<pg_desc>[^()]{0,128})\))? )?Rank (?P<group_rank>\d{1,7})\]"
)
_WORK = compile_re(
    r"(SeqNum|OpType|NumelIn|NumelOut|Timeout\(ms\)|TensorShape)=(\[[^\]]*\]|[\w.]+)"
)
_WORK_FIELD = {
    "SeqNum": "seq_id",
    "OpType": "op",
    "NumelIn": "numel_in",
    "NumelOut": "numel_out",
    "Timeout(ms)": "timeout_ms",
    "TensorShape": "shape",
}
_RAN_FOR = compile_re(r"ran for (\d{1,18}) milliseconds")
_AT_WORK = compile_re(r"(?:at NCCL work:?|at work:?|work sequence id:?) ?(\d{1,18})", re.IGNORECASE)
_LAST_ENQUEUED = compile_re(r"last enqueued\s{1,4}(?:NCCL )?work:? ?(-?\d{1,18})", re.IGNORECASE)
_LAST_COMPLETED = compile_re(r"last completed\s{1,4}(?:NCCL )?work:? ?(-?\d{1,18})", re.IGNORECASE)
_LAST_STARTED = compile_re(r"last started\s{1,4}(?:NCCL )?work:? ?(-?\d{1,18})", re.IGNORECASE)

# A bar of rank 0's preprocessing, glued to the line: tqdm leaves no line end behind.
_BAR_BESIDE = compile_re(
    r"(?:tokeniz|grouping texts|preprocess|map(?: \(num_proc=\d+\))?:|filter:|generating \w+ split)"
    r"[^\[\]|]{0,80}\d{1,3}%\|",
    re.IGNORECASE,
)


def joined(match: re.Match[str], after: Sequence[str]) -> str:
    """The text from the match's line on; terminals wrap these lines in the middle."""
    text = match.string
    if after and "Timeout(ms)=" not in text:
        text = f"{text.rstrip()} {after[0].lstrip()}"
    return text


def _group_fields(text: str, at: int) -> dict[str, str]:
    """The process group and group rank printed last before ``at``."""
    groups = list(_GROUP.finditer(text, 0, at))
    return (
        {name: value for name, value in groups[-1].groupdict().items() if value} if groups else {}
    )


def _work_fields(text: str) -> dict[str, str]:
    """What a line says of the work and of the queue."""
    fields = {_WORK_FIELD[name]: value for name, value in _WORK.findall(text)}
    for name, pattern in (
        ("ran_ms", _RAN_FOR),
        ("at_work", _AT_WORK),
        ("last_enqueued", _LAST_ENQUEUED),
        ("last_started", _LAST_STARTED),
        ("last_completed", _LAST_COMPLETED),
    ):
        match = pattern.search(text)
        if match is not None:
            fields[name] = match[1]
    return fields


def read_watchdog(match: re.Match[str], after: Sequence[str]) -> Reading:
    """A collective that did not end in time, and the queue of the rank that waits."""
    text = joined(match, after)
    fields = _group_fields(match.string, match.start()) | _work_fields(text)
    turn = parse_small_number(fields.get("seq_id", "0"))
    # Later on in a job such a bar is a data set of its own, not what the others wait for.
    if _BAR_BESIDE.search(match.string) and turn is not None and turn <= 16:
        return Reading(
            category=Category.HOST_STALL,
            also=(Category.NCCL_TIMEOUT,),
            peer="rank 0",
            fields=fields,
        )
    # The barrier at the start of a job, where the others wait for rank 0's preparations.
    if turn is not None and turn <= 3 and fields.get("numel_out") == "1":
        return Reading(also=(Category.HOST_STALL,), fields=fields)
    return Reading(fields=fields)


def read_queue(match: re.Match[str], after: Sequence[str]) -> Reading:
    """The counters of one rank's queue."""
    text = match.string
    if after and _LAST_COMPLETED.search(text) is None:
        text = f"{text.rstrip()} {after[0].lstrip()}"
    return Reading(fields=_group_fields(match.string, match.start()) | _work_fields(text))


def read_dump_signal(match: re.Match[str], after: Sequence[str]) -> Reading:
    """Who asked for the dumps, with the counters of the one who tells."""
    reading = read_queue(match, after)
    fields = dict(reading.fields)
    if match["reporter"]:
        fields["reporter"] = match["reporter"]
    return Reading(fields=fields)


_FINGERPRINT = compile_re(
    r"Rank (?P<rank>\d{1,7})\s+(?:is running collective|is running):? ?"
    r"CollectiveFingerPrint\((?P<print>[^()]{1,400})"
)
_FINGERPRINT_PART = compile_re(r"(SequenceNumber|OpType|TensorShape)=(\[[^\]]*\]|[\w]+)")
_PART_FIELD = {"SequenceNumber": "seq_id", "OpType": "op", "TensorShape": "shape"}


def read_mismatch(match: re.Match[str], after: Sequence[str]) -> Reading:
    """Both fingerprints as ``rank_a`` ... and ``rank_b`` ...; group ranks."""
    text = match.string
    fields: dict[str, str] = _group_fields(text, match.start())
    for side, one in zip("ab", _FINGERPRINT.finditer(" ".join((text, *after))), strict=False):
        fields[f"rank_{side}"] = one["rank"]
        for name, value in _FINGERPRINT_PART.findall(one["print"]):
            fields[f"{_PART_FIELD[name]}_{side}"] = value
    peer = f"rank {fields['rank_b']}" if "rank_b" in fields else None
    return Reading(peer=peer, fields=fields)


_RUNNING = compile_re(
    r"\[Rank (?P<rank>\d{1,7})\] Running collective: "
    r"CollectiveFingerPrint\((?P<print>[^()]{1,400})"
)


def read_running(match: re.Match[str], after: Sequence[str]) -> Reading:
    """Noise while ranks agree; two ranks side by side that do not are a suspicion."""
    mine = _RUNNING.search(match.string)
    if mine is None:
        return Reading()
    parts = dict(_FINGERPRINT_PART.findall(mine["print"]))
    fields = {"group_rank": mine["rank"]} | {_PART_FIELD[n]: v for n, v in parts.items()}
    for line in after[:1]:
        other = _RUNNING.search(line)
        if other is None or other["rank"] == mine["rank"]:
            continue
        theirs = dict(_FINGERPRINT_PART.findall(other["print"]))
        same_turn = parts.get("SequenceNumber") == theirs.get("SequenceNumber")
        same_call = parts.get("OpType") == theirs.get("OpType")
        # Ranks log one or two collectives apart in any healthy job.
        mine_at, theirs_at = (
            parse_small_number(one.get("SequenceNumber", "0")) for one in (parts, theirs)
        )
        apart = 0 if mine_at is None or theirs_at is None else abs(mine_at - theirs_at)
        if (same_turn and not same_call) or (same_call and apart > 1):
            return Reading(
                role=ROOT,
                weak=True,
                category=Category.COLLECTIVE_MISMATCH,
                peer=f"rank {other['rank']}",
                fields=fields,
            )
    return Reading(fields=fields)


def format_gpu_bus(bus: str) -> str | None:
    """``9b000`` as ``0000:9b:00``; None where it is no such number."""
    digits = bus.lower().removeprefix("0x")
    # Newer libraries print a device index at this place.
    if not 4 <= len(digits) <= 9 or re.fullmatch(r"[0-9a-f]+", digits) is None:
        return None
    digits = digits.zfill(9)
    return f"{digits[:4]}:{digits[4:6]}:{digits[6:8]}"


def read_with_gpu(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The printed bus id in the form of this house."""
    return Reading(gpu=format_gpu_bus(match["bus"]) if match["bus"] else None)


# "gpu-17 eth3", "to gpu-17", "gpu-17:mlx5_3", "server gpu-17 port 2"
_DESCRIBED: Final = compile_re(
    rf"\s*(?:(?:to|server|host|link to|connected to)[ :_-]{{1,2}})?(?P<node>{HOST})(?=[ :/,_]|$)",
    re.IGNORECASE,
)


def read_far_end(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The node at the far end, else the switch, with its port."""
    groups = match.groupdict()
    described = groups.get("described") or groups.get("other") or groups.get("words")
    far = _DESCRIBED.match(described) if described else None
    name = groups.get("node") or (far and far["node"]) or groups.get("switch")
    port = groups.get("port") or groups.get("sonic") or groups.get("third")
    fields = {"node": name.rstrip(".:"), "said_of": name.rstrip(".:")} if name else {}
    return Reading(fields={**fields, "port": port} if port else fields)
