"""The model: weights of features, and how a hypothesis is held against its best rival.

A logistic regression on features. A second step compares a hypothesis with its best rival, which
makes the probabilities of one incident agree with each other. Weights are data: see weights.json
and how it was made.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Final

import orjson

FARTHEST: Final = 8.0


@dataclass(frozen=True, slots=True)
class Model:
    """Weights per feature, and how a hypothesis is held against its best rival.

    ``log-odds = bias + sum(weights * features)``;
    ``probability = sigmoid(scale * log-odds + margin * (log-odds - best rival's) + offset)``.
    """

    bias: float
    weights: Mapping[str, float]
    scale: float
    margin: float
    offset: float

    def log_odds(self, features: Mapping[str, float]) -> float:
        """The first step, for one hypothesis."""
        return self.bias + sum(
            self.weights.get(name, 0.0) * value for name, value in features.items()
        )

    def probability(self, own: float, rival: float | None) -> float:
        """The second step; ``rival`` is the best log-odds among the others, None for no other."""
        ahead = FARTHEST if rival is None else max(-FARTHEST, min(FARTHEST, own - rival))
        return _compute_sigmoid(self.scale * own + self.margin * ahead + self.offset)


@cache
def load_model() -> Model:
    """The weights that the package was released with."""
    folder = resources.files("triage.analysis.joining")
    raw = orjson.loads(folder.joinpath("weights.json").read_bytes())
    return Model(
        float(raw["bias"]),
        {k: float(v) for k, v in raw["weights"].items()},
        float(raw["scale"]),
        float(raw["margin"]),
        float(raw["offset"]),
    )


def _compute_sigmoid(value: float) -> float:
    return 1.0 / (1.0 + math.exp(-max(-30.0, min(30.0, value))))
