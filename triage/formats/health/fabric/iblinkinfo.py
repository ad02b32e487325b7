"""``iblinkinfo``: every link of a fabric, switch by switch.

::

    Switch: 0xfc6a1c0300e1a040 MF0;leaf07:MQM9700/U1:
         117   21[  ] ==( 4X 106.25 Gbps Active/  LinkUp)==>    4021    1[  ] "gpu-n02 mlx5_5" ( )
         117   22[  ] ==(            Down/ Polling)==>             [  ] "" ( )

A port that is down names nothing behind it and may be unused. A link that could be faster or
wider says so in its last parentheses (``Could be 4X``, ``Could be 200.0 Gbps``), and warns.
"""

import re
from typing import Final

from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.fabric.link_report import BadEnd, LinkEnd, end_of, report_ends
from triage.formats.health.reading import Reading, lines_of

__all__ = ["IBLINKINFO"]

OWNER: Final = re.compile(
    r"(?:Switch|CA|Router): (?:0x[0-9a-f]{1,16} )?(?P<name>[^\n]{1,200}?):?\s*$"
)
LINK: Final = re.compile(
    r"\s{0,20}(?:0x[0-9a-f]{16}\s{1,10})?(?:\"[^\"]{1,200}\"\s{1,10})?\d{1,6}\s{1,8}"
    r"(?P<port>\d{1,3})\[[^\]]{0,8}\] ==\((?P<state>[^()\n]{1,80})\)==>"
    r"\s{1,40}(?:\d{1,6})?\s{0,8}(?P<far>\d{1,3})?\[[^\]]{0,8}\]\s{0,4}\"(?P<name>[^\"\n]{0,200})\""
    r"\s{0,4}\((?P<note>[^()\n]{0,80})\)"
)
MAX_LINKS: Final = 100_000


def claimed(head: str) -> bool:
    lines = head.split("\n")[:200]
    return any(OWNER.match(line) for line in lines) and any(LINK.match(line) for line in lines)


def read(text: str, reading: Reading) -> None:
    owner = ""
    bad: list[BadEnd] = []
    links: dict[LinkEnd, LinkEnd] = {}
    good: dict[LinkEnd, int] = {}
    for index, line in lines_of(text):
        header = OWNER.match(line)
        if header is not None:
            owner = header["name"]
            continue
        link = LINK.match(line)
        if link is None or not owner or not link["name"] or len(links) >= MAX_LINKS:
            continue
        near, far = end_of(owner, link["port"]), end_of(link["name"], link["far"] or "1")
        links[near], links[far] = far, near
        if "could be" in link["note"].lower():
            bad.append(BadEnd(near, " ".join(link["note"].split()), index, fails=False))
        else:
            good.setdefault(near if near.node else far, index)
    told = {seen.end for seen in bad} | {links[seen.end] for seen in bad}
    report_ends("ib.link_speed", bad, links, reading)
    for end, index in good.items():
        if end.node is not None and end not in told:
            part = f"{end.device}/{end.port}"
            reading.add("ib.link_speed", Outcome.PASS, part=part, node=end.node, line=index)


IBLINKINFO: Final = CheckFormat("iblinkinfo", claimed, read, cut_as="ib.link_speed", words=("==(",))
