"""Which scheduler is asked, by the settings.

Each backend is one module of this package with ``scheduler_from(settings)``. It is imported when
it is first asked for: the client of Kubernetes takes longer to import than most commands take.
"""

from importlib import import_module
from typing import cast

from triage.actions.schedulers.interface import Scheduler
from triage.domain.acting import ActMode, Verb
from triage.errors import Unprocessable, UsageError
from triage.notify.guard import Guard
from triage.notify.signing import check_secret
from triage.notify.web_url import parse_url
from triage.settings import Settings

__all__ = ["check_settings", "scheduler_of"]


def check_settings(settings: Settings) -> None:
    """Raises :class:`UsageError` for settings of acting that cannot be; nothing is asked."""
    if settings.act_mode is ActMode.OFF:
        return
    ours = (Verb.DRAIN, Verb.REBOOT, Verb.EXCLUDE)
    for verb in settings.act_verbs:
        if verb not in ours:
            raise UsageError(f"TRIAGE_ACT_VERBS: {verb!r} is none of {', '.join(ours)}")
    if settings.act_system != "webhook":
        return
    if not settings.act_webhook_url or not settings.act_webhook_secret:
        raise UsageError(
            "TRIAGE_ACT_SYSTEM=webhook needs TRIAGE_ACT_WEBHOOK_URL, and in"
            " TRIAGE_ACT_WEBHOOK_SECRET the key that signs (whsec_...)"
        )
    Guard(settings.webhook_allow)
    try:
        parse_url(settings.act_webhook_url, where="TRIAGE_ACT_WEBHOOK_URL")
        check_secret(settings.act_webhook_secret)
    except Unprocessable as error:
        raise UsageError(f"TRIAGE_ACT_WEBHOOK_URL or _SECRET: {error.detail}") from None


def scheduler_of(settings: Settings) -> Scheduler | None:
    """The scheduler of the settings; None where none is named. It is not asked anything yet.

    Raises :class:`TriageError` where it cannot be set up on this machine.
    """
    if settings.act_system == "none":
        return None
    try:
        module = import_module(f"triage.actions.schedulers.{settings.act_system}")
    except ImportError as error:
        raise UsageError(
            f"TRIAGE_ACT_SYSTEM={settings.act_system} cannot be used here: {error}"
        ) from error
    return cast("Scheduler", module.scheduler_from(settings))
