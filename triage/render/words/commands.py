"""What to look at for each cause, from ``commands.toml``."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any, Final

from triage.domain.category import Category


@dataclass(frozen=True, slots=True)
class LookCommand:
    """A command that changes nothing, and what it shows. ``of_rank`` needs a rank to be known;
    ``anywhere`` is not typed on the suspect's node.
    """

    command: str
    why: str
    of_rank: bool = False
    anywhere: bool = False


@dataclass(frozen=True, slots=True)
class Advice:
    """What a line says that its category does not: the step in a sentence, and what to look at."""

    text: str
    looks: tuple[LookCommand, ...]


_TABLES: Final[Mapping[str, Any]] = tomllib.loads(
    files("triage.render.words").joinpath("commands.toml").read_text("utf-8")
)
_COMMANDS: Final = {name: LookCommand(**row) for name, row in _TABLES["commands"].items()}
FIND_RANK: Final = _COMMANDS["find_rank"]
LOOKS: Final[Mapping[Category, tuple[LookCommand, ...]]] = {
    category: tuple(_COMMANDS[name] for name in _TABLES["looks"][category]) for category in Category
}
ADVICE: Final[Mapping[str, Advice]] = {
    signature: Advice(row["text"], tuple(_COMMANDS[name] for name in row["looks"]))
    for row in _TABLES["advice"]
    for signature in row["signatures"]
}
"""By the signature of the line that the cause rests on, where a category holds several kinds."""
