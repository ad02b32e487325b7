"""Which check of a node is due: by its age, or because evidence asks for it.

A family of checks is due by age where it was run on this node before, or is run on other
nodes of its cluster: nobody is asked for a tool that is not in use. What evidence asks for is
due until a check that answers it has run; a conviction asks for a stress test until that ran
or the node came back from an outage.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from triage.domain.category import Category

# What is older asks for nothing: the node has run jobs for a month since.
LOOK_BACK: Final = timedelta(days=30)
# How often each family of checks is to be run. Drains are no check that is run.
EVERY: Final[Mapping[str, timedelta]] = {
    **dict.fromkeys(("gpu", "host"), timedelta(days=1)),
    **dict.fromkeys(("dcgm", "ib"), timedelta(days=7)),
    "nccl": timedelta(days=30),
}


@dataclass(frozen=True, slots=True)
class Ask:
    """After these errors ``check`` is due, until one of ``answered_by`` (prefixes) has run."""

    check: str
    answered_by: tuple[str, ...]
    xids: frozenset[int] = frozenset()
    categories: frozenset[Category] = frozenset()


_NO_XID: Final = frozenset[int]()
_MEMORY_XIDS: Final = frozenset({48, 63, 64, 94, 95})
_HEAT: Final = ("gpu.temperature", "gpu.throttle")
ASKS: Final = (
    Ask(
        "dcgm.memory", ("dcgm.memory", "dcgm.memtest"), _MEMORY_XIDS, frozenset({Category.GPU_HBM})
    ),
    Ask("nccl.busbw", ("nccl.",), frozenset({74}), frozenset({Category.NVLINK})),
    Ask("ib.counters", ("ib.",), _NO_XID, frozenset({Category.NIC, Category.NETWORK})),
    Ask("gpu.temperature", _HEAT, _NO_XID, frozenset({Category.GPU_THERMAL})),
    Ask("gpu.pcie_link", ("gpu.pcie_link",), _NO_XID, frozenset({Category.IO_BOARD})),
)
STRESS: Final = Ask(
    "dcgm.targeted_stress",
    (
        *("dcgm.targeted_stress", "dcgm.sm_stress", "dcgm.targeted_power", "dcgm.diagnostic"),
        *("dcgm.pulse_test", "host.stress", "host.gpu_stress"),
    ),
)


@dataclass(frozen=True, slots=True)
class Ran:
    """When a check of a node last ran, whatever it found; one that was left out did not run."""

    cluster: str
    node: str
    check: str
    at: datetime


@dataclass(frozen=True, slots=True)
class CheckTrigger:
    """An error of a node at a time, and the check that it asks for; ``words`` name the error."""

    cluster: str
    node: str
    ask: Ask
    at: datetime
    words: str


@dataclass(frozen=True, slots=True)
class Due:
    """A check, or a family of them, that is to be run on a node, since when, and why."""

    cluster: str
    node: str
    check: str
    since: datetime
    because: str


def list_due_checks(
    ran: Sequence[Ran],
    triggers: Iterable[CheckTrigger],
    nodes: Iterable[tuple[str, str]],
    in_use: Mapping[tuple[str, str], datetime],
    now: datetime,
) -> list[Due]:
    """What is due on which node, by node and check.

    ``ran`` and ``triggers`` are of the ``nodes`` in question, as (cluster, node);
    ``in_use`` is (cluster, check) -> when it last ran on any node of the cluster.
    """
    found = {
        (due.cluster, due.node, due.check): due
        for due in _iterate_due_by_age(ran, nodes, in_use, now)
    }
    newest: dict[tuple[str, str], list[Ran]] = {}
    for run in ran:
        newest.setdefault((run.cluster, run.node), []).append(run)
    for trigger in sorted(triggers, key=lambda trigger: (trigger.at, trigger.words)):
        cluster, node, ask = trigger.cluster, trigger.node, trigger.ask
        later = (run.check for run in newest.get((cluster, node), ()) if run.at >= trigger.at)
        if not any(check.startswith(ask.answered_by) for check in later):
            because = f"asked for by {trigger.words}"
            found[cluster, node, ask.check] = Due(cluster, node, ask.check, trigger.at, because)
    return [found[key] for key in sorted(found, key=lambda key: (key[1], key[2], key[0]))]


def _iterate_due_by_age(
    ran: Sequence[Ran],
    nodes: Iterable[tuple[str, str]],
    in_use: Mapping[tuple[str, str], datetime],
    now: datetime,
) -> Iterable[Due]:
    """Families of checks that are in use in a cluster, and too old or never run on a node."""
    last: dict[tuple[str, str, str], datetime] = {}
    for run in ran:
        key = (run.cluster, run.node, _get_family(run.check))
        last[key] = max(run.at, last.get(key, run.at))
    used: dict[tuple[str, str], datetime] = {}
    for (cluster, check), at in in_use.items():
        pair = (cluster, _get_family(check))
        used[pair] = max(at, used.get(pair, at))
    for cluster, node in sorted({*nodes, *((key[0], key[1]) for key in last)}):
        for family, every in EVERY.items():
            used_at = used.get((cluster, family))
            if used_at is None or now - used_at > LOOK_BACK + every:
                continue  # nobody runs it any more
            ran_at = last.get((cluster, node, family))
            if ran_at is None:
                because = f"never run here; other nodes have it every {format_days(every)}"
                yield Due(cluster, node, family, used_at, because)
            elif now - ran_at > every:
                because = (
                    f"last run {format_days(now - ran_at)} ago; due every {format_days(every)}"
                )
                yield Due(cluster, node, family, ran_at + every, because)


def _get_family(check: str) -> str:
    return check.partition(".")[0]


def format_days(span: timedelta) -> str:
    """``7 days``, ``1 day``, ``12.5 days``."""
    number = round(span / timedelta(days=1), 1)
    return "1 day" if number == 1 else f"{number:g} days"
