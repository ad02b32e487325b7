"""Facts of a job as they may be kept: without the secrets that a scheduler's script sent along.

A whole environment often comes with them. What is found is replaced as in logs: within its
text, or as a whole where only its key tells (``"db_password": ...``).
"""

import json
from collections.abc import Mapping
from typing import Any

from triage.parsers.redact.redact import Redactor

__all__ = ["without_secrets"]


def without_secrets(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The same object, with ``[redacted:kind]`` for each secret; the given one stays as it is."""
    # Hardly any object holds one, and a look at all of it is quick.
    if not found_in(json.dumps(facts, ensure_ascii=False, indent=0, default=str)):
        return dict(facts)
    return {cleaned_text(key): cleaned(key, value) for key, value in facts.items()}


def cleaned(key: str, value: Any) -> Any:  # noqa: ANN401 - JSON of any shape
    if isinstance(value, dict):
        return {cleaned_text(str(name)): cleaned(str(name), one) for name, one in value.items()}
    if isinstance(value, list):
        return [cleaned(key, one) for one in value]
    if isinstance(value, str):
        value = cleaned_text(value)
    elif value is None or isinstance(value, bool):
        return value
    kinds = found_in(json.dumps({key: value}, ensure_ascii=False)) or found_in(f"{key}={value}")
    return f"[redacted:{kinds[0]}]" if kinds else value


def cleaned_text(text: str) -> str:
    return redacted(text)[0]


def found_in(text: str) -> list[str]:
    """The kinds of secrets in a text."""
    return redacted(text)[1]


def redacted(text: str) -> tuple[str, list[str]]:
    redactor = Redactor()
    out = redactor.feed(text.encode("utf-8", "replace")) + redactor.finish()
    return out.decode("utf-8", "replace"), list(redactor.counts)
