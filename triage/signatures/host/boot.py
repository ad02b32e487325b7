"""Boots, shutdowns and holes in a log: the marks that divide one run of a node from the next.

A boot explains nothing by itself (it follows a crash as well as a reboot), a shutdown
that somebody ordered does. Dropped messages mean that evidence is missing.
"""

import re
from collections.abc import Sequence

from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.signature import Reading


def dropped(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """How many lines are not there."""
    numbers = [value for key, value in match.groupdict().items() if value and key[0] == "n"]
    return Reading(fields={"dropped": numbers[0]} if numbers else {})


# The manager of a user's session ends with every logout; the node's own is process 1.
_USERS_MANAGER = compile_re(r"systemd\[(?!1\])\d{1,9}\]: $")


# The system will reboot now! (requested by root via ansible); System is rebooting (kernel update)
_REQUESTED = compile_re(r"[!.]? ?\([^()\n]{3,120}\)")


def of_the_node(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """The end of the node, not of a user's session on it."""
    before = match.string[: match.start()][-40:]
    if _USERS_MANAGER.search(before):
        return None
    # A reason in brackets is that of whoever asked for it: the machine did not fail.
    return Reading(weak=False) if _REQUESTED.match(match.string, match.end()) else Reading()


SIGNATURES = load(__name__)
