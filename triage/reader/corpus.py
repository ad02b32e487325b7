"""Labelled lines that the reader learns from.

A file of a corpus is UTF-8 text of three columns, parted by tabs: the label, the program that
prints such a line, and the line behind its time and host. A label is a category that the line
blames, ``follows`` for what tells that something else failed, or ``harmless``.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from triage.domain.category import Category
from triage.domain.evidence import EvidenceRole
from triage.errors import UsageError
from triage.reader.features import normalize_line
from triage.signatures.registry import load_all_signatures, match

FOLDER: Final = Path(__file__).with_name("corpus")
_SIGNATURES: Final = "signatures"
FOLLOWS: Final = "follows"
HARMLESS: Final = "harmless"
# What no line alone can tell.
_NOT_TOLD: Final = frozenset({Category.NONE, Category.NCCL_TIMEOUT, Category.STRAGGLER})
CAUSES: Final = tuple(str(one) for one in Category if one not in _NOT_TOLD)
LABELS: Final = (*CAUSES, FOLLOWS, HARMLESS)


@dataclass(frozen=True, slots=True)
class LabelledLine:
    """A line and what it tells; ``author`` is whose words it is in, for leaving them out."""

    label: str
    author: str
    program: str
    text: str


def read_corpus(path: Path) -> list[LabelledLine]:
    """The lines of one file; its name is the author.

    Raises:
        UsageError: it cannot be read, or a line has other columns or another label; the message
            names the file and the line.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is no UTF-8 text"
        raise UsageError(f"{path}: {why}") from error
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        cells = line.rstrip("\r").split("\t")
        if len(cells) != 3:
            raise UsageError(
                f"{path.name}, line {number}: {len(cells)} columns; give a label, a program and a"
                " line, parted by tabs"
            )
        label, program, text = (cell.strip() for cell in cells)
        if label not in LABELS:
            raise UsageError(
                f"{path.name}, line {number}: {label!r} is no label; give one of"
                f" {', '.join(LABELS)}"
            )
        found.append(LabelledLine(label, path.stem, program, text))
    return found


def read_shipped() -> list[LabelledLine]:
    """All lines that the shipped model has learned from."""
    files = sorted(FOLDER.glob("*.tsv"))
    return [*(line for path in files for line in read_corpus(path)), *read_signatures()]


def read_signatures() -> Iterator[LabelledLine]:
    """The examples and near misses of all signatures, with what the signatures read in them."""
    for one in load_all_signatures():
        for example in (*one.matches, *one.near_misses):
            text, *after = example.split("\n")
            found = match(text, after)
            label = HARMLESS
            if found is not None:
                role = found.reading.role or found.signature.role
                label = choose_label(role, found.reading.category or found.signature.category)
            yield LabelledLine(label, _SIGNATURES, one.id, text)


def compute_digest(lines: Iterable[LabelledLine]) -> str:
    """A digest of labelled lines, whatever their order: which ones a model has learned from.

    Examples of signatures do not count: a new signature asks for no new model.
    """
    rows = sorted(
        f"{line.label}\t{normalize_line(line.text)}" for line in lines if line.author != _SIGNATURES
    )
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


def choose_label(role: EvidenceRole, category: Category | None) -> str:
    """What the reader would have to say of a line that a signature has read."""
    if role is EvidenceRole.ROOT and category is not None and category not in _NOT_TOLD:
        return str(category)
    if role is EvidenceRole.ROOT or role is EvidenceRole.CONSEQUENCE:
        return FOLLOWS
    return HARMLESS


def drop_copies(lines: Iterable[LabelledLine]) -> list[LabelledLine]:
    """``lines`` without those that are the same to the reader as one before."""
    seen: set[str] = set()
    kept = []
    for line in lines:
        key = normalize_line(line.text)
        if key and key not in seen:
            seen.add(key)
            kept.append(line)
    return kept
