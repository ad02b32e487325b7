"""Whose the lines of one file are: of the hosts that they name, else of the file's own node.

A folder's name may be another word for the one host that all its lines name. Where they name
several, the file was gathered from several, and each line is of the host that it names.

In reports of GPU tools the rows below a GPU's heading are that GPU's: ``nvidia-smi -q`` prints
``GPU 00000000:1B:00.0`` once and its state below it, ``dcgmi health`` ``-> 2`` and what is wrong
below that.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Final, TypeVar

from triage.domain.evidence import BY_FILE, HOST, HOST_AMONG_SEVERAL, LABELS, Evidence, Trait
from triage.parsers.flight_recorder.naming import parse_node
from triage.signatures.gpu.gpu_names import NAMES

# What a machine is called before anybody has given it a name.
_NAMELESS: Final = frozenset(
    {"localhost", "(none)", "none", "unknown", "ubuntu", "debian", "rocky", "centos", "fedora"}
)
T = TypeVar("T")
# A GPU's part of ``nvidia-smi -q`` has some 250 lines.
_MOST_LINES: Final = 400


@dataclass(frozen=True, slots=True)
class HostsInFile:
    """``folder`` is the node that the folder or the file's name gives; ``own`` is the one host, in
    short, that means the file's own node, ``several`` whether lines name others beside it.
    ``names`` are what a collector put before the lines of the file, and before all of them.
    """

    folder: str | None
    own: str | None
    several: bool
    names: Set[str] = frozenset()


def collect_hosts(
    artifact: str, hosts: Mapping[str, int], names: Set[str] = frozenset()
) -> HostsInFile:
    """What the lines of a file name; ``hosts`` is host -> how often it was seen, ``names`` stand
    before all of them.
    """
    folder = parse_node(artifact)
    counted: Counter[str] = Counter(map(_shorten_host, names))
    for host, count in hosts.items():
        counted[_shorten_host(host)] += count
    for name in _NAMELESS:
        del counted[name]
    own: str | None = None
    if folder is not None and _shorten_host(folder) in counted:
        own = _shorten_host(folder)
    elif counted:
        host, most = counted.most_common(1)[0]
        own = host if 2 * most > counted.total() and len(names) < 2 else None
    return HostsInFile(folder, own, len(counted) > 1, names)


def place_row(
    row: Evidence, host: str | None, hosts: HostsInFile, node: str | None, num_labels: int = 0
) -> Evidence:
    """``row`` at the node that it speaks of, else at that of ``host``, which stands on its line,
    else at ``node``, the file's, whose lines bear so many different labels.
    """
    if row.node is not None:
        return row
    if "of_rank" in row.fields:
        return row  # it speaks of a rank that may sit on another node
    name = row.fields.get("printed_by")
    if name in hosts.names:
        host = host or name
    elif name is not None and host in (None, name) and hosts.folder is not None:
        if _shorten_host(name) == _shorten_host(hosts.folder):
            return replace(row, node=hosts.folder)
        return replace(row, fields={**row.fields, HOST_AMONG_SEVERAL: "1"})
    if host is None or _shorten_host(host) in _NAMELESS:
        place = hosts.folder or node
        if place is None:
            return row
        labels = {LABELS: str(num_labels)} if num_labels > 1 else {}
        return replace(row, node=place, fields={**row.fields, **labels, BY_FILE: "1"})
    if hosts.several and _shorten_host(host) != hosts.own:
        return replace(row, node=host, fields={**row.fields, HOST_AMONG_SEVERAL: "1"})
    if hosts.folder is None or _shorten_host(host) == _shorten_host(hosts.folder):
        return replace(row, node=hosts.folder or host)
    return replace(row, node=hosts.folder, fields={**row.fields, HOST: host})


def _shorten_host(host: str) -> str:
    """A host name without its domain, an address as it is."""
    text = host.lower()
    name = text.partition(".")[0]
    return text if name.isdecimal() else name


def add_headings(rows: Iterable[tuple[Evidence, T]]) -> list[tuple[Evidence, T]]:
    """``rows`` of one file, those of reports with the GPU of the heading they stand under."""
    found = list(rows)
    if not any(Trait.HEADING in row.traits for row, _ in found):
        return found
    found.sort(key=lambda pair: pair[0].line or 0)
    heading: Evidence | None = None
    for place, (row, key) in enumerate(found):
        if Trait.HEADING in row.traits:
            heading = row
        elif heading is not None and _is_below(row, heading):
            names = {name: heading.fields[name] for name in NAMES if name in heading.fields}
            placed = replace(row, gpu=heading.gpu, fields={**names, **row.fields})
            found[place] = (placed, key)
    return found


def _is_below(row: Evidence, heading: Evidence) -> bool:
    """Whether a row that names no GPU stands in the report of a heading, printed with it."""
    return (
        Trait.OF_A_REPORT in row.traits
        and row.gpu is None
        and row.cuda_device is None
        and not any(name in row.fields for name in NAMES)
        and 0 <= (row.line or 0) - (heading.line or 0) <= _MOST_LINES
        and row.stamp.wall_ns == heading.stamp.wall_ns
    )
