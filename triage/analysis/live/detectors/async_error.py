"""Asynchronous errors: the rank on which NCCL itself failed.

Its peers report a remote error: they only heard of it, and are not named.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from triage.analysis.live.case import LiveCase, make_look_claim
from triage.analysis.live.communicators.levels import Identity
from triage.analysis.live.communicators.who import MembersOfJob, describe_machine
from triage.analysis.live.jobs import own_round
from triage.domain.category import Category, Role, VerdictKind
from triage.domain.finding import Finding
from triage.domain.live.communicator import CommunicatorRank
from triage.domain.live.look import Tool

_LONE: Final = 0.8
_SEVERAL: Final = 0.6
_MAX_FAILED: Final = 4

# As the same words of NCCL in a job log; an error of CUDA or of the system names no part.
_CATEGORIES: Final = {
    "internal error": Category.SOFTWARE_FRAMEWORK,
    "invalid argument": Category.DEPENDENCY,
    "invalid usage": Category.DEPENDENCY,
}


class AsyncError:
    """One finding per rank with an error of its own.

    Silent: where all errors are remote ones, and where more than four ranks failed.
    """

    name = "ras.async_error"

    def run(self, case: LiveCase) -> Iterator[Finding]:
        """The findings; of several failed ranks nothing tells which was the first."""
        found = own_round(case, Tool.RAS)
        if found is None:
            return
        members = MembersOfJob(case, found.looks)
        failed: dict[Identity, list[CommunicatorRank]] = defaultdict(list)
        for communicator in found.communicators:
            for member in communicator.ranks:
                if member.error is not None and not member.remote_error:
                    failed[members.identity_of(communicator, member)].append(member)
        if len(failed) > _MAX_FAILED:
            return
        for ones in failed.values():
            yield self.finding(members, ones[0], num_failed=len(failed))

    def finding(
        self, members: MembersOfJob, member: CommunicatorRank, *, num_failed: int
    ) -> Finding:
        """The claim on one rank."""
        home = members.home_of(member)
        ranks, nodes = members.places([home])
        inside = ", ".join(describe_machine(member.process))
        lone = num_failed == 1
        return make_look_claim(
            detector=self.name,
            kind=VerdictKind.CRASH,
            category=_CATEGORIES.get((member.error or "").lower(), Category.NCCL_TIMEOUT),
            ranks=tuple(ranks),
            nodes=tuple(nodes),
            strength=_LONE if lone else _SEVERAL / num_failed,
            role=Role.CULPRIT if lone else Role.POSSIBLE,
            summary=members.naming(
                f'reported "{member.error}" in NCCL{f" ({inside})" if inside else ""}, its peers at'
                " most an error of another process",
                home,
            ),
            because=(members.explain(self.name, member, f'reported "{member.error}"'),),
        )
