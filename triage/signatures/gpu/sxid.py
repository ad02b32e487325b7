"""SXid: the error numbers that the NVSwitch driver prints into the kernel log.

``nvidia-nvswitchN: SXid (ADDRESS): CODE, Fatal|Non-fatal, Link LL text``, then the
severity and the data of the same event. Numbers moved at R550 and most severities
are decided when the error happens, so the text is believed before the catalogue.
"""

import re
from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole, Trait
from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml
from triage.signatures.gpu import catalogue
from triage.signatures.pci import normalize_bus_id
from triage.signatures.severity import CONSEQUENCE, ERROR, FATAL, NOISE, ROOT, WARN
from triage.signatures.signature import Reading

_FABRIC: tuple[Category, ...] = (Category.NETWORK,)
_REPEATED = compile_re(r"[, ]{0,3}(?:Severity \d|Data ?\{)", re.IGNORECASE)


class TextRule(NamedTuple):
    """What words of a text mean, whatever number stands in front; None leaves the number's."""

    words: "re.Pattern[str]"
    category: Category | None
    also: tuple[Category, ...] = ()
    role: EvidenceRole | None = None
    severity: str | None = None


_ALONE = frozenset({Trait.ROOT_WHEN_ALONE})
# From R550 the optics of a cage, before it multicast: the number alone is both.
_MOVED = range(28000, 29000)


@cache
def _load_texts() -> tuple[TextRule, ...]:
    return tuple(
        TextRule(
            compile_re("".join(row["pattern"]), re.IGNORECASE),
            Category(row["category"]) if "category" in row else None,
            tuple(map(Category, row.get("also", ()))),
            EvidenceRole(row["role"]) if "role" in row else None,
            row.get("severity"),
        )
        for row in read_toml("triage.signatures.gpu", "sxid")["text"]
    )


def find_meaning(text: str) -> TextRule | None:
    """The first row whose words are in ``text``."""
    return next((rule for rule in _load_texts() if rule.words.search(text)), None)


def read_sxid(match: "re.Match[str]", _after: Sequence[str]) -> Reading | None:
    """Severity of the text, else of the catalogue; words before the number."""
    code = int(match["code"])
    text = match.string[match.end() : match.end() + 400]
    said = (match["said"] or "").lower()
    fields = {"switch": normalize_bus_id(match["switch"]) or match["switch"].lower()}
    if "(First)" in text:
        fields["first"] = "yes"
    words = find_meaning(text)
    known = catalogue.get_sxid(code)
    if code in _MOVED and (said or match["link"]):
        known = None  # ports have links and severities, cages have neither
    category, also = Category.NVLINK, _FABRIC
    role: EvidenceRole | None = None
    severity = WARN
    if known is not None:
        category, also = known.category or category, known.also
        role, severity = known.role, known.severity
        fields["reach"] = known.reach
    if words is not None:
        if words.category is not None:
            category, also = words.category, words.also
        role = words.role or role
        severity = words.severity or severity
    if said:
        severity = FATAL if said == "fatal" else WARN if severity in (ERROR, FATAL) else severity
    if role is NOISE and said == "fatal":
        role = ROOT
    fields["severity"] = severity
    if _REPEATED.match(text) and role is not NOISE:
        role = CONSEQUENCE
    # What the driver itself calls fatal is the cause where nothing else on the node is.
    alone = role is CONSEQUENCE and said == "fatal"
    return Reading(
        category=category,
        also=also,
        role=role or ROOT,
        code=code,
        weak=severity in (WARN, "info"),
        fields=fields,
        traits=_ALONE if alone else frozenset(),
    )


def read_unnumbered(match: "re.Match[str]", _after: Sequence[str]) -> Reading | None:
    """A line of the switch driver that has words and no number."""
    row = find_meaning(match["text"])
    if row is None or row.role is not ROOT:
        return None
    return Reading(
        category=row.category,
        also=row.also,
        fields={"severity": row.severity or ERROR},
    )
