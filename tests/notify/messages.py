"""Messages built by hand and out of whole incidents, for the renderers."""

import json
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

import triage
from triage.domain.category import Action, Category, Role, VerdictKind
from triage.domain.report import Because, Suspect, Verdict
from triage.notify.headline import add_answer
from triage.notify.message import Event, Message

TESTS = Path(__file__).parents[1]
INCIDENTS = TESTS / "incidents"
AT = datetime(2026, 11, 21, 3, 14, 15, 123000, tzinfo=UTC)
FAILED_AT = datetime(2026, 11, 21, 3, 4, 14, 100000, tzinfo=UTC)
URL = "https://triage.example.com/incidents/inc_7f3a"

HOSTILE = (
    "<!channel> <!here|here> <!everyone> <@U024BE7LH> <#C024BE7LR> @everyone @here @channel"
    " <http://evil.example|click> http://evil.example/a?b=1&c=2 HTTPS://EVIL.example"
    " www.evil.example ![x](http://evil.example/p.png) [click](https://evil.example)"
    " \x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\ \x1b]0;owned\x07 \x1b[2J \x9b31m"
    " \u202egnp.exe\u2069 \udcff \x00\x07\x7f\x85 \u200b\ufeff\u2028 ``` `id` & &lt; \"'"
    " <script>alert(1)</script> $(reboot) =HYPERLINK("
)


def message(event=Event.READY, **changes):
    """A convicted GPU on n3; the point of the test is what is changed."""
    values = {
        "event": event,
        "at": AT,
        "incident_id": "inc_7f3a",
        "job_id": "4711",
        "cluster": "a",
        "revision": 1,
        "provisional": False,
        "state": "ready",
        "verdict": verdict(),
        "suspects": (suspect(),),
        "url": URL,
        "actions": ("scontrol update nodename=n3 state=drain reason=x", "kubectl cordon n3"),
        "coverage_text": "63 of 64 dumps",
        "next_step": "Drain n3, then restart the job without it.",
        "reason": None,
        "resolution": None,
    }
    return Message(**{**values, **changes})


def verdict(**changes):
    values = {
        "kind": "hang",
        "category": "gpu_hbm",
        "confidence": 0.9972,
        "summary": "On n3 (rank 27), GPU memory (HBM) failed; 63 other ranks wait.",
        "action": "drain_node",
        "cordon": ("n3",),
        "at": FAILED_AT,
        **changes,
    }
    for name, kind in (("kind", VerdictKind), ("category", Category), ("action", Action)):
        values[name] = kind(values[name])
    return Verdict(**values)


def suspect(**changes):
    values = {
        "position": 1,
        "node": "n3",
        "ranks": (27,),
        "gpus": ("0000:5d:00",),
        "category": "gpu_hbm",
        "score": 0.9972,
        "role": "culprit",
        "action": "drain_node",
        "because": (because(),),
        **changes,
    }
    for name, kind in (("category", Category), ("role", Role), ("action", Action)):
        values[name] = kind(values[name])
    return Suspect(**values)


def because(text="NVRM: Xid (PCI:0000:5d:00): 94", artifact="nodes/n3/kernel.log", line=812):
    return Because("kernel.xid", text, artifact, line, FAILED_AT)


def healthy():
    return verdict(
        kind="healthy", category="none", action="none", cordon=(), confidence=0.85, summary="Fine."
    )


def hostile(event=Event.READY, text=HOSTILE, **changes):
    """Foreign text wherever foreign text can be."""
    reasons = (Because(text, text, text, 8),) * 9
    return message(
        event,
        job_id=text,
        cluster=text,
        verdict=verdict(summary=text, cordon=(text,)),
        suspects=tuple(
            suspect(node=f"{text}{index}", gpus=(text,) * 3, because=reasons) for index in range(9)
        ),
        previous_verdict=verdict(),
        previous_suspects=(suspect(node=f"{text}-before"),),
        actions=(text,) * 5,
        coverage_text=text,
        next_step=text,
        seen_first=(text,) * 9,
        reason=text,
        resolution={"category": "gpu_hbm", "node": text, "note": text},
        **changes,
    )


@cache
def of_incident(name):
    """The message that a ready incident of ``tests/incidents`` sends."""
    folder = INCIDENTS / name
    expected = json.loads((folder / "expected.json").read_text("utf-8"))
    paths = expected.get("paths")
    if paths is None:
        paths = [child for child in ("files", "fr") if (folder / child).is_dir()]
    report = triage.analyze([folder / path for path in paths])
    answer = report.answer
    return add_answer(message(job_id=answer.job.job_id or "unknown"), answer)
