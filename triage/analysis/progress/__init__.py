"""How a training job moved: its end or stop, its pace, its loss, and whether that is health."""

from triage.analysis.progress.job import judge_health, measure_progress

__all__ = ["judge_health", "measure_progress"]
