"""Where a part was: its stays, the newest first."""

from dataclasses import dataclass
from typing import Any

from triage.domain.hardware import HardwareKind, identity_of
from triage.errors import Place, Unprocessable
from triage.fleet.store.hardware import PartStayView, listing
from triage.services.context import Context

__all__ = ["HardwareAnswer", "hardware_of"]


@dataclass(frozen=True, slots=True)
class HardwareAnswer:
    """The stays of a part, or of all parts of a node; ``more`` where not all are listed."""

    identity: str | None
    node: str | None
    stays: tuple[PartStayView, ...]
    more: bool

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        return {
            "identity": self.identity,
            "node": self.node,
            "stays": [stay.to_dict() for stay in self.stays],
            "more": self.more,
        }


def hardware_of(
    ctx: Context,
    *,
    identity: str | None = None,
    node: str | None = None,
    cluster: str | None = None,
    limit: int = 50,
) -> HardwareAnswer:
    """The stays of the parts with this identity, in any of its spellings, or of a node's parts.

    Raises :class:`Unprocessable` where neither is named, and for a text that is no identity.
    """
    if identity is None and node is None:
        raise refused("identity", "name a part or a node")
    spelt = None if identity is None else spellings(identity)
    if spelt is not None and not spelt:
        raise refused("identity", "this is no UUID, serial number or GUID of a part")
    with ctx.database.reading() as session:
        found = listing(session, identities=spelt, node=node, cluster=cluster, limit=limit + 1)
    return HardwareAnswer(identity, node, tuple(found[:limit]), len(found) > limit)


def spellings(text: str) -> list[str]:
    """As each kind of part would have it; none for a placeholder."""
    return sorted({one for kind in HardwareKind if (one := identity_of(kind, text)) is not None})


def refused(name: str, why: str) -> Unprocessable:
    return Unprocessable(
        why,
        hint="give identity=GPU-..., a serial number or a GUID; or node=NAME",
        places=(Place(f"query/{name}", why),),
    )
