"""What a transformation is, and what of an answer has to stay."""

import random
from collections.abc import Collection
from enum import StrEnum
from typing import Protocol

from simulator.perturb.incident import Incident


class Keep(StrEnum):
    """What must stay as it was."""

    NODE = "node"
    ROLE = "role"
    CATEGORY = "category"
    CONFIDENCE = "confidence"  # within 0.05
    NO_INNOCENT = "no_innocent"  # whoever was not convicted before is not convicted now
    NO_SOUND_ACT = "no_sound_act"  # no sound node is cordoned or left out that was not before
    PROVED_NODE = "proved_node"  # the node, where the dumps alone name it


EVERYTHING = frozenset({Keep.NODE, Keep.ROLE, Keep.CATEGORY, Keep.CONFIDENCE, Keep.NO_INNOCENT})


class Transformation(Protocol):
    """One kind of change; ``law`` is the law of joining that it tries, 0 for another shape."""

    @property
    def name(self) -> str:
        """As it is printed and asked for."""

    @property
    def law(self) -> int:
        """The law of joining that it tries; 0 where the evidence is the same in another shape."""

    @property
    def keeps(self) -> Collection[Keep]:
        """What must stay."""

    def apply(self, incident: Incident, rng: random.Random, /) -> Incident | None:
        """The changed incident; None where it has nothing that could be changed so."""
