"""``ibdiagnet2.log``: what got worse on the links of a fabric while ``ibdiagnet`` ran.

::

    -I- Ports counters retrieving finished successfully
    -E- gpu-n02/U1/P1 - "symbol_error_counter" increased during the run (difference value=117,...)
    -E- Link: leaf07/U1/P21<-->gpu-n02/U1/P1 - Unexpected actual link speed 100

Names of nodes and of switches look alike; a name that has a port beyond an adapter's two is a
switch's.
"""

import re
from collections.abc import Collection
from typing import Final

from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.fabric.link_report import BadEnd, LinkEnd, report_ends
from triage.formats.health.reading import Reading, lines_of

__all__ = ["IBDIAGNET_LOG"]

CHECK: Final = "ib.diagnet"
LEVEL: Final = re.compile(r"^-[IWE]- ", re.MULTILINE)
STAGE: Final = re.compile(
    r"Ports? counters|ibdiagnet|Speed / Width|Subnet Manager|Cable Diagnostic|Nodes Information",
    re.IGNORECASE,
)
# "gpu-n02/U1/P1", "leaf07/U1/P21": a node, its unit, a port
PLACE: Final = r"(?P<name{n}>[\w.:;-]{{1,120}})/[\w.-]{{1,40}}/P(?P<port{n}>\d{{1,3}})"
NAMED: Final = re.compile(PLACE.format(n=""))
BAD_PORT: Final = re.compile(
    r"-E- "
    + PLACE.format(n=1)
    + r" - (?P<what>[^\n]{0,200}?(?:increased during the run|error|exceed)[^\n]{0,200})"
)
BAD_LINK: Final = re.compile(
    r"-E- Link: "
    + PLACE.format(n=1)
    + r"<-->"
    + PLACE.format(n=2)
    + r"(?: -)? (?P<what>[^\n]{1,200})"
)
# "-I- Discovery                 0          0          "
STAGE_ROW: Final = re.compile(
    r"^-[IWE]- (?P<stage>[A-Z][\w /-]{2,40}?)\s{2,40}\d{1,9}\s{1,20}(?P<errors>\d{1,9})\b",
    re.M,
)
# An adapter has one port or two.
MOST_PORTS: Final = 2


def claimed(head: str) -> bool:
    return "-I- " in head and len(LEVEL.findall(head)) >= 2 and STAGE.search(head) is not None


def read(text: str, reading: Reading) -> None:
    switches = {
        found["name"]
        for _, line in lines_of(text)
        for found in NAMED.finditer(line)
        if int(found["port"]) > MOST_PORTS
    }
    bad: list[BadEnd] = []
    links: dict[LinkEnd, LinkEnd] = {}
    for index, line in lines_of(text):
        link = BAD_LINK.match(line)
        if link is not None:
            one, other = end_at(link, 1, switches), end_at(link, 2, switches)
            links[one], links[other] = other, one
            bad += [BadEnd(end, link["what"].strip(), index) for end in (one, other)]
        elif (port := BAD_PORT.match(line)) is not None:
            bad.append(BadEnd(end_at(port, 1, switches), port["what"].strip(), index))
    report_ends(CHECK, bad, links, reading)
    if not reading.results and not reading.num_not_understood:
        tell_summary(text, reading)


def tell_summary(text: str, reading: Reading) -> None:
    """A log without a bad link passes where its last table is there, and has no errors."""
    stages = [(found["stage"], int(found["errors"])) for found in STAGE_ROW.finditer(text)]
    bad = [f"{stage}: {errors} errors" for stage, errors in stages if errors]
    if bad:
        reading.unknown(CHECK, f"no node is named: {', '.join(bad)}")
    elif stages:
        reading.add(CHECK, Outcome.PASS, detail=f"no errors in {len(stages)} stages")


def end_at(found: re.Match[str], which: int, switches: Collection[str]) -> LinkEnd:
    """The end as the log names it, without the name of an adapter."""
    name, port = found[f"name{which}"], found[f"port{which}"]
    return LinkEnd(None, name, port) if name in switches else LinkEnd(name, "", port)


IBDIAGNET_LOG: Final = CheckFormat("ibdiagnet_log", claimed, read, cut_as=CHECK, words=("-I- ",))
