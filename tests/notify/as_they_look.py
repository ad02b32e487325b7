"""A message as a person sees it: the parts of a body that are shown, without its markup."""

import json
import re
import textwrap

import yaml

from tests.notify.messages import of_incident
from tests.notify.test_golden import TARGETS
from triage.notify.registry import render
from triage.notify.ticket import as_markdown

INCIDENT = "logs-hbm-w8"
WIDTH = 88


def slack(message):
    """Header, sections and small print, a blank line between blocks; bold as it is typed."""
    body = json.loads(render(message, TARGETS["slack"]).body)
    shown = [text for block in body["blocks"] for text in _texts(block)]
    return _wrapped(re.sub(r"<[^|>]*\|([^>]*)>", r"[\1]", "\n\n".join(shown)))


def spoken(message):
    """What a phone shows of it."""
    return _wrapped(json.loads(render(message, TARGETS["slack"]).body)["text"])


def pagerduty(message):
    """The payload of the alert, as its page lists it."""
    body = json.loads(render(message, TARGETS["pagerduty"]).body)
    shown = {"dedup_key": body["dedup_key"], **body["payload"], "links": body["links"]}
    return yaml.safe_dump(shown, sort_keys=False, allow_unicode=True, width=WIDTH)


def examples():
    """What ``docs/messages.md`` shows, by the word before each block."""
    message = of_incident(INCIDENT)
    return {
        "slack": slack(message),
        "phone": spoken(message),
        "pagerduty": pagerduty(message),
        "ticket": "".join(
            f"> {line}".rstrip() + "\n" for line in as_markdown(message).splitlines()
        ),
    }


def _texts(block):
    if block["type"] == "context":
        return [" ".join(one["text"] for one in block["elements"])]
    return [block["text"]["text"]]


def _wrapped(text):
    lines = [
        textwrap.wrap(line, WIDTH, subsequent_indent="  " if line[:1] == "•" else "") or [""]
        for line in text.splitlines()
    ]
    return "\n".join(part for parts in lines for part in parts) + "\n"
