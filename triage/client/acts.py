"""Acts on nodes: asked for, decided, undone and listed, as the service gives them."""

from typing import Any
from urllib.parse import quote

from triage.client.incident import build_incident_path
from triage.client.transport import Transport


class NodeActs:
    """The acts of a service. Each method raises what :class:`triage.client.Client` raises."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def ask(
        self,
        incident_id: str,
        verb: str,
        *,
        node: str | None = None,
        dry_run: bool = False,
        approve: bool = False,
    ) -> dict[str, Any]:
        """Act on the convicted nodes of an incident, or on ``node`` among them."""
        body = {"verb": verb, "node": node, "dry_run": dry_run, "approve": approve}
        return self._transport.post(build_incident_path(incident_id, "actions"), body)

    def find(self, action_id: str) -> dict[str, Any]:
        """One act."""
        return self._transport.get(f"/v1/actions/{quote(action_id, safe='')}")

    def listing(self, *, most: int | None = 50, **wanted: str | None) -> list[dict[str, Any]]:
        """Acts, newest first; ``wanted`` are cluster, incident, node and state."""
        return list(self._transport.pages("/v1/actions", wanted, most=most))

    def decide(self, action_id: str, decision: str) -> dict[str, Any]:
        """Have an act approved, refused or undone: ``approve``, ``refuse``, ``undo``."""
        return self._transport.post(f"/v1/actions/{quote(action_id, safe='')}/{decision}", {})

    def actuator(self) -> dict[str, Any]:
        """How acting stands."""
        return self._transport.get("/v1/actuator")

    def halt(self, reason: str) -> dict[str, Any]:
        """Stop it."""
        return self._transport.post("/v1/actuator/halt", {"reason": reason})

    def resume(self) -> dict[str, Any]:
        """Let it go on."""
        return self._transport.post("/v1/actuator/resume", {})
