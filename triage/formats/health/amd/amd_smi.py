"""amd-smi with ``--json``: counted errors, retired pages, and records of the firmware (CPER).

``amd-smi metric -e``, ``metric -k`` (by block) and ``bad-pages`` print lists by GPU; ``ras
--cper`` prints a table and writes one file a record::

    [{"gpu": 5, "ecc": {"total_correctable_count": 0, "total_uncorrectable_count": 1}}]
    [{"gpu": 5, "ecc_blocks": {"UMC": {"correctable_count": 0, "uncorrectable_count": 1}}}]

    timestamp            gpu_id  severity  file_name     list of afids
    2026/03/14 02:41:03  5       fatal     fatal-1.cper  17

Counts are since the driver was loaded, ``"N/A"`` where a GPU has none. Times have no zone and
are not used.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from triage.domain.category import Category
from triage.domain.health import Outcome
from triage.formats.health.check_format import CheckFormat
from triage.formats.health.json_report import documents_of, items_of, text_in
from triage.formats.health.reading import Reading, lines_of

__all__ = ["AMD_CPER", "AMD_CPER_TABLE", "AMD_SMI", "BLOCKS", "of_gpu"]

GPU: Final = re.compile(r'"gpu"\s{0,20}:\s{0,20}(?:\d{1,4}|"N/A")')
PARTS: Final = re.compile(
    r'"(?:ecc|ecc_blocks|retired|retired_bad_pages|bad_pages|pending|un_res)"\s{0,20}:'
)
# Numbers of more errors than this are a query that failed: a known one counts 1,048,560.
ABSURD: Final = 1_000_000
BLOCKS: Final = {
    "UMC": Category.GPU_HBM, "XGMI_WAFL": Category.NVLINK, "PCIE_BIF": Category.IO_BOARD,
}  # fmt: skip
PAGE_LISTS: Final = {"retired": Outcome.WARN, "pending": Outcome.WARN, "un_res": Outcome.FAIL}


def claimed(head: str) -> bool:
    begins = head.lstrip("\ufeff \t\r\n").startswith(("[", "{"))
    return begins and GPU.search(head) is not None and PARTS.search(head) is not None


def read(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        listed = document.get("gpu_data", document) if isinstance(document, Mapping) else document
        for entry in items_of(listed):
            if reading.full:
                return
            number = entry.get("gpu")
            if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1024:
                of_gpu(f"gpu {number}", entry, reading)


def of_gpu(part: str, entry: Mapping[str, Any], reading: Reading) -> None:
    """The results of one GPU's counts and lists of pages."""
    ecc, blocks = entry.get("ecc"), entry.get("ecc_blocks")
    if isinstance(blocks, Mapping):
        for name, counts in blocks.items():
            if isinstance(counts, Mapping):
                category = BLOCKS.get(str(name).upper(), Category.GPU_SRAM)
                of_counts(f"amd.ecc_{str(name).lower()[:24]}", part, counts, "", category, reading)
    if isinstance(ecc, Mapping):
        of_counts("amd.ecc", part, ecc, "total_", Category.GPU_HBM, reading)
    for name, outcome in PAGE_LISTS.items():
        pages = entry.get(name)
        if isinstance(pages, list):
            count = sum(isinstance(page, Mapping) for page in pages)
            reading.add(
                f"amd.pages_{name}",
                outcome if count else Outcome.PASS,
                part=part,
                detail=f"{count} pages",
                category=Category.GPU_HBM,
                line=1,
            )


def of_counts(
    check: str,
    part: str,
    counts: Mapping[str, Any],
    prefix: str,
    category: Category,
    reading: Reading,
) -> None:
    """Uncorrectable errors fail; deferred ones were found and not used yet."""
    found = {
        name: count_in(counts, f"{prefix}{name}_count")
        for name in ("uncorrectable", "deferred", "correctable")
    }
    known = {name: count for name, count in found.items() if count is not None}
    if not known:
        return
    outcome = Outcome.PASS
    if known.get("deferred"):
        outcome = Outcome.WARN
    if known.get("uncorrectable"):
        outcome = Outcome.FAIL
    said = ", ".join(f"{count} {name}" for name, count in known.items())
    reading.add(
        check, outcome, part=part, detail=f"{said} since the driver was loaded",
        category=category, line=1,
    )  # fmt: skip


def count_in(counts: Mapping[str, Any], name: str) -> int | None:
    count = counts.get(name)
    if isinstance(count, bool) or not isinstance(count, int) or not 0 <= count < ABSURD:
        return None
    return count


HEADER: Final = re.compile(r"timestamp\s{2,40}gpu_id\s{2,40}severity\s{2,40}file_name\b")
ROW: Final = re.compile(
    r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\s{1,20}(?P<gpu>\d{1,4})\s{1,20}(?P<severity>\w[\w-]{2,30})"
    r"\s{1,20}(?P<file>\S{1,120})(?P<afids>[\d ,]{0,80})"
)
GPU_NUMBER: Final = re.compile(r"\d{1,3}", re.ASCII)
FAILS: Final = frozenset({"fatal", "non-fatal-uncorrected", "nonfatal-uncorrected"})


def claimed_table(head: str) -> bool:
    return HEADER.match(head.lstrip()) is not None


def read_table(text: str, reading: Reading) -> None:
    for index, line in lines_of(text):
        row = ROW.match(line.strip())
        if row is None:
            if line.strip() and HEADER.match(line.strip()) is None:
                reading.skip(index, "no time, GPU and severity of a record")
            continue
        add_record(f"gpu {row['gpu']}", row["severity"], row["file"], index, reading)


def add_record(part: str | None, severity: str, detail: str, line: int, reading: Reading) -> None:
    """One record of the firmware; which part it is about stands in its sections alone."""
    grave = severity.lower().replace("_", "-") in FAILS
    reading.add(
        "amd.cper",
        Outcome.FAIL if grave else Outcome.WARN,
        part=part,
        detail=f"{severity.lower()} {detail}".strip(),
        category=Category.GPU,
        line=line,
    )


def claimed_record(head: str) -> bool:
    begins = head.lstrip("\ufeff \t\r\n").startswith("{")
    return begins and '"error_severity"' in head and '"signature"' in head and '"CPER"' in head


def read_record(text: str, reading: Reading) -> None:
    for document in documents_of(text, reading):
        for record in items_of(document):
            severity = text_in(record, "error_severity")
            if not severity:
                reading.skip(1, "a record without its severity")
                continue
            part = next(gpus_of(record), None)
            add_record(part, severity, text_in(record, "notify_type"), 1, reading)


def gpus_of(record: Mapping[str, Any]) -> Iterator[str]:
    """``gpu 5`` of the record ``5:1`` that amdgpu made."""
    number, _, rest = text_in(record, "record_id").partition(":")
    ours = text_in(record, "creator_id") == "amdgpu" and bool(rest)
    if ours and GPU_NUMBER.fullmatch(number):
        yield f"gpu {int(number)}"


AMD_SMI: Final = CheckFormat("amd_smi", claimed, read, lines=False, words=('"gpu"',))
AMD_CPER_TABLE: Final = CheckFormat("amd_cper_table", claimed_table, read_table, words=("gpu_id",))
AMD_CPER: Final = CheckFormat(
    "amd_cper", claimed_record, read_record, lines=False, words=('"CPER"',)
)
