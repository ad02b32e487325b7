"""Answers built by hand: one incident of each kind that a face has to show."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from triage.domain.category import Action, Category, Role, VerdictKind
from triage.domain.next_step import Symptom
from triage.domain.report import (
    Answer,
    Because,
    CollectiveAtFrontier,
    Coverage,
    JobFacts,
    Moment,
    RankState,
    Refused,
    StandingRanks,
    Suspect,
    Verdict,
    Victims,
    WaitEdge,
    WaitNode,
    Waits,
)

HOSTILE = (
    "<script>alert(1)</script>\x1b[2J\x1b]0;owned\x07\n\"'>&\u202egnp.exe\u2069\x9b31m\udcff"
    "</title></style><img src=http://evil.example/x onerror=alert(2)>"
)
AT = datetime(2026, 11, 21, 3, 4, 15, 123000, tzinfo=UTC)


def healthy():
    return Answer(
        job=JobFacts(world_size=8),
        verdict=Verdict(
            VerdictKind.HEALTHY,
            Category.NONE,
            0.99,
            "All 8 ranks finished what they issued; no suspect.",
            Action.NONE,
        ),
        coverage=Coverage(ranks_expected=8, dumps_read=8),
        ranks=tuple(RankState(rank, None, "idle") for rank in range(8)),
    )


def culprit(num_ranks=64, culprits=(27,), per_node=8, named=True):
    """One or more ranks that lost a GPU; all the others wait for them."""
    nodes = [f"n{rank // per_node}" if named else None for rank in range(num_ranks)]
    waiting = tuple(rank for rank in range(num_ranks) if rank not in culprits)
    first = culprits[0]
    states = tuple(
        RankState(rank, nodes[rank], "culprit", artifact=f"fr/rank_{rank}")
        if rank in culprits
        else RankState(rank, nodes[rank], "waiting", "7", "mesh_tp", 812, "all_reduce")
        for rank in range(num_ranks)
    )
    suspects = tuple(
        Suspect(
            position,
            nodes[rank],
            (rank,),
            ("0000:5d:00.0",) if named else (),
            Category.GPU_HBM,
            0.97 - position / 100,
            Role.CULPRIT,
            Action.DRAIN_NODE,
            (
                Because(
                    "kernel.xid",
                    "Xid 94 on 0000:5d:00: contained HBM error, 41 s before the stop; the one "
                    "root error of the job",
                    f"nodes/{nodes[rank]}/kernel.log",
                    812,
                    AT,
                ),
                Because(
                    "waits.sink",
                    f"{len(waiting)} ranks wait for rank {rank} in mesh_tp all_reduce #812",
                    f"fr/rank_{rank}",
                ),
            ),
        )
        for position, rank in enumerate(culprits, start=1)
    )
    return Answer(
        job=JobFacts("4711", num_ranks, num_ranks // per_node if named else None),
        verdict=Verdict(
            VerdictKind.HANG,
            Category.GPU_HBM,
            0.97,
            f"Rank {first} on {nodes[first]} stopped on an uncorrectable HBM error; "
            f"{len(waiting)} ranks wait for it.",
            Action.DRAIN_NODE,
            cordon=tuple(n for n in dict.fromkeys(nodes[r] for r in culprits) if n is not None),
            at=AT,
        ),
        suspects=suspects,
        collectives=(
            CollectiveAtFrontier("7", "mesh_tp", 812, "all_reduce", waiting[:7], culprits, ()),
            CollectiveAtFrontier("0", "default_pg", 40, "all_reduce", waiting, culprits, ()),
        ),
        victims=Victims(waiting, tuple(n for n in dict.fromkeys(nodes) if n is not None)),
        coverage=Coverage(
            ranks_expected=num_ranks,
            dumps_read=num_ranks - 1,
            ranks_without_dump=(first,),
            unreadable=(Refused("fr/x_9", "no reader claims it"),),
            lines_read=120_331,
            lines_not_understood=212,
            notes=("clock of n4 is 2.1 s ahead",),
        ),
        ranks=states,
        waits=_waits(waiting, culprits),
    )


def _waits(waiting, culprits):
    """A tensor-parallel group waits for the culprit, pipeline stages wait for that group."""
    third = max(1, len(waiting) // 3)
    return Waits(
        nodes=(
            WaitNode("tp", "collective", "mesh_tp all_reduce", "#812", waiting[:third]),
            WaitNode("pp", "collective", "mesh_pp recv", "#33", waiting[third : 2 * third]),
            WaitNode("dp", "collective", "mesh_dp reduce_scatter", "#9", waiting[2 * third :]),
            WaitNode("c", "culprit", "host stopped issuing", "done up to #811", culprits),
        ),
        edges=(
            WaitEdge("tp", "c", third),
            WaitEdge("pp", "tp", third),
            WaitEdge("dp", "pp", 7),
            WaitEdge("dp", "tp", 9),
        ),
    )


def tie():
    """Two ranks disagree on a size; neither can be convicted. No node is known."""
    suspects = tuple(
        Suspect(
            position,
            None,
            (rank,),
            (),
            Category.COLLECTIVE_MISMATCH,
            0.5,
            Role.POSSIBLE,
            Action.FIX_CODE,
            (Because("desync.size", f"rank {rank} sends {size} elements", f"fr/{rank}"),),
        )
        for position, (rank, size) in enumerate(((0, 1024), (1, 2048)), start=1)
    )
    return Answer(
        job=JobFacts(world_size=2),
        verdict=Verdict(
            VerdictKind.DESYNC,
            Category.COLLECTIVE_MISMATCH,
            0.9,
            "Ranks 0 and 1 give different sizes to all_reduce #5; which of them is wrong is open.",
            Action.FIX_CODE,
        ),
        suspects=suspects,
        collectives=(CollectiveAtFrontier("0", "", 5, "all_reduce", (0, 1), (), (0, 1)),),
        coverage=Coverage(2, 2),
        ranks=(RankState(0, None, "possible"), RankState(1, None, "possible")),
        waits=Waits(
            (
                WaitNode("a", "possible", "all_reduce #5", "1,024 elements", (0,)),
                WaitNode("b", "possible", "all_reduce #5", "2,048 elements", (1,)),
            ),
            (WaitEdge("a", "b", 1), WaitEdge("b", "a", 1), WaitEdge("a", "a", 1)),
        ),
    )


def logged():
    """Kernel and job logs alone: no dump, so no rank states, no waits, no collectives."""

    def after(seconds):
        return AT + timedelta(seconds=seconds)

    fallen = Suspect(
        1,
        "n3",
        (27,),
        ("0000:5d:00",),
        Category.GPU,
        0.96,
        Role.CULPRIT,
        Action.DRAIN_NODE,
        (
            Because(
                "kernel.xid",
                "NVRM: Xid (PCI:0000:5d:00): 79, GPU has fallen off the bus.",
                "nodes/n3/kernel.log",
                812,
                after(-0.4),
            ),
        ),
    )
    slow = Suspect(
        2,
        "n5",
        (),
        (),
        Category.NIC,
        0.12,
        Role.POSSIBLE,
        Action.INVESTIGATE,
        (Because("kernel.nic", "mlx5_core 0000:1a:00.0: port 1 link down", "n5/dmesg", 9),),
    )
    return Answer(
        job=JobFacts("4711"),
        verdict=Verdict(
            VerdictKind.HANG,
            Category.GPU,
            0.96,
            'On n3 (rank 27) a GPU failed: "Xid 79"; 63 other ranks wait.',
            Action.DRAIN_NODE,
            cordon=("n3",),
            at=after(-0.4),
        ),
        suspects=(fallen, slow),
        coverage=Coverage(lines_read=120_331, lines_not_understood=212),
        timeline=(
            Moment(after(-1500), "n5", None, "nic", Category.NIC, "port 1 link down", 60.0),
            Moment(after(-0.4), "n3", 27, "xid", Category.GPU, "Xid 79, fallen off the bus", 0.01),
            Moment(AT, None, None, "stop", None, "the job stops"),
            Moment(after(2), "n7", 61, "nccl", None, "unhandled system error", 0.001),
            Moment(after(600), None, None, "end", None, "the job is given up"),
        ),
    )


def hostile():
    """Every text that comes from the input is an attack."""
    whole = culprit()
    suspect = replace(
        whole.suspects[0],
        node=HOSTILE,
        gpus=(HOSTILE,),
        because=(Because(HOSTILE, HOSTILE, HOSTILE, 3, AT),),
    )
    return replace(
        whole,
        job=JobFacts(HOSTILE, 64, 8),
        verdict=replace(whole.verdict, summary=HOSTILE, cordon=(HOSTILE, "n1; rm -rf /")),
        suspects=(suspect,),
        symptoms=(Symptom(HOSTILE, 1, HOSTILE, HOSTILE, 2, HOSTILE, 3, HOSTILE, 4, AT),),
        collectives=(CollectiveAtFrontier(HOSTILE, HOSTILE, 1, HOSTILE, (1,), (2,), (3,)),),
        victims=Victims((0,), (HOSTILE,)),
        coverage=Coverage(
            partial=(Refused(HOSTILE, HOSTILE),),
            unreadable=(Refused(HOSTILE, HOSTILE),),
            notes=(HOSTILE,),
        ),
        ranks=tuple(replace(s, node=HOSTILE, desc=HOSTILE, op=HOSTILE) for s in whole.ranks),
        waits=Waits(
            (WaitNode(HOSTILE, HOSTILE, HOSTILE, HOSTILE, (1,)),),
            (WaitEdge(HOSTILE, HOSTILE, 1), WaitEdge("nowhere", HOSTILE, 1)),
        ),
        timeline=(
            Moment(AT, HOSTILE, 27, HOSTILE, Category.GPU, HOSTILE, 90.0),
            Moment(AT, HOSTILE, 2**70, "xid", None, HOSTILE * 400, 1e300),
            Moment(None, HOSTILE, None, "xid", None, HOSTILE, float("nan")),
            Moment(AT, None, None, "stop", None, "the job stops"),
        ),
        stacks=(StandingRanks((1, 2), (HOSTILE,), (HOSTILE,), HOSTILE, stands_at=HOSTILE),),
    )


def standing(num_places=3):
    """500 ranks in one collective, and others at places of their own; the first is odd."""
    whole = culprit(num_ranks=500 + num_places, culprits=(500,))
    calls = ("<module> (train.py:43)", "main (train.py:37)")
    reduce = StandingRanks(
        tuple(range(500)), ("n0", "n1"), (*calls, "all_reduce (c10d.py:1)"), "collective",
        seen_twice=True, stands_at="main (train.py:37)",
    )  # fmt: skip
    places = tuple(
        StandingRanks(
            (500 + k,), ("n2",), (*calls, f"read (data{k}.py:{k})"), "data",
            stands_at=f"read (data{k}.py:{k})",
        )
        for k in range(num_places)
    )  # fmt: skip
    return replace(whole, stacks=(reduce, *places))


def large(named=True):
    """16,384 ranks, two culprits."""
    return culprit(num_ranks=16_384, culprits=(27, 9001), named=named)
