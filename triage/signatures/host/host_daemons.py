"""What daemons of a node write into its log about its parts: mcelog, rasdaemon, smartd, fabric
manager. They count and decode what the kernel reported, so that one of their lines is often
all that is left of an error in a log that rotated.
"""

import re
from collections.abc import Sequence

from triage.signatures.load import load
from triage.signatures.severity import ADVICE, CORRECTED, FATAL, WARN, get_group_text
from triage.signatures.signature import Reading


def counted(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Corrected or not, and the module."""
    uncorrected = get_group_text(match, "class").startswith(("uncorrected", "fatal", "ue"))
    fields = {"severity": FATAL if uncorrected else CORRECTED}
    if part := get_group_text(match, "label"):
        fields["part"] = part
    return Reading(role=None if uncorrected else ADVICE, weak=not uncorrected, fields=fields)


def nvswitch(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """What does not end the fabric is only a warning."""
    fatal = get_group_text(match, "class") == "fatal"
    return Reading(fields={"severity": FATAL if fatal else WARN})


SIGNATURES = load(__name__)
