"""The words of a record that monitors, tickets and chats export: title and text, while it lasts.

::

    {"title": "[Triggered] RAM module failed", "text": "gpu-17: slot D5", "status": "triggered"}
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, TypeGuard

from triage.domain.patterns import compile_re
from triage.parsers.logs.record_fields import Fields, Holds

_OVER: Final = compile_re(
    r"(?i)(?:auto[-_ ]?)?(?:resolved|recover(?:ed|y)|cleared|closed|ok|success|normal|inactive"
    r"|healthy)"
)
# "[Recovered] ...", "[P1] [RESOLVED on host:n7] ...", "OK: ..."
_OVER_TITLE: Final = compile_re(
    r"(?i)(?:.{0,40}\[(?:recovered|resolved|cleared|closed|ok)\b[^\[\]]{0,80}\]"
    r"|(?:recovered|resolved|cleared|ok): )"
)


def join_texts(parts: Iterable[object]) -> str:
    """Texts as one line's words, none that another one says too."""
    texts = list(dict.fromkeys(one.strip() for one in parts if isinstance(one, str)))
    return ": ".join(
        one for one in texts if one and not any(one != other and one in other for other in texts)
    )


def compose_record(fields: Fields, message: str | None) -> str | None:
    """What a record says whose message is known: its title, ``message``, and what describes it.

    A title alone may be a field of anything: it says something where the record has a state.
    """
    titles = fields.get(Holds.TITLE, ())
    # The reason of an event is one word, which its message explains.
    details = [one for one in fields.get(Holds.DETAIL, ()) if _is_text(one) and " " in one]
    texts = [message, *details]
    if not any(map(_is_text, titles)):
        # Opsgenie's title is its message.
        return join_texts(texts) if message and details else message
    if any(map(_is_text, texts)) or any(_iterate_states(fields)):
        return join_texts([*titles, *texts])
    return message


def is_over(fields: Fields) -> bool:
    """Whether a record of a trouble, which has a title or a description, says that it has ended."""
    titles = [one for one in fields.get(Holds.TITLE, ()) if _is_text(one)]
    if not titles and not any(map(_is_text, fields.get(Holds.DETAIL, ()))):
        return False
    return any(map(_OVER.fullmatch, _iterate_states(fields))) or any(map(_OVER_TITLE.match, titles))


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and bool(value.strip())


def _iterate_states(fields: Fields) -> Iterator[str]:
    """The states that a record names, also ``{"status": {"state": "resolved"}}``."""
    for one in fields.get(Holds.STATE, ()):
        if isinstance(one, Mapping):
            one = one.get("state") or one.get("name") or one.get("value")
        if isinstance(one, str):
            yield one
