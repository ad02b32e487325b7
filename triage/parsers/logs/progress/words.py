"""The words of trainers for the numbers of a step, and the literals that find their lines.

They are data: ``words.toml``.
"""

from typing import Final

from triage.domain.toml_tables import read_toml
from triage.parsers.logs.progress.series import Quantity

_WORDS: Final = read_toml("triage.parsers.logs.progress", "words")
LITERALS: Final = tuple(_WORDS["literals"])
NAMES: Final = {
    name: Quantity(quantity) for quantity, names in _WORDS["names"].items() for name in names
}
RANKED_STEPS: Final = tuple(_WORDS["ranked_steps"])
EVALUATED: Final = frozenset(_WORDS["evaluated"])
UNITS: Final[dict[str, float]] = _WORDS["units"]
