"""What AMD's tools print of GPUs, where ``amd.toml`` alone cannot say it.

Counts are since the driver was loaded, ``N/A`` where a GPU has none. Times have no zone and are
not used.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, pairwise
from typing import Any, Final, NamedTuple

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.domain.patterns import compile_re
from triage.formats.health.reading import (
    FAIL,
    PASS,
    WARN,
    Reading,
    iterate_documents,
    iterate_items,
    iterate_lines,
)
from triage.formats.health.table import load_data

# Numbers of more errors than this are a query that failed: a known one counts 1,048,560.
_ABSURD: Final = 1_000_000
_DATA: Final = load_data(__name__)
_BLOCKS: Final = {name: Category(part) for name, part in _DATA["blocks"].items()}
_PAGE_LISTS: Final = {"retired": WARN, "pending": WARN, "un_res": FAIL}
_COUNTS: Final = ("uncorrectable", "deferred", "correctable")
_NUMBER: Final = compile_re(r"\d{1,12}", re.ASCII)


def read_smi(text: str, reading: Reading) -> None:
    """``amd-smi metric -e``, ``metric -k`` (by block) and ``bad-pages`` with ``--json``."""
    for document in iterate_documents(text, reading):
        listed = document.get("gpu_data", document) if isinstance(document, Mapping) else document
        for entry in iterate_items(listed):
            if reading.full:
                return
            number = entry.get("gpu")
            if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1024:
                _read_gpu_results(f"gpu {number}", entry, reading)


def _read_gpu_results(part: str, entry: Mapping[str, Any], reading: Reading) -> None:
    """The results of one GPU's counts and lists of pages."""
    ecc, blocks = entry.get("ecc"), entry.get("ecc_blocks")
    for name, counts in blocks.items() if isinstance(blocks, Mapping) else ():
        if isinstance(counts, Mapping):
            category = _BLOCKS.get(str(name).upper(), Category.GPU_SRAM)
            _read_error_counts(
                f"amd.ecc_{str(name).lower()[:24]}", part, counts, "", category, reading
            )
    if isinstance(ecc, Mapping):
        _read_error_counts("amd.ecc", part, ecc, "total_", Category.GPU_HBM, reading)
    for name, outcome in _PAGE_LISTS.items():
        pages = entry.get(name)
        if isinstance(pages, list):
            count = sum(isinstance(page, Mapping) for page in pages)
            said, outcome = f"{count} pages", outcome if count else PASS
            reading.add(f"amd.pages_{name}", outcome, part, said, Category.GPU_HBM, 1)


def _read_error_counts(
    check: str,
    part: str,
    counts: Mapping[str, Any],
    prefix: str,
    category: Category,
    reading: Reading,
) -> None:
    """Uncorrectable errors fail; deferred ones were found and not used yet."""
    known: dict[str, int] = {}
    for name in _COUNTS:
        count = counts.get(f"{prefix}{name}_count")
        if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < _ABSURD:
            known[name] = count
    if known:
        deferred = WARN if known.get("deferred") else PASS
        said = ", ".join(f"{count} {name}" for name, count in known.items())
        outcome = FAIL if known.get("uncorrectable") else deferred
        reading.add(check, outcome, part, f"{said} since the driver was loaded", category, 1)


GPU: Final = compile_re(r"GPU: (\d{1,4})\s*$")
_KEY: Final = compile_re(r"(\s{1,40})([A-Z][A-Z0-9_]{1,60}):(?:\s(.{0,200}))?$")


def read_smi_text(text: str, reading: Reading) -> None:
    """The tree of each GPU, by indentation, judged as what ``--json`` prints."""
    part = ""
    tree: dict[str, Any] = {}
    path: list[tuple[int, dict[str, Any]]] = []

    def end_gpu() -> None:
        for name in _PAGE_LISTS.keys() & tree.keys():
            pages = tree[name] if isinstance(tree[name], dict) else {}
            tree[name] = [page for key, page in pages.items() if key.startswith("page ")]
        if part:
            _read_gpu_results(part, tree, reading)

    for index, line in iterate_lines(text):
        gpu, key = GPU.match(line), _KEY.match(line)
        if gpu is not None:
            end_gpu()
            reading.saw(index)
            part, tree = f"gpu {int(gpu[1])}", {}
            path = [(0, tree)]
        elif part and key is not None:
            reading.saw(index)
            depth, name, value = len(key[1]), key[2].lower(), (key[3] or "").strip()
            while len(path) > 1 and path[-1][0] >= depth:
                path.pop()
            below: dict[str, Any] = {}
            path[-1][1][name] = int(value) if _NUMBER.fullmatch(value) else (value or below)
            if name == "page_address":
                # Pages follow each other under the same names.
                path[-1][1][f"page {index}"] = below
            if not value:
                path.append((depth, below))
    end_gpu()
    reading.none_found("amd.ecc", "no GPU with a count")


