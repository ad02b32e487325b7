"""Fit the reader of unknown lines, and say how well it reads words that it has not learned.

    python -m benchmarks.reader                 figures, each author left out in turn
    python -m benchmarks.reader --write         the same, and write the model that is shipped
    python -m benchmarks.reader --only desks    with these authors left out alone

An author is one file below ``triage/reader/corpus``, or the examples of the signatures. Nobody's
words of ``reader_exam.tsv`` are ever learned: in it several labels that are fair stand as ``a|b``.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.table import aligned, machine
from triage.reader.corpus import (
    CAUSES,
    FOLLOWS,
    HARMLESS,
    LABELS,
    drop_copies,
    read_shipped,
)
from triage.reader.learn import fit_model, fit_temperature
from triage.reader.model import SHIPPED, LineModel
from triage.reader.read import CauseReader

EXAM: Final = Path(__file__).with_name("reader_exam.tsv")
_HEAD = ("words of", "causes", "right", "wrong", "silent", "likeliest right", "harmless read",
         "follows read")  # fmt: skip


def main() -> None:
    """Measure, print, and write where that is asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the model that is shipped")
    parser.add_argument("--confused", type=int, default=0, metavar="N", help="print N wrong ones")
    parser.add_argument("--only", nargs="+", metavar="AUTHOR", help="leave out these alone")
    options = parser.parse_args()
    lines = drop_copies(read_shipped())
    authors = sorted({line.author for line in lines})
    print(f"{len(lines):,} lines of {len(authors)} authors; {machine()}")
    if unknown := sorted({*(options.only or ())} - {*authors}):
        parser.error(f"no author {', '.join(unknown)}; give some of {', '.join(authors)}")
    rows = []
    left_out: list[tuple[np.ndarray, int]] = []
    for author in options.only or authors:
        model = fit_model([line for line in lines if line.author != author])
        own = [line for line in lines if line.author == author]
        found = model.compute_probabilities([line.text for line in own])
        left_out += [(row, LABELS.index(line.label)) for row, line in zip(found, own, strict=True)]
        rows.append((author, *judge(model, [({line.label}, line.text) for line in own])))
    temperature = fit_temperature(
        np.array([row for row, _ in left_out]), np.array([label for _, label in left_out])
    )
    began = time.perf_counter()
    model = fit_model(lines, temperature)
    seconds = time.perf_counter() - began
    exam = read_exam()
    rows.append(("the exam", *judge(model, exam)))
    print(aligned(_HEAD, rows))
    print(f"temperature {temperature:.2f}; fitted in {seconds:.0f} s")
    for wanted, said, line in list_confused(model, exam)[: options.confused]:
        print(f"  {wanted} read as {said}: {line}")
    if options.write:
        model.save(SHIPPED)
        print(f"{SHIPPED.name}: {SHIPPED.stat().st_size / 1e6:.1f} MB")


def read_exam() -> list[tuple[set[str], str]]:
    """The labels that are fair, and the line."""
    rows = [line.split("\t") for line in EXAM.read_text(encoding="utf-8").splitlines()]
    return [(set(labels.split("|")), text) for labels, _, text in rows]


def judge(model: LineModel, exam: Sequence[tuple[set[str], str]]) -> list[str]:
    """The figures of one row, behind its name."""
    said = CauseReader(model).read([text for _, text in exam])
    likeliest = model.compute_probabilities([text for _, text in exam])[:, : len(CAUSES)]
    names = [CAUSES[at] for at in likeliest.argmax(axis=1)]
    rows = list(zip(exam, said, names, strict=True))
    causes = [(fair, one, name) for (fair, _), one, name in rows if fair & set(CAUSES)]
    right = sum(one.category is not None and str(one.category) in fair for fair, one, _ in causes)
    silent = sum(one.category is None for _, one, _ in causes)
    best = sum(name in fair for fair, _, name in causes)

    def count_read(label: str) -> str:
        of_label = [one for (fair, _), one, _ in rows if fair == {label}]
        read = sum(one.category is not None for one in of_label)
        return f"{read} of {len(of_label)}"

    count = max(len(causes), 1)
    shares = (right, len(causes) - right - silent, silent, best)
    return [
        str(len(causes)), *(f"{share / count:.3f}" for share in shares),
        count_read(HARMLESS), count_read(FOLLOWS),
    ]  # fmt: skip


def list_confused(
    model: LineModel, exam: Sequence[tuple[set[str], str]]
) -> list[tuple[str, str, str]]:
    """What was read wrongly: what would be fair, what was said, the line."""
    said = CauseReader(model).read([text for _, text in exam])
    return [
        ("|".join(sorted(fair)), str(one.category), text)
        for (fair, text), one in zip(exam, said, strict=True)
        if one.category is not None and str(one.category) not in fair
    ]


if __name__ == "__main__":
    main()
