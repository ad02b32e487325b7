"""Links of a whole fabric: what ``ibdiagnet`` and ``iblinkinfo`` say, put down to nodes.

A description of a node (``gpu-n02 mlx5_5``) is the way from a fabric's identifiers to a node. A
link that is bad at both of its ends is a bad cable or transceiver; bad at one end only, it is
the device there; and bad links of several nodes on one leaf switch are the leaf's.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.formats.health.reading import FAIL, PASS, WARN, Reading, iterate_lines
from triage.formats.health.rows import Block
from triage.formats.health.table import load_data

# "gpu-n02 mlx5_5", "gpu-n02 HCA-1": what an adapter of a node calls itself
_ADAPTER: Final = compile_re(
    r'"?(?P<node>[^\s"]{1,253}) '
    r'(?P<device>mlx\w{1,20}|HCA-\d{1,3}|hfi\w{1,10}|qib\w{1,10}|ib\w{0,8}\d)"?'
)
# "MF0;leaf07:MQM9700/U1" of a managed switch
_SWITCH: Final = compile_re(r'"?MF\d{1,2};(?P<name>[\w.-]{1,120})[:;]')
_LEAF_NODES: Final = 3
_MAX_REPORTED: Final = 20_000
_DIAGNET: Final = "ib.diagnet"


@dataclass(frozen=True, slots=True)
class _LinkEnd:
    """One end: ``node`` is None for a switch, whose name is then ``device``."""

    node: str | None
    device: str
    port: str

    @property
    def part(self) -> str:
        """``mlx5_5/1``; ``port 1`` where nothing names the adapter."""
        return f"{self.device}/{self.port}" if self.device else f"port {self.port}"

    @property
    def words(self) -> str:
        """``gpu-n02 mlx5_5 port 1``, ``leaf07 port 21``."""
        return " ".join(word for word in (self.node, self.device, "port", self.port) if word)


@dataclass(frozen=True, slots=True)
class _BadEnd:
    """An end at which a link was seen bad, and what was said of it.

    ``fails`` is whether it got worse while somebody looked, rather than at any time before.
    """

    end: _LinkEnd
    detail: str
    line: int
    fails: bool = True


_Links = dict[_LinkEnd, _LinkEnd]
"""End -> other end, both ways."""


def _parse_link_end(description: str, port: str) -> _LinkEnd:
    """The end that a description of a node means; ``leaf07`` of ``MF0;leaf07:MQM9700/U1``."""
    text = description.strip()
    adapter = _ADAPTER.fullmatch(text)
    if adapter is not None:
        return _LinkEnd(adapter["node"], adapter["device"], port)
    named = _SWITCH.match(text)
    return _LinkEnd(None, named["name"] if named else text.strip('"')[:80], port)


def _report_ends(check: str, bad: Sequence[_BadEnd], links: _Links, reading: Reading) -> None:
    """A result for the node of each bad link: the cable's, the adapter's, or its leaf's."""
    # The first complaint of each end, rather one that fails.
    by_end: dict[_LinkEnd, _BadEnd] = {}
    for seen in bad[:_MAX_REPORTED]:
        known = by_end.get(seen.end)
        if known is None or (seen.fails and not known.fails):
            by_end[seen.end] = seen
    by_link: dict[_LinkEnd, list[_BadEnd]] = defaultdict(list)
    for end, seen in by_end.items():
        at_node = end if end.node else links.get(end)
        if at_node is None or not at_node.node:
            reading.skip(seen.line, f"{end.words}: {seen.detail}: it belongs to no node")
        else:
            by_link[at_node].append(seen)
    nodes_of_leaf: dict[str, set[str]] = defaultdict(set)
    for at_node in by_link:
        leaf = links.get(at_node)
        if leaf is not None and leaf.node is None and at_node.node:
            nodes_of_leaf[leaf.device].add(at_node.node)
    for at_node, ends in by_link.items():
        other = links.get(at_node)
        nodes = nodes_of_leaf.get(other.device, set()) if other is not None else set()
        _add_link(check, at_node, ends, other, len(nodes), reading)


def _add_link(
    check: str,
    at_node: _LinkEnd,
    ends: Sequence[_BadEnd],
    other: _LinkEnd | None,
    num_nodes: int,
    reading: Reading,
) -> None:
    """The result of one link; ``num_nodes`` have bad links on the same switch."""
    first, both = ends[0], len(ends) > 1
    shared = other is not None and num_nodes >= _LEAF_NODES
    where = f"at {first.end.words} alone"
    if shared and other is not None:
        where = f"as links of {num_nodes} nodes on {other.device}"
    elif both:
        where = "at both ends: the cable or a transceiver"
    fails = any(seen.fails for seen in ends) and not shared
    category = Category.NIC if first.end == at_node and not both else Category.NETWORK
    detail = f"{first.detail}, {where}" + (f" ({other.words})" if other else "")
    outcome = FAIL if fails else WARN
    reading.add(check, outcome, at_node.part, detail, category, first.line, node=at_node.node)


