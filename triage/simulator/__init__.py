"""Simulated jobs with known faults: drills, tests and benchmarks."""

from triage.simulator.kinds import KINDS
from triage.simulator.simulate import simulate
from triage.simulator.truth import Truth, truth_path

__all__ = ["KINDS", "Truth", "simulate", "truth_path"]
