"""Fit the reader to labelled lines.

A multinomial logistic regression over hashed pieces, weighted by how rare they are. How sure it is
of itself is fitted on the lines of authors whose words it had not seen.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from triage.domain.arrays import F64, I64
from triage.errors import UsageError
from triage.reader.corpus import (
    CAUSES,
    LABELS,
    LabelledLine,
    compute_digest,
    drop_copies,
    read_shipped,
)
from triage.reader.features import (
    NUM_FEATURES,
    NUM_HASHED,
    hash_lines,
    normalize_line,
    normalize_lines,
)
from triage.reader.model import SHIPPED, LineModel, load_model

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

# The inverse strength of the penalty, chosen by the authors left out.
_STRENGTH: Final = 100.0
# How much a concept weighs beside a run of letters: a line has hundreds of these and five of those.
_CONCEPTS: Final = 2.0
# A fit that stops before its end depends on every line: one word changed in 23,000 moved answers.
_STEPS: Final = 5_000
_TOLERANCE: Final = 1e-5
_TEMPERATURES: Final = np.geomspace(0.25, 4.0, 61)


def fit_model(lines: Sequence[LabelledLine], temperature: float = 1.0) -> LineModel:
    """The model of ``lines``."""
    from sklearn.linear_model import LogisticRegression

    lines = drop_copies(lines)
    owner, place = hash_lines(normalize_lines(line.text for line in lines))
    rarity = _measure_rarity(place, len(lines))
    table = _make_table(owner, place, rarity, len(lines))
    wanted = np.array([LABELS.index(line.label) for line in lines])
    fitted = LogisticRegression(C=_STRENGTH, max_iter=_STEPS, tol=_TOLERANCE).fit(table, wanted)
    weights = np.zeros((NUM_FEATURES, len(LABELS)))
    bias = np.full(len(LABELS), -20.0)
    weights[:, fitted.classes_] = fitted.coef_.T
    bias[fitted.classes_] = fitted.intercept_
    scale = np.abs(weights).max(axis=0) / 127
    scale[scale == 0] = 1.0
    small = np.rint(weights / scale).astype(np.int8)
    examples = tuple(
        (line.label, line.program, normalize_line(line.text))
        for line in lines
        if line.label in CAUSES
    )
    return LineModel(
        LABELS,
        small,
        scale,
        bias,
        rarity.astype(np.float16),
        temperature,
        examples,
        compute_digest(lines),
    )


def _measure_rarity(place: I64, count: int) -> F64:
    seen = np.bincount(place, minlength=NUM_FEATURES)
    rarity = np.log((1 + count) / (1 + seen)) + 1.0
    rarity[NUM_HASHED:] *= _CONCEPTS
    return np.asarray(rarity, np.float64)


def _make_table(owner: I64, place: I64, rarity: F64, count: int) -> "csr_matrix":
    """The rows of a design matrix, each of length one."""
    from scipy.sparse import csr_matrix
    from sklearn.preprocessing import normalize

    table = csr_matrix((rarity[place], (owner, place)), shape=(count, NUM_FEATURES))
    return normalize(table)


def fit_temperature(probabilities: F64, wanted: I64) -> float:
    """By what the logits of ``probabilities`` are to be divided, for the least surprise."""
    logits = np.log(np.maximum(probabilities, 1e-12))

    def measure_surprise(temperature: float) -> float:
        scaled = logits / temperature
        scaled -= scaled.max(axis=1, keepdims=True)
        total = np.log(np.exp(scaled).sum(axis=1))
        return float(np.mean(total - scaled[np.arange(len(wanted)), wanted]))

    return float(min(_TEMPERATURES, key=measure_surprise))


def learn_lines(lines: Sequence[LabelledLine], out: Path) -> tuple[int, int]:
    """Write a model to ``out`` that has learned ``lines`` beside those of the shipped one.

    How many of them were understood before, and are now.

    Raises:
        UsageError: there are no lines, or ``out`` cannot be written.
    """
    if not lines:
        raise UsageError("there are no labelled lines; give at least one")
    shipped = load_model(SHIPPED)
    model = fit_model([*lines, *read_shipped()], shipped.temperature)
    try:
        model.save(out)
    except OSError as error:
        raise UsageError(f"{out} cannot be written: {error.strerror}") from error
    return _count_understood(shipped, lines), _count_understood(model, lines)


def _count_understood(model: LineModel, lines: Sequence[LabelledLine]) -> int:
    likeliest = model.compute_probabilities([line.text for line in lines]).argmax(axis=1)
    return sum(LABELS[at] == line.label for at, line in zip(likeliest, lines, strict=True))
