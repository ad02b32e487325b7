"""What surrounds the program: images, containers, extensions, hubs, licences, commands.

A library that does not fit, a build that fails, a service that refuses: the job's
image or configuration, and no part of the node.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Trait
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.signature import Reading

# The part that the container asks for is not there, or says nothing.
_NO_DEVICE = compile_re(r"device error: |unknown device|no such device|nvml error: ", re.IGNORECASE)
_MISFIT = compile_re(r"version mismatch|driver not loaded|unsatisfied condition", re.IGNORECASE)
_NODE = compile_re(r"\bnode[= ]\"?([A-Za-z][\w.-]{0,250}\w)\b(?=[\",; ]|$)")


def container(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """An image that does not fit, or a GPU that the node does not show."""
    text = match.string
    named = _NODE.search(text)
    fields = {} if named is None else {"node": named[1]}
    if _NO_DEVICE.search(text) is None or _MISFIT.search(text) is not None:
        return Reading(fields=fields)
    return Reading(
        also=(Category.GPU, Category.IO_BOARD),
        traits=frozenset({Trait.GPU_NOT_STARTED}),
        fields=fields,
    )


SIGNATURES = load(
    __name__,
    process_group_set_up=lambda match, _after: (
        Reading(also=(Category.IO_BOARD, Category.GPU), weak=True)
        if match["part"]
        else Reading(category=Category.SOFTWARE_USER, also=(Category.DEPENDENCY,))
        if match["order"]
        else Reading()
    ),
)
