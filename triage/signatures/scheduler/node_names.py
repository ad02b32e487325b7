"""Lines that speak of other nodes than the one that prints them: how such a line names them.

A scheduler names nodes one by one or as its own ranges (``gpu[017-019,022]``); one that is
named is the node of the row, several are its field ``nodes``.
"""

import re
from collections.abc import Mapping
from typing import Final

from triage.domain.hosts import expand
from triage.domain.patterns import compile_re

HOST: Final = r"[A-Za-z0-9][\w.-]{0,127}"
"""One name of a node, without capturing it."""
HOSTS: Final = r"[A-Za-z0-9][\w.,\[\]-]{0,400}"
"""Names of nodes, with Slurm's ranges."""
SHOULD_HOLD: Final = "(?:Ready|Healthy|Available|Schedulable|Online|Active|Ok|OK|Up|Valid)"
"""How conditions end that should hold, as EKS's AcceleratedHardwareReady: False is a fault."""

# More than a rack or two are nobody's fault in particular.
_MAX_NAMED: Final = 256


def expand_host_list(text: str) -> list[str]:
    """The names in a list of hosts, in order; empty where it is none or names too many."""
    bare = text.strip().strip(",.;:'\"")
    try:
        names = expand(bare)
    except ValueError:
        return []
    return names if len(names) <= _MAX_NAMED else []


def named(match: re.Match[str], *groups: str) -> Mapping[str, str]:
    """The fields of the nodes that the first filled of ``groups`` names."""
    known = match.groupdict()
    text = next((known[group] for group in groups if known.get(group)), None)
    names = [] if text is None else expand_host_list(text)
    if len(names) == 1:
        return {"node": names[0], "said_of": names[0]}
    return {"nodes": " ".join(names)} if names else {}


# `3m  Warning  OOMKilling  node/gpu-17  ...`, as kubectl and exporters print an event; without
# a type its reason stands first.
_EVENT: Final = compile_re(
    rf"(?:\b(?:Normal|Warning)\s{{1,12}}|^(?=[A-Z][a-z]))\w{{1,60}}\s{{1,40}}"
    rf"(?P<kind>node|pod)/(?P<name>{HOST})"
)
_ON_NODE: Final = compile_re(rf"\bon node (?P<node>{HOST})")
# "Node gpu-17(10.2.0.17) has", "(node gpu-17)", "host=gpu-17": whom a line in a log of all nodes is
# about. A word without a figure is none of their names, and a number alone counts something.
_NAMED_NODE: Final = compile_re(
    r"\b(?:node|host|hostname)[ =:]\"?(?P<node>(?!rank|(?:gpu|node)\d\b)[A-Za-z](?=[\w.-]*\d)"
    r"(?=[\w.-]*[-.\d])[\w.-]{2,126}\w)",
    re.IGNORECASE,
)


def collect_event_fields(text: str) -> Mapping[str, str]:
    """The fields of the node that an event of Kubernetes is about, else of the one that it names
    for a pod; else of the one node that a line calls so; nothing for any other line.
    """
    match = _EVENT.search(text) if "node/" in text or "pod/" in text else None
    name = None
    if match is not None:
        on = match if match["kind"] == "node" else _ON_NODE.search(text, match.end())
        name = on["name" if on is match else "node"].rstrip(".,:;") if on is not None else None
    if name is None:
        named = set(_NAMED_NODE.findall(text))
        name = named.pop() if len(named) == 1 else None
    return {} if name is None else {"node": name, "said_of": name}
