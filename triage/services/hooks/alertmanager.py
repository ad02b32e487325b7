"""Alertmanager's webhook, version 4, which Grafana sends too.

An alert that says that a job failed opens the job's incident; another alert on a node is a
line of that node's kernel log.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage.domain.facts import FactsSource
from triage.domain.failure_match import Failure
from triage.domain.patterns import compile_re
from triage.errors import Place, Unprocessable
from triage.formats.logs.alerts import compose_alert, iterate_node_labels, keep_texts
from triage.services.hooks.job_failed import name_in
from triage.services.hooks.monitoring import Line, Notices
from triage.services.hooks.times import parse_moment

_MAX_ALERTS: Final = 10_000
# In this order: what a scheduler calls its job, before what Prometheus calls a scrape job.
_JOB_LABELS: Final = (
    "job_id", "slurm_job_id", "slurm_jobid", "jobid", "hpc_job", "job_name", "pytorchjob_name",
    "trainjob_name", "jobset_name", "volcano_job_name", "exported_job",
)  # fmt: skip
# `job` names the job itself only in a rule over jobs; elsewhere it is the scrape job.
_SCRAPE_LABEL: Final = "job"
_CLUSTER_LABELS: Final = ("cluster", "cluster_name")
# KubeJobFailed, SlurmJobFailed, PyTorchJobFailed, job_failed, TrainingJobFailure
_FAILED: Final = compile_re(r"jobs?(?:set)?[_\s-]*(?:has[_\s-]*)?fail", re.IGNORECASE)

_Labels = Mapping[str, str]


def read_alert_notices(body: Mapping[str, Any]) -> Notices:
    """What a payload comes down to. Raises :class:`Unprocessable` for another shape."""
    alerts = body.get("alerts")
    if not isinstance(alerts, list):
        raise Unprocessable(
            "the body is no Alertmanager payload: it has no list of alerts",
            hint="send Alertmanager's webhook_config payload, version 4, unchanged",
            places=(Place("body/alerts", "is missing, or no list"),),
        )
    if str(body.get("version", "4")) != "4":
        raise Unprocessable(
            "only version 4 of Alertmanager's payload is read",
            hint="use Alertmanager 0.16 or later",
            places=(Place("body/version", "is not 4"),),
        )
    if len(alerts) > _MAX_ALERTS:
        raise Unprocessable(
            f"the payload holds {len(alerts):,} alerts; {_MAX_ALERTS:,} are read at once",
            hint="set max_alerts in the webhook_config",
            places=(Place("body/alerts", "too many"),),
        )
    wrong = [place for place, alert in enumerate(alerts) if not isinstance(alert, dict)]
    if wrong:
        raise Unprocessable(
            "an alert is no object",
            places=tuple(Place(f"body/alerts/{place}", "is no object") for place in wrong[:20]),
        )
    found = Notices()
    truncated = body.get("truncatedAlerts")
    if isinstance(truncated, int) and not isinstance(truncated, bool) and truncated > 0:
        found.truncated = truncated
    common = keep_texts(body.get("commonLabels"))
    for alert in alerts:
        _read_alert(alert, common, found)
    return found


def _read_alert(alert: Mapping[str, Any], common: _Labels, found: Notices) -> None:
    labels = {**common, **keep_texts(alert.get("labels"))}
    annotations = keep_texts(alert.get("annotations"))
    ref = str(alert.get("fingerprint") or labels.get("alertname") or "")[:200]
    if str(alert.get("status", "firing")).lower() != "firing":
        found.ignore(ref, "it is resolved")
        return
    name = labels.get("alertname", "")
    job_failed = bool(_FAILED.search(name))
    job_id = _find_first_name(labels, _JOB_LABELS)
    if job_id is None and job_failed:
        job_id = _find_first_name(labels, (_SCRAPE_LABEL,))
    names = map(name_in, iterate_node_labels(labels))
    node = next((name for name in names if name is not None), None)
    at = parse_moment(alert.get("startsAt"))
    if job_failed:
        if job_id is None:
            found.ignore(ref, "it says that a job failed, but no label names the job")
            return
        cluster = _find_first_name(labels, _CLUSTER_LABELS)
        facts = {"job_id": job_id, "source": "alertmanager", "alert": name}
        if at is not None:
            facts["failed_at"] = at.isoformat().replace("+00:00", "Z")
        failure = Failure(
            job_id=job_id, cluster=cluster, failed_at=at, facts=facts, source=FactsSource.ALERT
        )
        found.failures.append((ref, failure))
    elif node is None:
        found.ignore(ref, "no label names a node or a failed job")
    else:
        text = compose_alert(labels, annotations)
        found.lines.append(Line(node, text, at, "alertmanager", ref, job_id))


def _find_first_name(labels: _Labels, keys: Sequence[str]) -> str | None:
    return next((name for key in keys if (name := name_in(labels.get(key, "")))), None)
