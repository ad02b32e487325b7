"""Whose number a rank is: several programs of one job each count their ranks from 0.

A driver of reinforcement learning prints what trainers, engines and servers say, and ``[rank3]`` of
an engine is not the trainer's rank 3, which ``job.json`` seats. What an engine's line says is of
the machine whose address stands on it; its number names nobody.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from triage.analysis.placement.gpu_names import JOINED
from triage.analysis.placement.identity import JobPlacement, has_printed_host
from triage.domain.counts import list_some
from triage.domain.evidence import ACTOR, BY_FILE, OF_A_PROGRAM, Evidence, Kind
from triage.domain.patterns import compile_re

# What only a program on GPUs, or one that counts its ranks, prints.
_OF_GPU_PROGRAMS: Final = frozenset({Kind.CUDA, Kind.NCCL, Kind.IDENTITY, Kind.GPU, Kind.XID})
# Worker_TP3, EngineCore_DP0, VllmWorker TP0, RayTrainWorker
_MEMBER: Final = compile_re(r"[_ -]?(?:(?:TP|DP|EP|PP|CP|rank=?)?\d+(?:[_ ]|$))+")
# Programs that serve or generate, of which a job has one or many beside its trainer.
_ENGINES: Final = compile_re(
    r"vllm|sglang|sgl_|trtllm|tensorrt|lmdeploy|rollout|engine|server|replica|generat|infer|prefill"
    r"|decode|detokenizer|scheduler|reward|critic|\bworker(?:_(?:tp|dp|pp|ep)\b|$)",
    re.IGNORECASE,
)
_ADDRESS: Final = compile_re(r"[0-9]{1,3}(?:\.[0-9]{1,3}){3}|[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){2,7}")
_SHOWN: Final = 3


@dataclass(frozen=True, slots=True)
class Programs:
    """``names`` are those that print from GPUs; ``shared`` are the numbers that several hosts or
    pods of one log give themselves.
    """

    names: frozenset[str]
    shared: frozenset[int]


def _parse_program(row: Evidence) -> str | None:
    """The program that a launcher's prefix names; None where there is none."""
    actor = row.fields.get(ACTOR)
    return None if actor is None else _MEMBER.sub("", actor) or actor


def find_programs(rows: Iterable[Evidence]) -> Programs:
    """The programs of a job, as far as its logs name them."""
    names: set[str] = set()
    pods: dict[int, set[str]] = defaultdict(set)
    for row in rows:
        name = _parse_program(row)
        if name is not None and (row.rank is not None or row.kind in _OF_GPU_PROGRAMS):
            names.add(name)
        pod = row.fields.get("printed_by")
        if pod is not None and row.rank is not None and row.signature != JOINED:
            pods[row.rank].add(pod)
    shared = {rank for rank, names_of_it in pods.items() if len(names_of_it) > 1}
    return Programs(frozenset(names), frozenset(shared))


def drop_actor_numbers(rows: Sequence[Evidence]) -> list[Evidence]:
    """``rows`` for who asks where ranks sit: where several programs print, none of theirs count."""
    if len(find_programs(rows).names) < 2:
        return list(rows)
    return [
        replace(row, rank=None)
        if ACTOR in row.fields and row.rank is not None and row.signature != JOINED
        else row
        for row in rows
    ]


def with_numbers_of_the_job(
    rows: Sequence[Evidence], fleet: JobPlacement
) -> tuple[list[Evidence], list[str]]:
    """``rows``, those whose number may be another program's without it, and a note of them.

    The number stays where the address, host or folder of a line agrees with it, and where one
    program alone prints.
    """
    programs = find_programs(rows)
    if not programs.names and not programs.shared:
        return list(rows), []
    gathered = _find_gathered_logs(rows, fleet)
    addressed = {node for name, node in fleet.aliases.items() if _ADDRESS.fullmatch(name)}
    taken: dict[str, None] = {}
    kept = []
    for row in rows:
        if row.rank is not None and _is_of_another_world(row, programs, fleet, gathered, addressed):
            who = _parse_program(row) or row.fields.get("printed_by", "a pod")
            at = f" at {row.fields['address']}" if "address" in row.fields else ""
            taken.setdefault(f"[rank{row.rank}] of {who}{at}")
            row = replace(row, rank=None, fields={**row.fields, OF_A_PROGRAM: str(row.rank)})
        kept.append(row)
    if not taken:
        return kept, []
    shown = list_some([*taken], _SHOWN)
    why = "which rank of the job it is is not known, so its number names no node"
    return kept, [f"{why}: {shown}"]


def _find_gathered_logs(rows: Iterable[Evidence], fleet: JobPlacement) -> frozenset[str]:
    """The logs in which processes of several machines speak."""
    homes: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        if "address" in row.fields:
            address = row.fields["address"]
            homes[row.artifact].add(fleet.node_of_address(address) or address)
        elif row.node is not None and has_printed_host(row):
            homes[row.artifact].add(fleet.node_of_address(row.node) or row.node)
    several = {artifact for artifact, nodes in homes.items() if len(nodes) > 1}
    return fleet.gathered | several


def _is_of_another_world(
    row: Evidence,
    programs: Programs,
    fleet: JobPlacement,
    gathered: Collection[str],
    addressed: Collection[str],
) -> bool:
    """Whether a number may be that of a program which counts its ranks for itself; ``addressed``
    are the nodes of which an address is known.
    """
    if row.signature == JOINED or "of_rank" in row.fields:
        return False
    if row.rank in programs.shared and "printed_by" in row.fields:
        return not _is_placed_on_node(row, fleet, gathered)
    name = _parse_program(row)
    if name is None or _is_placed_on_node(row, fleet, gathered):
        return False
    alone = programs.names == {name} and _ENGINES.search(name) is None
    if not alone or "address" not in row.fields:
        return not alone
    # Another node's address speaks against it, and any where that of its number's node is known.
    home = fleet.node_of(row.rank or 0)
    of_another = fleet.node_of_address(row.fields["address"]) is not None
    return of_another or home in addressed or (home is None and bool(addressed))


def _is_placed_on_node(row: Evidence, fleet: JobPlacement, gathered: Collection[str]) -> bool:
    """Whether something on a line, or its folder, puts it on the node of its number."""
    home = fleet.node_of(row.rank or 0)
    if home is None:
        return False
    if "address" in row.fields:
        return fleet.node_of_address(row.fields["address"]) == home
    told = BY_FILE in row.fields and row.artifact not in gathered
    own = row.node is not None and (told or has_printed_host(row))
    return own and (fleet.node_of_address(row.node or "") or row.node) == home
