"""Simulated jobs with known faults: drills, tests and benchmarks.

Importing this package loads nothing heavy; numba comes with the first use.
"""

from typing import TYPE_CHECKING

from simulator.names import NAMES

if TYPE_CHECKING:
    from simulator.incident import simulate
    from simulator.kinds import KINDS
    from simulator.timeline import Pulls
    from simulator.truth import Truth, truth_path

__all__ = ["KINDS", "NAMES", "Pulls", "Truth", "simulate", "truth_path"]

HOME = {
    "KINDS": "kinds",
    "Pulls": "timeline",
    "simulate": "incident",
    "Truth": "truth",
    "truth_path": "truth",
}


def __getattr__(name: str) -> object:
    if name in HOME:
        from importlib import import_module

        return getattr(import_module(f"simulator.{HOME[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
