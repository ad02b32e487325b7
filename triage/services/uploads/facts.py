"""Facts of a job as they may be kept: without the secrets that a scheduler's script sent along.

A whole environment often comes with them. What is found is replaced as in logs: within its
text, or as a whole where only its key tells (``"db_password": ...``).
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from triage.parsers.redact.own import NO_PATTERNS, OwnPatterns
from triage.parsers.redact.redact import Redactor


def redact_facts(facts: Mapping[str, Any], own: OwnPatterns = NO_PATTERNS) -> dict[str, Any]:
    """The same object, with ``[redacted:kind]`` for each secret; the given one stays as it is."""
    redact = partial(_redact_text, own)
    # Hardly any object holds one, and a look at all of it is quick.
    if not redact(json.dumps(facts, ensure_ascii=False, indent=0, default=str))[1]:
        return dict(facts)
    return {redact(key)[0]: _redact_value(redact, key, value) for key, value in facts.items()}


_Redact = Callable[[str], tuple[str, list[str]]]


def _redact_value(redact: _Redact, key: str, value: Any) -> Any:  # noqa: ANN401 - JSON of any shape
    if isinstance(value, dict):
        return {
            redact(str(name))[0]: _redact_value(redact, str(name), one)
            for name, one in value.items()
        }
    if isinstance(value, list):
        return [_redact_value(redact, key, one) for one in value]
    if isinstance(value, str):
        value = redact(value)[0]
    elif value is None or isinstance(value, bool):
        return value
    as_json = json.dumps({key: value}, ensure_ascii=False)
    kinds = redact(as_json)[1] or redact(f"{key}={value}")[1]
    return f"[redacted:{kinds[0]}]" if kinds else value


def _redact_text(own: OwnPatterns, text: str) -> tuple[str, list[str]]:
    """The text without secrets, and the kinds of those that it held."""
    redactor = Redactor(own)
    out = redactor.feed(text.encode("utf-8", "replace")) + redactor.finish()
    return out.decode("utf-8", "replace"), list(redactor.counts)
