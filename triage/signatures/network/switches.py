"""The fabric's own logs: UFM's events, the subnet manager, and switches of several makers.

They see the far end of a node's link. A line that names what hangs on its port (a node's
description, a host in brackets) is about that node; one that names the port alone is about
the switch, which is no node of the job. Counters of congestion are crossed on healthy fabrics.
"""

import re
from collections.abc import Sequence
from typing import Final

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.scheduler.node_names import HOST
from triage.signatures.severity import NOISE, WARN, get_group_text
from triage.signatures.signature import Reading

# "gpu-17 eth3", "to gpu-17", "gpu-17:mlx5_3", "server gpu-17 port 2"
_DESCRIBED: Final = compile_re(
    rf"\s*(?:(?:to|server|host|link to|connected to)[ :_-]{{1,2}})?(?P<node>{HOST})(?=[ :/,_]|$)",
    re.IGNORECASE,
)
UP: Final = frozenset({"up", "active", "discovered"})


def _collect_far_end_fields(match: re.Match[str]) -> dict[str, str]:
    """The node at the far end, else the switch, with its port."""
    groups = match.groupdict()
    name = groups.get("node")
    described = groups.get("described")
    if name is None and described is not None:
        far = _DESCRIBED.match(described)
        name = None if far is None else far["node"]
    name = name or groups.get("switch")
    fields = {"node": name.rstrip(".:"), "said_of": name.rstrip(".:")} if name else {}
    if groups.get("port"):
        fields["port"] = groups["port"] or ""
    return fields


def link(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Down is the fault, up its end. A link may come back, so that down alone is weak."""
    if get_group_text(match, "state") in UP:
        return Reading(
            role=NOISE,
            category=Category.NONE,
            fields={**_collect_far_end_fields(match), "state": "up", "recovered": "yes"},
        )
    return Reading(weak=True, fields={**_collect_far_end_fields(match), "state": "down"})


def _read_switch_fault(match: re.Match[str]) -> Reading:
    """As :func:`link`, for lines whose names stand in different places."""
    state = get_group_text(match, "state") or get_group_text(match, "nexus") or "down"
    described = match["described"] or match["other"] or match["words"]
    far = _DESCRIBED.match(described) if described else None
    fields = {} if far is None else {"node": far["node"], "said_of": far["node"]}
    fields["port"] = match["port"] or match["sonic"] or match["third"] or ""
    if state == "up":
        return Reading(
            role=NOISE, category=Category.NONE, fields={**fields, "state": "up", "recovered": "yes"}
        )
    return Reading(weak=True, fields={**fields, "state": "down"})


SIGNATURES = load(
    __name__,
    between_switches=lambda match, _after: (
        Reading(role=NOISE, category=Category.NONE, fields={"recovered": "yes"})
        if "up" in (get_group_text(match, "state"), get_group_text(match, "whole"))
        else Reading(weak=True)
    ),
    fault=lambda match, _after: _read_switch_fault(match),
    bit_errors=lambda match, _after: Reading(
        weak=True,
        fields={
            **_collect_far_end_fields(match),
            **({"severity": WARN} if get_group_text(match, "grade") == "high" else {}),
        },
    ),
)