def _add_good(
    check: str,
    good: Iterable[tuple[_LinkEnd, int]],
    bad: Sequence[_BadEnd],
    links: _Links,
    reading: Reading,
) -> None:
    """A pass for each end of a node, with its line, whose link is not among the bad ones."""
    told = {seen.end for seen in bad} | {links[seen.end] for seen in bad if seen.end in links}
    for end, line in good:
        if end.node is not None and end not in told:
            reading.add(check, PASS, end.part, line=line, node=end.node)


# ibdiagnet2.log: what got worse while ibdiagnet ran. Names of nodes and of switches look alike; a
# name that has a port beyond an adapter's two is a switch's.

# "gpu-n02/U1/P1", "leaf07/U1/P21": a node, its unit, a port
_PLACE: Final = r"(?P<name{n}>[\w.:;-]{{1,120}})/[\w.-]{{1,40}}/P(?P<port{n}>\d{{1,3}})"
_NAMED: Final = compile_re(_PLACE.format(n=""))
_BAD_PORT: Final = compile_re(
    rf"-E- {_PLACE.format(n=1)}"
    r" - (?P<what>[^\n]{0,200}?(?:increased during the run|error|exceed)[^\n]{0,200})"
)
_BAD_LINK: Final = compile_re(
    rf"-E- Link: {_PLACE.format(n=1)}<-->{_PLACE.format(n=2)}(?: -)? (?P<what>[^\n]{{1,200}})"
)
# "-I- Discovery                 0          0          "
_STAGE_ROW: Final = compile_re(
    r"^-[IWE]- (?P<stage>[A-Z][\w /-]{2,40}?)\s{2,40}\d{1,9}\s{1,20}(?P<errors>\d{1,9})\b",
    re.M,
)
_MOST_PORTS: Final = 2


def read_diagnet_log(text: str, reading: Reading) -> None:
    switches = {
        found["name"]
        for _, line in iterate_lines(text)
        for found in _NAMED.finditer(line)
        if int(found["port"]) > _MOST_PORTS
    }
    bad: list[_BadEnd] = []
    links: _Links = {}
    for index, line in iterate_lines(text):
        link = _BAD_LINK.match(line)
        if link is not None:
            one, other = _end_at(link, 1, switches), _end_at(link, 2, switches)
            links[one], links[other] = other, one
            bad += [_BadEnd(end, link["what"].strip(), index) for end in (one, other)]
        elif (port := _BAD_PORT.match(line)) is not None:
            bad.append(_BadEnd(_end_at(port, 1, switches), port["what"].strip(), index))
    _report_ends(_DIAGNET, bad, links, reading)
    if reading.results or reading.num_not_understood:
        return
    # A log without a bad link passes where its last table is there, and has no errors.
    stages = [(found["stage"], int(found["errors"])) for found in _STAGE_ROW.finditer(text)]
    errors = [f"{stage}: {count} errors" for stage, count in stages if count]
    if errors:
        reading.unknown(_DIAGNET, f"no node is named: {', '.join(errors)}")
    elif stages:
        reading.add(_DIAGNET, PASS, None, f"no errors in {len(stages)} stages")


def _end_at(found: re.Match[str], which: int, switches: Collection[str]) -> _LinkEnd:
    """The end as the log names it, without the name of an adapter."""
    name, port = found[f"name{which}"], found[f"port{which}"]
    return _LinkEnd(None, name, port) if name in switches else _LinkEnd(name, "", port)


# ibdiagnet2.db_csv: counters are totals since somebody cleared them, so that they warn. NODES gives
# names to the identifiers, LINKS joins the two ends of a link. Columns vary; -1 is a counter that
# a device does not have.

# Above these a total warns: infiniband-diags' thresholds, and links that went down at all.
_TOTALS: Final[Mapping[str, int]] = load_data(__name__)["totals"]
_COUNT: Final = compile_re(r"\d{1,20}", re.ASCII)
_LINK_COLUMNS: Final = ("nodeguid1", "portnum1", "nodeguid2", "portnum2")
_MAX_ROWS: Final = 400_000


