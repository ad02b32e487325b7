"""Who asks: the token of a request, what it may do, and what it is bound to."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Final

from triage.domain.patterns import compile_re
from triage.errors import NotAllowed, NotFound

MAX_PATTERN: Final = 256
# gpu-*, gpu-0[0-4]?, n17.a.example: a glob over plain host names.
NODE_PATTERN: Final = compile_re(rf"[A-Za-z0-9._*?!\[\]-]{{1,{MAX_PATTERN}}}", re.ASCII)
_GLOB: Final = frozenset("*?[")


@dataclass(frozen=True, slots=True)
class Caller:
    """The token behind a request.

    ``key_id`` is None for what no request brought, and ``local`` under ``--open``. ``cluster``,
    ``node_pattern`` and ``job_id`` are what the token is bound to; None is anything.
    """

    key_id: str | None = None
    scopes: frozenset[str] = frozenset()
    cluster: str | None = None
    node_pattern: str | None = None
    job_id: str | None = None

    @property
    def reads(self) -> bool:
        """Whether it may be told what is known, and not only what became of what it sent."""
        return not self.scopes.isdisjoint({"read", "admin"})

    @property
    def corrects(self) -> bool:
        """Whether it may change what was said of a settled incident."""
        return self.reads

    @property
    def only_node(self) -> str | None:
        """The node that it is bound to; None where it is bound to several, or to none."""
        pattern = self.node_pattern
        return None if pattern is None or _GLOB.intersection(pattern) else pattern

    def check(
        self,
        cluster: str | None,
        *,
        job_id: str | None = None,
        nodes: Iterable[str | None] | None = None,
    ) -> str | None:
        """The cluster of what is sent: the one that it names, else the token's.

        ``job_id`` is None for what is of no one job. ``nodes`` are all that it says something of
        (None among them: of a node that nobody names); without ``nodes`` it is of whole jobs.

        Raises :class:`NotAllowed`, which says which bound is in the way and what to do.
        """
        if self.cluster is not None and (cluster or self.cluster) != self.cluster:
            raise _make_not_allowed("cluster", self.cluster, f"this is of the cluster {cluster!r}")
        if self.job_id is not None and job_id != self.job_id:
            of = "no one job" if job_id is None else f"the job {job_id!r}"
            raise _make_not_allowed("job", self.job_id, f"this is of {of}")
        if self.node_pattern is not None:
            self._check_nodes(self.node_pattern, nodes)
        return cluster or self.cluster

    def _check_nodes(self, pattern: str, nodes: Iterable[str | None] | None) -> None:
        if nodes is None:
            raise _make_not_allowed("nodes", pattern, "this says something of whole jobs")
        for node in nodes:
            if node is None:
                raise _make_not_allowed("nodes", pattern, "this does not say which node it is of")
            if not fnmatchcase(node, pattern):
                raise _make_not_allowed("nodes", pattern, f"this is of the node {node!r}")

    def sees(self, cluster: str | None) -> bool:
        """Whether it may know of what is of this cluster; None is of no cluster."""
        return self.cluster is None or cluster == self.cluster

    def asks(self, cluster: str | None) -> str | None:
        """The cluster that a question is of: the one that it names, else the token's.

        Raises :class:`NotFound` for another one, which is as good as none.
        """
        if cluster is not None and not self.sees(cluster):
            raise NotFound(
                "there is no such cluster", hint="leave cluster out: it is that of the token"
            )
        return cluster or self.cluster

    def check_own(self, cluster: str | None) -> None:
        """Raise :class:`NotAllowed` where something that is there is of another cluster.

        What nobody named a cluster of is of none, and so not of the token's.
        """
        if self.cluster is not None and not self.sees(cluster):
            of = f"the cluster {cluster!r}" if cluster else "no cluster"
            raise _make_not_allowed("cluster", self.cluster, f"this is of {of}")


def _make_not_allowed(what: str, bound: str, this: str) -> NotAllowed:
    return NotAllowed(
        f"the token is bound to the {what} {bound!r}, and {this}",
        hint="use a token that reaches it: `triage token create` has --cluster, --node-pattern"
        " and --job, and binds to nothing without them",
    )
