"""How a process says that it dies: faulthandler, debuggers, crash handlers, the C library.

The first line of such a report tells the signal, and the signal is all that counts:
the stacks behind it list every thread and convict nobody. An abort follows from a
reason that other lines tell. A report of threads that nobody killed is a look at a
job that does not move.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame
from triage.signatures.load import load
from triage.signatures.scheduler.exit_codes import SIGNAL_NUMBER, read_signal
from triage.signatures.severity import CONSEQUENCE, ROOT
from triage.signatures.signature import Reading


def by_signal_name(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """The signal that a crash handler names."""
    return read_signal(SIGNAL_NUMBER.get(match["signal_name"].upper(), 0))


def thrown(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """An exception of C++ that nobody caught, by its class."""
    name = match["type"].lower()
    if "bad_alloc" in name:
        return Reading(role=ROOT, category=Category.HOST_OOM, weak=True)
    if re.search(r"c10::|dist\w*error|runtime_error|system_error|std::exception", name):
        return Reading()
    return Reading(
        role=ROOT, category=Category.SOFTWARE_FRAMEWORK, also=(Category.SOFTWARE_USER,), weak=True
    )


SIGNATURES = load(
    __name__,
    crash_handler=lambda match, _after: read_signal(
        SIGNAL_NUMBER.get((match["signal_name"] or match["other_name"]).upper(), 0)
    ),
    interpreter=lambda match, _after: (
        # Its work may have been done; it aborts all the same, and its launcher counts it as failed.
        Reading(role=CONSEQUENCE, blame=Blame.NOBODY, fields={"exit_code": "134"})
        if match["late"]
        else Reading(category=Category.SOFTWARE_USER, also=(Category.SOFTWARE_FRAMEWORK,))
        if match["stack"]
        else Reading(category=Category.DEPENDENCY, also=(Category.SOFTWARE_USER,))
        if match["image"]
        else Reading(category=Category.HOST_OOM, weak=True)
        if match["memory"]
        else read_signal(8)
        if match["signal_text"]
        else Reading(category=Category.SOFTWARE_FRAMEWORK, also=(Category.SOFTWARE_USER,))
    ),
    pool_worker=lambda match, _after: (
        None if re.search(r"^\s{0,40}(?:from|import|except) ", match.string) else Reading()
    ),
)
