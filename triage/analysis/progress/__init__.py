"""How a training job moved: its end or stop, its pace, its loss, and whether that is health."""

from triage.analysis.progress.job import health_of, job_progress

__all__ = ["health_of", "job_progress"]