def read_diagnet_tables(text: str, reading: Reading) -> None:
    names: dict[str, str] = {}
    joined: list[list[str]] = []
    counted: list[tuple[str, str, str, int]] = []
    for block, cells, index in _iterate_table_rows(text):
        guid = cells.get("nodeguid", "")
        if block == "NODES" and guid:
            names[guid] = cells.get("nodedesc", "")
        elif block == "LINKS":
            joined.append([cells.get(name, "") for name in _LINK_COLUMNS])
        elif block == "PM_INFO" and guid:
            values = {name: cells.get(name.lower(), "") for name in _TOTALS}
            totals = {name: int(text) for name, text in values.items() if _COUNT.fullmatch(text)}
            high = [f"{name} {n:,}" for name, n in totals.items() if n > _TOTALS[name]]
            port = cells.get("portnumber") or cells.get("portnum", "")
            if totals:
                counted.append((guid, port, ", ".join(high), index))
    links: _Links = {}
    for guid1, port1, guid2, port2 in joined:
        one, other = (
            _parse_link_end(names.get(guid1, guid1), port1),
            _parse_link_end(names.get(guid2, guid2), port2),
        )
        links[one], links[other] = other, one
    bad: list[_BadEnd] = []
    good: list[tuple[_LinkEnd, int]] = []
    for guid, port, high_words, index in counted:
        end = _parse_link_end(names.get(guid, guid), port)
        if high_words:
            bad.append(_BadEnd(end, high_words, index, fails=False))
        else:
            good.append((end, index))
    _report_ends(_DIAGNET, bad, links, reading)
    _add_good(_DIAGNET, good, bad, links, reading)
    if text.rfind("\nSTART_") > text.rfind("\nEND_"):
        reading.unknown(_DIAGNET, "the last table breaks off")


def _iterate_table_rows(text: str) -> Iterator[tuple[str, dict[str, str], int]]:
    """(block, cells by name in lower case, line) of each row of the tables."""
    block = ""
    names: list[str] = []
    count = 0
    for index, line in iterate_lines(text):
        if line.startswith("START_"):
            block, names = line[6:].strip(), []
        elif line.startswith("END_") or not block:
            block = "" if line.startswith("END_") else block
        elif line.strip() and count < _MAX_ROWS:
            try:
                cells = next(csv.reader([line], skipinitialspace=True), [])
            except csv.Error:
                continue
            if not names:
                names = [cell.strip().lower() for cell in cells]
                continue
            count += 1
            yield block, dict(zip(names, (cell.strip() for cell in cells), strict=False)), index


# ibdiagnet2.net_dump lists the ports of each switch with what hangs on them:
#     11/1/1 : 21 : ACT : LINK_UP : 5 : 4x : 100 : ... : "gpu-n02 mlx5_5"


def judge_net_dump(blocks: Sequence[Block], reading: Reading) -> None:
    """Ports of switches, whose neighbours name nodes; a port that leads nowhere says nothing."""
    for one in blocks:
        end = _parse_link_end(one.get("neighbour"), "1")
        if end.node is None:
            continue
        links = {end: _parse_link_end(one.get("switch"), one.get("port"))}
        state = one.get("state")
        if state in ("ACT", "ACTIVE"):
            said = f"active at {links[end].words}"
            reading.add(_DIAGNET, PASS, end.part, said, line=one.line, node=end.node)
        else:
            said = f"state {state}, {one.get('physical')}"
            _report_ends(_DIAGNET, [_BadEnd(end, said, one.line)], links, reading)


# iblinkinfo: every link of a fabric, switch by switch. A port that is down names nothing behind it
# and may be unused. A link that could be faster or wider says so in its last parentheses.

_MAX_LINKS: Final = 100_000


def judge_links(blocks: Sequence[Block], reading: Reading) -> None:
    """The links of ``iblinkinfo``, each in the block of its switch or adapter."""
    bad: list[_BadEnd] = []
    links: _Links = {}
    good: dict[_LinkEnd, int] = {}
    for one in blocks:
        if "name" not in one or len(links) >= _MAX_LINKS:
            continue
        near = _parse_link_end(one.find("owner"), one.get("port"))
        far = _parse_link_end(one.get("name"), one.get("far") or "1")
        links[near], links[far] = far, near
        if "could be" in one.get("note").lower():
            bad.append(_BadEnd(near, " ".join(one.get("note").split()), one.line, fails=False))
        else:
            good.setdefault(near if near.node else far, one.line)
    _report_ends("ib.link_speed", bad, links, reading)
    _add_good("ib.link_speed", good.items(), bad, links, reading)
