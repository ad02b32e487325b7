"""``rocm-smi --json``: one object, with the values of each GPU as texts.

::

    {"card0": {"XGMI Error count": "0", "PCIe Replay Count": "0",
               "indep_throttle_status": "0", "socket_thm_residency_acc (Count)": "0"},
     "card1": {...}, "system": {"Driver version": "6.10.5"}}

    {"card0": {"Block umc is": "ENABLED", "ue": "0", "ce": "0",
               "Retired page 0 Address": "0x2000", "Retired page 0 Type": "Pending"}}

The second form is of ROC-smi, which this tool replaced in 2020: it writes the counts of every
block under the same names, so that those of the last block are left. The tool of today prints no
RAS counts and no pages as JSON, only ``WARNING: No JSON data to report``.

A value that could not be read is not there, and a GPU of which nothing could be read is not
there either. XGMI errors are those since the last reading, whenever that was: they warn, and fail
in a second object of the same file. Temperatures, clocks and use judge nothing.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.amd.amd_smi import BLOCKS
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.json_report import documents_of
from triage.formats.health.reading import Reading

__all__ = ["ROCM_SMI_JSON"]

BEGIN: Final = re.compile(r'^[ \t]{0,8}\{\s{0,40}"card\d{1,4}"\s{0,4}:\s{0,4}\{', re.MULTILINE)
# Words of rocm-smi and ROC-smi, of what one asks for most.
OWN: Final = re.compile(
    r'"(?:XGMI Error count|PCIe Replay Count|Block \w{2,16} is|Retired page \d{1,6} \w{4,8}'
    r"|(?:indep_)?throttle_status|Metric Version and Size|GPU use \(%\)|GPU memory use \(%\)"
    r"|Temperature \(Sensor \w{2,12}\) \(C\)|Unique ID|Serial Number|Device (?:Name|ID)|GPU ID|GUID"
    r'|Card [Ss]eries|VBIOS version|VRAM Total [A-Z][\w ]{4,20} \(B\))"'
)
NOTHING: Final = re.compile(r"^WARNING: ?No JSON data to report", re.MULTILINE)
CARD: Final = re.compile(r"card(\d{1,4})")
BLOCK: Final = re.compile(r"Block (\w{2,16}) is")
PAGE: Final = re.compile(r"Retired page \d{1,6} Type")
COUNT: Final = re.compile(r"\d{1,20}", re.ASCII)
DECODER: Final = json.JSONDecoder(strict=False)
# Bits of amdgpu_smu.h that heat sets: temperatures, voltage regulators, PROCHOT. Those of power
# and current are a busy GPU's rule.
HEAT: Final = sum(1 << bit for bit in range(32, 48))
PAGES: Final = {
    "retired": ("amd.pages_retired", Outcome.WARN), "pending": ("amd.pages_pending", Outcome.WARN),
    "unreservable": ("amd.pages_un_res", Outcome.FAIL),
}  # fmt: skip
# What warns where it grew between two objects: its check, its words, its part.
COUNTERS: Final = {
    "PCIe Replay Count": ("amd.pcie_replay", "PCIe replays", Category.IO_BOARD),
    "pcie_replay_count_acc": ("amd.pcie_replay", "PCIe replays", Category.IO_BOARD),
    "prochot_residency_acc": ("amd.throttle", "PROCHOT", Category.GPU_THERMAL),
    "socket_thm_residency_acc": ("amd.throttle", "thermal throttling", Category.GPU_THERMAL),
    "vr_thm_residency_acc": ("amd.throttle", "throttling by regulators", Category.GPU_THERMAL),
    "hbm_thm_residency_acc": ("amd.throttle", "throttling by HBM", Category.GPU_THERMAL),
}  # fmt: skip
XGMI: Final = "XGMI Error count"
# Checks that a GPU without errors or pages has no value of.
OF_SOME: Final = ("amd.ecc_", "amd.pages_")
RANK: Final = {Outcome.PASS: 0, Outcome.WARN: 1, Outcome.FAIL: 2}
# A reading each second for hours; no node has more GPUs, partitions included.
MAX_DOCUMENTS: Final = 20_000
MAX_BROKEN: Final = 8
MAX_CARDS: Final = 128


class Finding(NamedTuple):
    """What one value says of a GPU."""

    check: str
    outcome: Outcome
    detail: str
    category: Category


@dataclass(slots=True)
class Counters:
    """The counters of each GPU in the object before."""

    counts: dict[tuple[str, str], int] = field(default_factory=dict)

    def growth(self, part: str, name: str, count: int) -> int | None:
        """By how much a counter grew since the object before; None in the first one."""
        before = self.counts.get((part, name))
        self.counts[part, name] = count
        return None if before is None else max(0, count - before)


def claimed(head: str) -> bool:
    if NOTHING.search(head[:2000]) is not None:
        return True
    begin = BEGIN.search(head)
    return begin is not None and OWN.search(head, begin.start()) is not None


def read(text: str, reading: Reading) -> None:
    counters = Counters()
    for document, line in objects_of(text, reading):
        of_object(document, line, counters, reading)
        if reading.full:
            break
    if not reading.results:
        why = "no JSON data to report" if NOTHING.search(text) else "no value that a check reads"
        reading.unknown("amd.smi", why, line=1)


def objects_of(text: str, reading: Reading) -> Iterator[tuple[Mapping[str, Any], int]]:
    """The objects of a file with the lines where they begin; lines between them do not matter.

    Of one that does not end the whole parts come, and it is listed as not understood.
    """
    begins = [begin.start() for begin in islice(BEGIN.finditer(text), MAX_DOCUMENTS)]
    line, counted, end, num_broken = 1, 0, 0, 0
    for begin, following in pairwise([*begins, len(text)]):
        line, counted = line + text.count("\n", counted, begin), begin
        if begin < end or num_broken >= MAX_BROKEN:
            continue
        start = text.index("{", begin)
        try:
            document, end = DECODER.raw_decode(text, start)
            found = [document]
        except (ValueError, RecursionError):
            num_broken += 1
            found = list(documents_of(text[start:following], reading))
        yield from ((one, line) for one in found if isinstance(one, Mapping))


def of_object(document: Mapping[str, Any], line: int, counters: Counters, reading: Reading) -> None:
    """The results of one object, and which GPUs or values are not in it."""
    checks: dict[int, set[str]] = {}
    for name, values in document.items():
        number = CARD.fullmatch(str(name))
        if number is None or not isinstance(values, Mapping) or int(number[1]) >= MAX_CARDS:
            continue
        card = int(number[1])
        worst: dict[str, Finding] = {}
        for one in findings_of(f"gpu {card}", values, line, counters, reading):
            known = worst.get(one.check)
            if known is None or RANK[one.outcome] > RANK[known.outcome]:
                worst[one.check] = one
        for check, outcome, detail, category in worst.values():
            reading.add(
                check, outcome, part=f"gpu {card}", detail=detail, category=category, line=line
            )
        checks[card] = {check for check in worst if not check.startswith(OF_SOME)}
    usual: set[str] = set()
    usual.update(*checks.values())
    for card in range(min(checks, default=0), max(checks, default=-1) + 1):
        why = "no value of it, but of other GPUs"
        if card not in checks:
            why = "nothing could be read of this GPU, but of others beside it"
            reading.unknown("amd.smi", why, part=f"gpu {card}", line=line)
            continue
        for check in sorted(usual - checks[card]):
            reading.unknown(check, why, part=f"gpu {card}", line=line)


def findings_of(
    part: str, values: Mapping[str, Any], line: int, counters: Counters, reading: Reading
) -> Iterator[Finding]:
    """What the values of one GPU say."""
    texts = {
        str(name).partition(" (Count)")[0]: str(value)[:200].strip()
        for name, value in values.items()
        if isinstance(value, str | int) and not isinstance(value, bool)
    }
    errors = count_in(texts, XGMI)
    if errors is not None:
        again = counters.growth(part, XGMI, 0) is not None
        bad = Outcome.FAIL if again else Outcome.WARN
        words = {0: "no error", 1: "one error", 2: "several errors"}.get(errors, f"{errors} errors")
        detail = f"{words} since the last reading"
        yield Finding("amd.xgmi", bad if errors else Outcome.PASS, detail, Category.NVLINK)
    mask = count_in(texts, "indep_throttle_status")
    if mask is not None:
        hot = bool(mask & HEAT)
        detail = f"slowed down by heat ({mask:#x})" if hot else "not slowed down by heat"
        outcome = Outcome.WARN if hot else Outcome.PASS
        yield Finding("amd.throttle", outcome, detail, Category.GPU_THERMAL)
    for name, (check, words, category) in COUNTERS.items():
        count = count_in(texts, name)
        if count is None:
            continue
        grown = counters.growth(part, name, count)
        detail = f"{words} grew by {grown:,}" if grown else f"{words}: {count:,}"
        yield Finding(check, Outcome.WARN if grown else Outcome.PASS, detail, category)
    yield from blocks_of(part, texts, line, reading)
    kinds = [state.lower() for name, state in texts.items() if PAGE.fullmatch(name)]
    for kind, (check, outcome) in PAGES.items():
        if kind in kinds:
            yield Finding(check, outcome, f"{kinds.count(kind)} pages", Category.GPU_HBM)


def blocks_of(
    part: str, texts: Mapping[str, str], line: int, reading: Reading
) -> Iterator[Finding]:
    """ROC-smi's counts: they are of the last block that is enabled, and hide those before it."""
    enabled = [
        found[1].lower()
        for name, state in texts.items()
        if (found := BLOCK.fullmatch(name)) is not None and state.upper() == "ENABLED"
    ]
    bad, mended = count_in(texts, "ue"), count_in(texts, "ce")
    for name in enabled:
        check = f"amd.ecc_{name}"
        if name != enabled[-1] or bad is None:
            why = "its count is not there: JSON has that of the last block"
            reading.unknown(check, why, part=part, line=line)
            continue
        outcome = Outcome.FAIL if bad else Outcome.PASS
        detail = f"{bad} uncorrectable, {mended or 0} correctable since the driver was loaded"
        yield Finding(check, outcome, detail, BLOCKS.get(name.upper(), Category.GPU_SRAM))


def count_in(texts: Mapping[str, str], name: str) -> int | None:
    """The count of a name; None for N/A, another text, and a name that is not there."""
    found = COUNT.fullmatch(texts.get(name, ""))
    return None if found is None else int(found[0])


ROCM_SMI_JSON: Final = CheckFormat(
    "rocm_smi_json", claimed, read, lines=False, words=('"card', "No JSON data to report")
)
