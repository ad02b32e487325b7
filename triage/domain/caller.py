"""Who asks: the token of a request, and what it may do."""

from dataclasses import dataclass

__all__ = ["Caller"]


@dataclass(frozen=True, slots=True)
class Caller:
    """The token behind a request.

    ``key_id`` is None for what no request brought, and ``local`` under ``--open``.
    """

    key_id: str | None = None
    scopes: frozenset[str] = frozenset()

    @property
    def corrects(self) -> bool:
        """Whether it may change what was said of a settled incident."""
        return not self.scopes.isdisjoint({"read", "admin"})
