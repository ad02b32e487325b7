"""The trained reader: which cause a line tells, in words that no signature knows.

A linear model over the hashed pieces of a line. It is stored as plain arrays of a few MB, never
pickled, and the same line has the same answer on every machine.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final
from zipfile import BadZipFile

import numpy as np

from triage.domain.arrays import F64, I64
from triage.domain.category import Category
from triage.errors import UnreadableModel
from triage.reader.features import NUM_FEATURES, hash_lines, normalize_line, normalize_lines

FORM: Final = 1
"""What the arrays of a file mean. A file of another form is refused."""
SHIPPED: Final = Path(__file__).with_name("model.npz")
# Lines that are scored at once: bounds the memory that is taken.
_AT_ONCE: Final = 256


@dataclass(frozen=True, eq=False)
class LineModel:
    """A multinomial logistic model over the pieces of lines.

    ``weights`` are whole numbers, shape ``(NUM_FEATURES, labels)``, in units of ``scale``;
    ``rarity`` is the inverse document frequency of each place; ``temperature`` divides the logits.
    ``examples`` are the lines that tell a cause among those that it has learned from: label, what
    prints it, and its words. ``digest`` is of all of them.
    """

    labels: tuple[str, ...]
    weights: np.ndarray
    scale: F64
    bias: F64
    rarity: np.ndarray
    temperature: float
    examples: tuple[tuple[str, str, str], ...] = ()
    digest: str = ""

    def compute_probabilities(self, lines: Sequence[str]) -> F64:
        """The probability of each label, shape ``(lines, labels)``, for lines as they are printed
        behind their time and host.
        """
        texts = normalize_lines(lines)
        found = np.zeros((len(texts), len(self.labels)))
        for begin in range(0, len(texts), _AT_ONCE):
            part = texts[begin : begin + _AT_ONCE]
            found[begin : begin + len(part)] = self._score(part)
        return found

    def _score(self, texts: Sequence[str]) -> F64:
        owner, place = hash_lines(texts)
        value = self.rarity[place].astype(np.float64)
        logits = np.tile(self.bias, (len(texts), 1))
        norm = np.sqrt(np.bincount(owner, value * value, len(texts)))
        value /= np.maximum(norm, 1e-9)[owner]
        begins = np.flatnonzero(np.diff(owner, prepend=-1))
        if len(begins):
            terms = self.weights[place] * value[:, None]
            logits[owner[begins]] += np.add.reduceat(terms, begins, axis=0) * self.scale
        logits /= self.temperature
        logits -= logits.max(axis=1, keepdims=True)
        raised = np.exp(logits)
        return np.asarray(raised / raised.sum(axis=1, keepdims=True), np.float64)

    def find_nearest(self, line: str, label: str) -> str:
        """What prints the line nearest to ``line`` among those of ``label`` that it has learned."""
        names, owner, place = _hash_examples(self, label)
        if not names:
            return ""
        _, own = hash_lines([normalize_line(line)])
        value = self.rarity.astype(np.float64) ** 2
        norm = np.sqrt(np.bincount(owner, value[place], len(names)))
        shared = np.bincount(owner, value[place] * np.isin(place, own), len(names))
        return names[int(np.argmax(shared / np.maximum(norm, 1e-9)))]

    def save(self, path: Path) -> None:
        """Write the arrays to ``path``."""
        about = {
            "form": FORM,
            "labels": self.labels,
            "temperature": self.temperature,
            "digest": self.digest,
            "examples": self.examples,
        }
        with path.open("wb") as file:  # a path would get another suffix
            np.savez_compressed(
                file,
                about=np.frombuffer(json.dumps(about, sort_keys=True).encode(), np.uint8),
                weights=self.weights,
                scale=self.scale,
                bias=self.bias,
                rarity=self.rarity,
            )


@lru_cache(2 * len(Category))
def _hash_examples(model: LineModel, label: str) -> tuple[list[str], I64, I64]:
    """What prints the examples of a label, and their pieces."""
    found = [(program, line) for of, program, line in model.examples if of == label]
    owner, place = hash_lines([line for _, line in found])
    return [program for program, _ in found], owner, place


def load_model(path: Path = SHIPPED) -> LineModel:
    """The model of a file.

    Raises:
        UnreadableModel: it is missing, cut, of another form, or no such file.
    """
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            about: dict[str, Any] = json.loads(arrays["about"].tobytes())
            if about["form"] != FORM:
                raise UnreadableModel(
                    f"{path.name} is of form {about['form']}, this version reads form {FORM}:"
                    " train it anew with `triage signatures learn`"
                )
            model = LineModel(
                tuple(about["labels"]),
                arrays["weights"],
                arrays["scale"],
                arrays["bias"],
                arrays["rarity"],
                float(about["temperature"]),
                tuple((label, program, line) for label, program, line in about["examples"]),
                about["digest"],
            )
    except (OSError, ValueError, KeyError, TypeError, BadZipFile, EOFError) as error:
        raise UnreadableModel(f"{path.name} cannot be read as a model of lines: {error}") from error
    shape = (NUM_FEATURES, len(model.labels))
    if model.weights.shape != shape or model.rarity.shape != (NUM_FEATURES,):
        raise UnreadableModel(f"{path.name} has arrays of another shape than {shape}")
    return model