# rocm-smi --json: one object, with the values of each GPU as texts. ROC-smi, which this tool
# replaced in 2020, writes the counts of every block under the same names, so that those of the last
# block are left. The tool of today prints no RAS counts and no pages as JSON. A value that could
# not be read is not there, and a GPU of which nothing could be read is not there either. XGMI
# errors are those since the last reading, whenever that was: they warn, and fail in a second
# object of the same file. Temperatures, clocks and use judge nothing.

_BEGIN: Final = compile_re(r'^[ \t]{0,8}\{\s{0,40}"card\d{1,4}"\s{0,4}:\s{0,4}\{', re.MULTILINE)
# Words of rocm-smi and ROC-smi, of what one asks for most.
_OWN: Final = compile_re(
    r'"(?:XGMI Error count|PCIe Replay Count|Block \w{2,16} is|Retired page \d{1,6} \w{4,8}'
    r"|(?:indep_)?throttle_status|Metric Version and Size|GPU use \(%\)|GPU memory use \(%\)"
    r"|Temperature \(Sensor \w{2,12}\) \(C\)|Unique ID|Serial Number|Device (?:Name|ID)|GPU ID|GUID"
    r'|Card [Ss]eries|VBIOS version|VRAM Total [A-Z][\w ]{4,20} \(B\))"'
)
_NOTHING: Final = compile_re(r"^WARNING: ?No JSON data to report", re.MULTILINE)
_CARD: Final = compile_re(r"card(\d{1,4})")
_BLOCK: Final = compile_re(r"Block (\w{2,16}) is")
PAGE: Final = compile_re(r"Retired page \d{1,6} Type")
_COUNT: Final = compile_re(r"\d{1,20}", re.ASCII)
_DECODER: Final = json.JSONDecoder(strict=False)
# Bits of amdgpu_smu.h that heat sets: temperatures, voltage regulators, PROCHOT. Those of power
# and current are a busy GPU's rule.
_HEAT: Final = sum(1 << bit for bit in range(32, 48))
_PAGES: Final = {
    "retired": ("amd.pages_retired", WARN), "pending": ("amd.pages_pending", WARN),
    "unreservable": ("amd.pages_un_res", FAIL),
}  # fmt: skip
# What warns where it grew between two objects: its check, its words, its part.
_COUNTERS: Final[Mapping[str, Sequence[str]]] = _DATA["counters"]
XGMI: Final = "XGMI Error count"
# Checks that a GPU without errors or pages has no value of.
_OF_SOME: Final = ("amd.ecc_", "amd.pages_")
_RANK: Final = {PASS: 0, WARN: 1, FAIL: 2}
# A reading each second for hours; no node has more GPUs, partitions included.
_MAX_DOCUMENTS: Final = 20_000
_MAX_BROKEN: Final = 8
_MAX_CARDS: Final = 128
Counters = dict[tuple[str, str], int]
"""The counters of each GPU in the object before."""


class _Finding(NamedTuple):
    """What one value says of a GPU."""

    check: str
    outcome: Outcome
    detail: str
    category: Category


def begins_rocm_json(head: str) -> bool:
    if _NOTHING.search(head[:2000]) is not None:
        return True
    begin = _BEGIN.search(head)
    return begin is not None and _OWN.search(head, begin.start()) is not None


def read_rocm_json(text: str, reading: Reading) -> None:
    counters: Counters = {}
    for document, line in _iterate_objects(text, reading):
        _read_object(document, line, counters, reading)
        if reading.full:
            break
    why = "no JSON data to report" if _NOTHING.search(text) else "no value that a check reads"
    reading.none_found("amd.smi", why)


def _iterate_objects(text: str, reading: Reading) -> Iterator[tuple[Mapping[str, Any], int]]:
    """The objects of a file with the lines where they begin; lines between them do not matter.

    Of one that does not end the whole parts come, and it is listed as not understood.
    """
    begins = [begin.start() for begin in islice(_BEGIN.finditer(text), _MAX_DOCUMENTS)]
    line, counted, end, num_broken = 1, 0, 0, 0
    for begin, following in pairwise([*begins, len(text)]):
        line, counted = line + text.count("\n", counted, begin), begin
        if begin < end or num_broken >= _MAX_BROKEN:
            continue
        start = text.index("{", begin)
        try:
            document, end = _DECODER.raw_decode(text, start)
            found = [document]
        except (ValueError, RecursionError):
            num_broken += 1
            found = list(iterate_documents(text[start:following], reading))
        yield from ((one, line) for one in found if isinstance(one, Mapping))


