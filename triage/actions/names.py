"""Names that come from outside: of nodes, out of logs; of people, as they typed them."""

import re
import unicodedata
from typing import Final

from triage.domain.category import Category
from triage.domain.patterns import compile_re

NODE: Final = compile_re(r"[A-Za-z0-9](?:[A-Za-z0-9._-]{0,251}[A-Za-z0-9])?", re.ASCII)
"""A node's name that is handed to a scheduler; every other one is refused."""
_REASON: Final = compile_re(r"triage:(?P<incident>[A-Za-z0-9_-]{1,64}):", re.ASCII)
MAX_PERSON: Final = 100
_LINK: Final = "link:"
# Letters, their marks, digits and blanks of any script, and what stands in names and addresses.
_IN_NAMES: Final = frozenset(".,'’@()_+&/")


def format_act_reason(incident_id: str, category: Category, confidence: float) -> str:
    """The reason that stands at the scheduler: one word, so that other tools can read it."""
    return f"triage:{incident_id}:{category}:{confidence:.2f}"


def parse_reason_incident(reason: str) -> str | None:
    """The incident of a reason of ours; None for the words of others, who are left alone."""
    match = _REASON.match(reason)
    return match["incident"] if match else None


def parse_link_name(name: str) -> str | None:
    """Who decides by the link of a message, as it is kept: ``link:NAME``; None for what is no name.

    It is what somebody typed. A name has a letter or digit, at most 100 characters, and none that
    is not seen or that turns others round.
    """
    name = " ".join(unicodedata.normalize("NFC", name).split())
    kinds = [unicodedata.category(char) for char in name if char not in _IN_NAMES]
    proper = all(kind[0] in "LMN" or kind in ("Zs", "Pd") for kind in kinds)
    named = any(kind[0] in "LN" for kind in kinds)
    return f"{_LINK}{name}" if proper and named and len(name) <= MAX_PERSON else None


def describe_decider(by: str) -> str:
    """Who decided, for people: nobody checks the name that came over a link."""
    if not by.startswith(_LINK):
        return by
    return f'somebody with the link, said to be "{by.removeprefix(_LINK)}"'
