"""A node that somebody takes away: reboots, shutdowns, updates, clouds that reclaim an instance.

What an order to reboot or a cloud's notice says is the cause of what ends with it. A node that
comes up again without an order had some other cause: that alone convicts nothing.
"""

import re
from collections.abc import Sequence

from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.scheduler.node_names import HOST, named
from triage.signatures.signature import Reading


def rebooted(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A controller that saw it late says when it last heard of the node."""
    fields = dict(named(match, "node"))
    last = re.search(r"last response=(\S{10,30})", match.string)
    if last is not None:
        fields["since"] = last[1]
    return Reading(fields=fields)


_INSTANCE = compile_re(
    rf"\b[Ii]nstance i-[0-9a-f]{{8,17}} \((?P<node>{HOST})\)"
    rf'|"kubernetes\.io/hostname": ?"(?P<label>{HOST})"'
)


def instance(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A cloud's notice names the instance, and beside it the host name where it knows one."""
    named_as = _INSTANCE.search(match.string[:4000])
    if named_as is None:
        return Reading()
    name = named_as["node"] or named_as["label"]
    return Reading(fields={"node": name, "said_of": name})


SIGNATURES = load(__name__)
