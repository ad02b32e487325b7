"""SXid: the error numbers that the NVSwitch driver prints into the kernel log.

``nvidia-nvswitchN: SXid (ADDRESS): CODE, Fatal|Non-fatal, Link LL text``, then the
severity and the data of the same event. Numbers moved at R550 and most severities
are decided when the error happens, so the text is believed before the catalogue.
"""

import re
from collections.abc import Sequence
from typing import NamedTuple

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole, Trait
from triage.domain.patterns import compile_re
from triage.signatures.gpu import catalogue
from triage.signatures.pci import normalize_bus_id
from triage.signatures.severity import CONSEQUENCE, ERROR, FATAL, NOISE, ROOT, WARN
from triage.signatures.signature import Reading

_FABRIC: tuple[Category, ...] = (Category.NETWORK,)
_HEAT: tuple[Category, ...] = (Category.NVLINK, Category.CHASSIS)
_REPEATED = compile_re(r"[, ]{0,3}(?:Severity \d|Data ?\{)", re.IGNORECASE)


class TextRule(NamedTuple):
    """What words of a text mean, whatever number stands in front; None leaves the number's."""

    words: str
    category: Category | None
    also: tuple[Category, ...] = ()
    role: EvidenceRole | None = None
    severity: str | None = None


_TEXTS = (
    # Links that come up ask the controller in dozens.
    TextRule(r"Minion Link DLREQ", Category.NVLINK, (), NOISE, "info"),
    TextRule(r"\b(?:SOE HALT|Failed to boot SOE)", Category.NVLINK, _FABRIC, ROOT, FATAL),
    TextRule(r"\bModule \d{1,3} (?:is )?(?:faulty|failed|would not boot)", Category.NVLINK, _FABRIC,
             ROOT, ERROR),
    TextRule(r"(?:thermal|temp\w*)\b[^\n]{0,60}?\b(?:cleared|ended|event end|event over|normal)\b",
             Category.GPU_THERMAL, _HEAT, NOISE, "info"),
    TextRule(r"thermal[^\n]{0,40}?shut ?down", Category.GPU_THERMAL, _HEAT, ROOT, FATAL),
    TextRule(r"\b(?:thermal|over-?temp\w*|temperature)\b", Category.GPU_THERMAL, _HEAT, ROOT,
             ERROR),
    # The far end answered with an error, or not at all: a process or a GPU died there.
    TextRule(r"\bPRIV(?:ilege)?[ _]err", Category.GPU, (Category.NVLINK,), CONSEQUENCE),
    TextRule(r"\b(?:sourcetrack|ATO|peer heartbeat)\b[^\n]{0,40}?(?:time ?out|lost)", Category.GPU,
             (Category.NVLINK,), CONSEQUENCE),
    TextRule(r"\bcredit time ?out", Category.NVLINK, _FABRIC, CONSEQUENCE),
    TextRule(r"\bECC DED\b|\bdouble[- ]bit\b", Category.NVLINK, _FABRIC, ROOT),
    # Events of multicast and reduction, under whichever number.
    TextRule(r"\b(?:multicast|reduction|MC ?TS|RED ?TS|mcrsp|redrsp|crumbstore|tag ?pool)\b",
             Category.NVLINK, _FABRIC),
    TextRule(r"\b(?:LTSSM|NXBAR|ingress|egress|route|tstate)\b", None),
)  # fmt: skip
_PATTERNS = tuple(compile_re(rule.words, re.IGNORECASE) for rule in _TEXTS)
_ALONE = frozenset({Trait.ROOT_WHEN_ALONE})
# From R550 the optics of a cage, before it multicast: the number alone is both.
_MOVED = range(28000, 29000)


def find_meaning(text: str) -> TextRule | None:
    """The first row whose words are in ``text``."""
    found = (rule for rule, words in zip(_TEXTS, _PATTERNS, strict=True) if words.search(text))
    return next(found, None)


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
