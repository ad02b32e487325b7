"""What a node is called: one name for all spellings, and whose a file is by its own name.

A job's map and the folders of dumps say the name to use. Domain, case, the interface or service
that a name carries, a pod that runs on the node and an address are other spellings of it. A
name that could be of two nodes is of none.
"""

import ipaddress
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Final

from triage.domain.evidence import Evidence
from triage.domain.patterns import compile_re

# Interfaces, services and controllers that host names carry: n3-ib0, n3.ipoib, n3-mgmt, n3-xcc
_SUFFIX: Final = compile_re(
    r"[-.](?:ib\d{0,2}|ipoib\d?|eth\d|mgmt|mgt|bmc|ipmi|i?drac\d?|ilo\d?|ilom|xcc|imm|cimc|oob"
    r"|roce\d?|hsn\d?|rdma\d?)(?=$|[.])",
    re.IGNORECASE,
)
_PORT: Final = compile_re(r"(?:<\d{1,5}>|:\d{1,5})$")


@lru_cache(maxsize=65_536)
def parse_full_host(text: str) -> str:
    """A host name or address without port and interface suffix."""
    bare = text.strip().lower()
    if bare.count(":") < 2 or "]" in bare or "<" in bare:
        bare = _PORT.sub("", bare)
    bare = bare.strip("[]").removeprefix("::ffff:")
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        return _SUFFIX.sub("", bare)


@lru_cache(maxsize=65_536)
def parse_plain_host(text: str) -> str:
    """A host name without port, interface suffix and domain; an address as it is."""
    full = parse_full_host(text)
    try:
        return str(ipaddress.ip_address(full))
    except ValueError:
        return full.partition(".")[0]


def name_in(names: Mapping[str, str], text: str) -> str | None:
    """The node that ``text`` names: its full name first, hosts of two domains may share one."""
    return names.get(parse_full_host(text)) or names.get(parse_plain_host(text)) or None


def map_canonical_names(known: Iterable[str], rows: Iterable[Evidence]) -> dict[str, str]:
    """Short name -> the name to use: as ``job.json`` and folders write it, else the shortest, and
    without its domain where its sister nodes have none.
    """
    known = list(known)
    names: dict[str, str] = {}
    homonyms: dict[str, dict[str, str]] = defaultdict(dict)
    for name in known:
        homonyms[parse_plain_host(name)].setdefault(parse_full_host(name), name)
    for short, by_full in homonyms.items():
        first = next(iter(by_full.values()))
        several = sum(full != short for full in by_full) > 1
        for full, name in by_full.items():
            names[full] = name if several else first
        # Without its domain, a name of two hosts could be either.
        names.setdefault(short, "" if several else first)
    spelled = sorted({row.node for row in rows if row.node is not None}, key=lambda n: (len(n), n))
    shapes = {
        mask_numbers(name) for name in spelled if parse_full_host(name) == parse_plain_host(name)
    }
    for name in spelled:
        short = name.partition(".")[0]
        # Its sister nodes are called without their domain.
        alike = parse_plain_host(name) == short.lower() and mask_numbers(short) in shapes
        names.setdefault(parse_plain_host(name), short if alike else name)
    for name in _find_prefixed_names(spelled):
        if name not in known:
            names[parse_plain_host(name)] = names[parse_plain_host(name.partition("-")[2])]
    return names


def _find_prefixed_names(spelled: Sequence[str]) -> list[str]:
    """The names that are others of ``spelled`` behind one word, where all that begin with it are:
    files of two collectors, of which one puts a word of its own before a node's name.
    """
    words: dict[str, list[str]] = defaultdict(list)
    for name in spelled:
        word, mark, rest = name.partition("-")
        if mark and rest:
            words[word].append(name)
    return [
        name
        for word, names in words.items()
        if len(names) > 1 and {one.partition("-")[2] for one in names} <= set(spelled)
        for name in names
    ]


def mask_numbers(name: str) -> str:
    """A name whatever its numbers: that of its sister nodes, too."""
    return re.sub(r"\d", "0", name.lower())


OF_PODS: Final = frozenset({"kubernetes.pod_bound", "kubernetes.pod_listed"})

# What a table calls a machine that is no pod stands behind this.
OTHER_NAME: Final = "Successfully assigned names/"


def with_pods(names: dict[str, str], sure: Iterable[str], rows: Iterable[Evidence]) -> None:
    """Let the name of a pod mean its node, and that of its node the pod that is a job's node.

    ``sure`` are names of the job's nodes. A job that is named by its pods keeps their names;
    where two pods of the job share a node, the node's name could be either's.
    """
    homes: dict[str, set[str]] = defaultdict(set)
    for row in rows:
        pod = row.fields.get("pod")
        if row.signature in OF_PODS and pod is not None and row.node is not None:
            homes[pod].add(row.node)
    known = {parse_plain_host(name) for name in sure}
    guests: dict[str, set[str]] = defaultdict(set)
    for pod, nodes in homes.items():
        if len(nodes) != 1:
            continue  # bound again elsewhere: which of both it was when is not known
        (node,) = nodes
        if parse_plain_host(pod) not in known:
            names[parse_plain_host(pod)] = name_in(names, node) or node
        elif parse_plain_host(node) not in known:
            guests[node].add(pod)
    for node, pods in guests.items():
        if len(pods) == 1:
            (pod,) = pods
            names[parse_plain_host(node)] = name_in(names, pod) or pod


# A bare number or a letter is in every path.
_MIN_NAME: Final = 2
_MARKS: Final = compile_re(r"[._\-+@=,:]")
_MAX_MARKS: Final = 12


class NamesInPaths:
    """The node whose name a file's path holds: ``console-gpu17.log``, ``gpu17.bmc/sel.txt``.

    Only names that are known to be the job's count, whole and not as a part of another word,
    and only where one of them alone is in the path.
    """

    def __init__(self, nodes: Iterable[str]) -> None:
        self.by_text: dict[str, set[str]] = defaultdict(set)
        for node in nodes:
            for text in {parse_full_host(node), parse_plain_host(node)}:
                if len(text) >= _MIN_NAME and any(char.isalpha() for char in text):
                    self.by_text[text].add(node)
        self.of = lru_cache(maxsize=65_536)(self.find)

    def find(self, artifact: str) -> str | None:
        """The one node that ``artifact`` names; None where none or several are named."""
        found: set[str] = set()
        for part in artifact.lower().split("/"):
            found |= self.named_in(part)
        return next(iter(found)) if len(found) == 1 else None

    def named_in(self, part: str) -> set[str]:
        """Nodes whose names stand in one part of a path between its marks.

        ``console-gpu-1-2.log`` holds ``gpu-1-2`` and not ``gpu-1``.
        """
        edges = [found.start() for found in _MARKS.finditer(part)][:_MAX_MARKS]
        starts, stops = [0, *(edge + 1 for edge in edges)], [*edges, len(part)]
        seen = [
            (start, stop, self.by_text[part[start:stop]])
            for start in starts
            for stop in stops
            if stop - start >= _MIN_NAME and part[start:stop] in self.by_text
        ]
        whole = [
            nodes
            for start, stop, nodes in seen
            if not any(a <= start and stop <= b and b - a > stop - start for a, b, _ in seen)
        ]
        return {node for nodes in whole if len(nodes) == 1 for node in nodes}