def _read_object(
    document: Mapping[str, Any], line: int, counters: Counters, reading: Reading
) -> None:
    """The results of one object, and which GPUs or values are not in it."""
    checks: dict[int, set[str]] = {}
    for name, values in document.items():
        number = _CARD.fullmatch(str(name))
        if number is None or not isinstance(values, Mapping) or int(number[1]) >= _MAX_CARDS:
            continue
        card = int(number[1])
        worst: dict[str, _Finding] = {}
        for one in _iterate_findings(f"gpu {card}", values, line, counters, reading):
            known = worst.get(one.check)
            if known is None or _RANK[one.outcome] > _RANK[known.outcome]:
                worst[one.check] = one
        for check, outcome, detail, category in worst.values():
            reading.add(check, outcome, f"gpu {card}", detail, category, line)
        checks[card] = {check for check in worst if not check.startswith(_OF_SOME)}
    usual = set().union(*checks.values())
    for card in range(min(checks, default=0), max(checks, default=-1) + 1):
        if card not in checks:
            why = "nothing could be read of this GPU, but of others beside it"
            reading.unknown("amd.smi", why, f"gpu {card}", line)
        for check in sorted(usual - checks[card]) if card in checks else ():
            reading.unknown(check, "no value of it, but of other GPUs", f"gpu {card}", line)


def _iterate_findings(
    part: str, values: Mapping[str, Any], line: int, counters: Counters, reading: Reading
) -> Iterator[_Finding]:
    """What the values of one GPU say."""
    texts: dict[str, str] = defaultdict(str)
    for name, value in values.items():
        if isinstance(value, str | int) and not isinstance(value, bool):
            texts[str(name).partition(" (Count)")[0]] = str(value)[:200].strip()
    counts = {name: int(text) for name, text in texts.items() if _COUNT.fullmatch(text)}
    if (errors := counts.get(XGMI)) is not None:
        bad = FAIL if (part, XGMI) in counters else WARN
        counters[part, XGMI] = 0
        words = {0: "no error", 1: "one error", 2: "several errors"}.get(errors, f"{errors} errors")
        detail = f"{words} since the last reading"
        yield _Finding("amd.xgmi", bad if errors else PASS, detail, Category.NVLINK)
    if (mask := counts.get("indep_throttle_status")) is not None:
        hot = bool(mask & _HEAT)
        detail = f"slowed down by heat ({mask:#x})" if hot else "not slowed down by heat"
        yield _Finding("amd.throttle", WARN if hot else PASS, detail, Category.GPU_THERMAL)
    for name, (check, words, part_word) in _COUNTERS.items():
        if (count := counts.get(name)) is not None:
            grown = max(0, count - counters.get((part, name), count))
            counters[part, name] = count
            detail = f"{words} grew by {grown:,}" if grown else f"{words}: {count:,}"
            yield _Finding(check, WARN if grown else PASS, detail, Category(part_word))
    yield from _split_help_blocks(part, texts, counts, line, reading)
    kinds = [state.lower() for name, state in texts.items() if PAGE.fullmatch(name)]
    for kind, (check, outcome) in _PAGES.items():
        if kind in kinds:
            yield _Finding(check, outcome, f"{kinds.count(kind)} pages", Category.GPU_HBM)


def _split_help_blocks(
    part: str, texts: Mapping[str, str], counts: Mapping[str, int], line: int, reading: Reading
) -> Iterator[_Finding]:
    """ROC-smi's counts: they are of the last block that is enabled, and hide those before it."""
    enabled = [
        found[1].lower()
        for name, state in texts.items()
        if (found := _BLOCK.fullmatch(name)) is not None and state.upper() == "ENABLED"
    ]
    bad = counts.get("ue")
    for name in enabled:
        if name != enabled[-1] or bad is None:
            why = "its count is not there: JSON has that of the last block"
            reading.unknown(f"amd.ecc_{name}", why, part, line)
            continue
        detail = (
            f"{bad} uncorrectable, {counts.get('ce', 0)} correctable since the driver was loaded"
        )
        category = _BLOCKS.get(name.upper(), Category.GPU_SRAM)
        yield _Finding(f"amd.ecc_{name}", FAIL if bad else PASS, detail, category)
