r"""The kinds of secrets, each with what it looks like and the four bytes that betray it.

They are data (``secrets.toml``, ``prefixes.toml``). Hashes, ids, addresses and tokens of a
vocabulary are none: what has no prefix of its own counts only behind a name (``password=``), and
then not where code, a type or a placeholder stands: ``password=password``, ``api_key: str``,
``token=<pad>``.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml
from triage.parsers.redact import checks
from triage.parsers.redact.secret import Secret, any_word

# No match is longer: what overlaps at the cuts of a line without end.
LONGEST: Final = 1 << 15
# Beyond the first of them a prefix stands alone, and a name may run into it.
_DISTINCT: Final = 7
_MOST: Final = 4096
# What ends an escape or a percent code before a short prefix: `\nhf_...`, `%3Dhf_...`.
_BEFORE_SHORT: Final = "~nrtd02a"
_PART: Final = re.compile(r"\{([A-Z][A-Z_]+)\}")


def _expand(text: str | list[str], parts: Mapping[str, str]) -> str:
    """A pattern with the parts that it names as ``{PART}``."""
    return _PART.sub(lambda found: parts[found[1]], "".join(text))


def _load_secrets() -> tuple[Secret, ...]:
    raw = read_toml("triage.parsers.redact", "secrets")
    parts: dict[str, str] = {}
    for name, words in raw["words"].items():
        any_of = [word.encode() for word in words["any"]]
        parts[name] = any_word(*any_of, after=words.get("after", "").encode()).decode()
    for name, text in raw["parts"].items():
        parts[name] = _expand(text, parts)

    def make(row: Mapping[str, Any]) -> Secret:
        check = getattr(checks, row["check"]) if "check" in row else None
        pattern = compile_re(_expand(row["pattern"], parts).encode())
        return Secret(row["kind"], pattern, tuple(row.get("gates", ())), check)

    known, others = map(make, raw["known"]), map(make, raw["secret"])
    return (*known, *_load_prefixed(parts["WORD_START"]), *others)


def _load_prefixed(word_start: str) -> tuple[Secret, ...]:
    """Tokens with a prefix of their own."""
    raw = read_toml("triage.parsers.redact", "prefixes")
    found = []
    for kind, prefix, chars, least in raw["rows"]:
        start = "" if len(prefix) >= _DISTINCT else word_start
        tail = f"(?P<tail>{raw['chars'][chars]}{{{least},{_MOST}}})"
        gates: tuple[str, ...]
        if len(prefix) >= 4:
            gates = (raw["gates"].get(prefix, prefix[:4]).lower(),)
        else:
            gates = tuple(f"{before}{prefix}".lower() for before in _BEFORE_SHORT)
        pattern = compile_re(f"{start}{re.escape(prefix)}{tail}".encode())
        found.append(Secret(kind, pattern, gates, checks.has_random_tail))
    return tuple(found)


SECRETS: Final = _load_secrets()
PEM_BEGIN: Final = SECRETS[0].pattern
