"""ProcessGroupNCCL, the store and the rendezvous: what PyTorch says when ranks stop together.

A watchdog speaks for a rank that waits, so its lines are consequences and blame
whoever did not print them. ``Rank N`` inside the brackets counts within that
process group; only the prefix of the line is a global rank. The rank named in a
dump signal is the first reporter: the shortest timer, not the cause.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.numbers import parse_small_number
from triage.signatures.severity import ADVICE, CONSEQUENCE, ROOT
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


def watchdog(match: re.Match[str], after: Sequence[str]) -> Reading:
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


def queue(match: re.Match[str], after: Sequence[str]) -> Reading:
    """The counters of one rank's queue."""
    text = match.string
    if after and _LAST_COMPLETED.search(text) is None:
        text = f"{text.rstrip()} {after[0].lstrip()}"
    return Reading(fields=_group_fields(match.string, match.start()) | _work_fields(text))


def dump_signal(match: re.Match[str], after: Sequence[str]) -> Reading:
    """Who asked for the dumps, with the counters of the one who tells."""
    reading = queue(match, after)
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


def mismatch(match: re.Match[str], after: Sequence[str]) -> Reading:
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


def running(match: re.Match[str], after: Sequence[str]) -> Reading:
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


_CONNECT_ERRNO = {
    "110": (Category.NETWORK, (Category.NIC, Category.DEPENDENCY)),
    "113": (Category.NETWORK, (Category.DEPENDENCY,)),
    "101": (Category.NETWORK, (Category.DEPENDENCY,)),
}


def store_connect(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """By errno: a refused connection is a store that is not there, no fault of a network."""
    category, also = _CONNECT_ERRNO.get(match["errno"], (None, ()))
    return Reading(category=category, also=also)


_RESULTS = {
    "unhandled cuda error": (ROOT, None),
    "unhandled system error": (ROOT, None),
    "invalid usage": (ROOT, Category.DEPENDENCY),
    "invalid argument": (ROOT, Category.DEPENDENCY),
    "remote process exited": (CONSEQUENCE, None),
}


_RESULT = compile_re("|".join(_RESULTS), re.IGNORECASE)


def nccl_result(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """The result that c10d quotes; its detail stands in lines of its own behind it."""
    result = _RESULT.search(match.string, match.end())
    if result is None:
        return None
    role, category = _RESULTS[result[0].lower()]
    return Reading(role=role, category=category, weak=role is ROOT, fields={"result": result[0]})


SIGNATURES = load(
    __name__,
    desync_report=lambda match, _after: Reading(peer=f"rank {match['absent'] or match['lagging']}"),
    failed_barrier=lambda match, _after: Reading(
        peer=(match["absent"] or match["named"]).strip().lower()
    ),
    nccl_id_wait=lambda match, _after: Reading(peer=f"rank {match['source']}"),
    name_resolution=lambda match, _after: (
        Reading(role=ADVICE) if "IPv6 network addresses" in match.string else Reading()
    ),
)
