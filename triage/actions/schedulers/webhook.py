"""A scheduler behind a webhook: whatever a site has that takes nodes out, asked over HTTP.

Each request is ``{"type": "node.drain", "timestamp": ..., "data": {"node", "reason", ...}}``,
signed as Standard Webhooks says and sent by the rules of outgoing messages: https, public
addresses or those of ``TRIAGE_WEBHOOK_ALLOW``, no redirects. Looks are answered in at most 500
characters: ``node.look`` with ``{"exists", "drained", "reason", "by", "busy"}``, and ``pool.size``
with ``{"nodes": 512, "out": 3}``, where ``out`` counts the nodes whose drain has a reason of ours,
or names them with the time since when: ``{"out": {"n7": "2026-03-14T02:40:59Z"}}``.
Acts are answered with 2xx when they are done. A 4xx refuses, in the words of its body; 408, 425,
429, any 5xx and silence mean: try again.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping
from typing import Any, Final

from triage.actions.schedulers.interface import (
    NodeView,
    PoolView,
    SchedulerAway,
    SchedulerRefused,
    time_in,
)
from triage.clock import utc_now
from triage.domain.report import iso_utc
from triage.notify.deliver import Attempt, send
from triage.notify.guard import Guard
from triage.notify.request import JSON, Request
from triage.notify.signing import sign
from triage.render.words.clean import one_line
from triage.settings import Settings

__all__ = ["WebhookScheduler", "scheduler_from"]

LATER: Final = frozenset({408, 425, 429})
LOOKS: Final = frozenset({"node.look", "pool.size"})


class WebhookScheduler:
    """:class:`triage.actions.schedulers.interface.Scheduler` behind one address."""

    name = "webhook"

    def __init__(self, url: str, secret: str, guard: Guard, *, timeout_s: float) -> None:
        self.url = url
        self.secret = secret
        self.guard = guard
        self.timeout_s = timeout_s

    def node(self, node: str) -> NodeView:
        """How the node stands."""
        told = self._answer_to("node.look", node=node)
        exists, drained = told.get("exists"), told.get("drained", False)
        if not isinstance(exists, bool) or not isinstance(drained, bool):
            raise SchedulerRefused(
                "the answer to node.look has no exists and drained of true/false"
            )
        return NodeView(
            node,
            exists,
            drained,
            reason=one_line(str(told.get("reason") or ""))[:200],
            by=one_line(str(told.get("by") or ""))[:100],
            busy=told.get("busy") is True,
        )

    def pool(self) -> PoolView:
        """How many nodes there are, and how many are out with a reason of ours, if it says so."""
        answer = {"out": 0, **self._answer_to("pool.size")}
        named = answer["out"]
        if isinstance(named, dict):
            out = {str(node): time_in(since) for node, since in named.items()}
            return PoolView(count_in(answer, "nodes"), out)
        return PoolView(count_in(answer, "nodes"), num_out=count_in(answer, "out"))

    def drain(self, node: str, reason: str) -> None:
        """Ask for a drain."""
        self._ask("node.drain", node=node, reason=reason)

    def undrain(self, node: str, reason: str, before: NodeView | None) -> None:
        """Ask for the drain of this reason to be taken back."""
        left = None if before is None else {"drained": before.drained, "reason": before.reason}
        self._ask("node.undrain", node=node, reason=reason, before=left)

    def reboot(self, node: str, reason: str) -> None:
        """Ask for a reboot."""
        self._ask("node.reboot", node=node, reason=reason)

    def command(self, verb: str, node: str, reason: str) -> str:
        """What is posted; the signature is made when it is."""
        data = json.dumps({"node": node, "reason": reason})
        return f'POST {{"type": "node.{verb}", "data": {data}}}'

    def _answer_to(self, kind: str, **data: object) -> Mapping[str, Any]:
        """What a look is answered with. Raises :class:`SchedulerRefused` for what is no object."""
        answer = self._ask(kind, **data).response_excerpt
        try:
            told = json.loads(answer)
        except (ValueError, RecursionError):
            told = None
        if not isinstance(told, dict):
            raise SchedulerRefused(f"{kind} was not answered with a JSON object")
        return told

    def _ask(self, kind: str, **data: object) -> Attempt:
        now = utc_now()
        body = json.dumps({"type": kind, "timestamp": iso_utc(now), "data": data}).encode()
        # The same act again has the same id: its receiver may know it by that.
        said = secrets.token_bytes(16) if kind in LOOKS else json.dumps([kind, data]).encode()
        message_id = f"msg_{hashlib.sha256(said).hexdigest()[:32]}"
        headers = {**JSON, **sign((self.secret,), message_id, now, body)}
        request = Request("POST", self.url, headers, body)
        attempt = send(request, self.guard, timeout_s=self.timeout_s)
        if attempt.ok:
            return attempt
        why = attempt.error or "no answer"
        if attempt.response_excerpt:
            why = f"{why}: {attempt.response_excerpt[:200]}"
        status = attempt.status
        if status is not None and 400 <= status < 500 and status not in LATER:
            raise SchedulerRefused(why)
        raise SchedulerAway(why)


def count_in(answer: Mapping[str, Any], key: str) -> int:
    value = answer.get(key)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise SchedulerRefused(f"the answer to pool.size has no number of nodes as {key!r}")
    return value


def scheduler_from(settings: Settings) -> WebhookScheduler:
    """By ``TRIAGE_ACT_WEBHOOK_URL`` and its secret."""
    return WebhookScheduler(
        settings.act_webhook_url,
        settings.act_webhook_secret,
        Guard(settings.webhook_allow),
        timeout_s=settings.act_timeout_s,
    )
