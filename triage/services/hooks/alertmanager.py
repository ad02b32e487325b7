"""Alertmanager's webhook, version 4, which Grafana sends too.

An alert that says that a job failed opens the job's incident; another alert on a node is a
line of that node's kernel log. Labels are as different as the rules that made them: those of
kube-state-metrics, of Slurm's and NVIDIA's exporters are known here.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from triage.domain.facts import FactsSource
from triage.domain.failure import Failure
from triage.errors import Place, Unprocessable
from triage.render.words.clean import one_line
from triage.services.hooks.job_failed import name_in
from triage.services.hooks.notices import Line, Notices
from triage.services.hooks.times import moment

__all__ = ["alert_notices"]

MAX_ALERTS: Final = 10_000
MAX_TEXT: Final = 4000
# In this order: what a scheduler calls its job, before what Prometheus calls a scrape job.
JOB_LABELS: Final = (
    "job_id", "slurm_job_id", "slurm_jobid", "jobid", "hpc_job", "job_name", "pytorchjob_name",
    "trainjob_name", "jobset_name", "volcano_job_name", "exported_job",
)  # fmt: skip
# `job` names the job itself only in a rule over jobs; elsewhere it is the scrape job.
SCRAPE_LABEL: Final = "job"
NODE_LABELS: Final = (
    "node", "nodename", "node_name", "hostname", "Hostname", "host", "kubernetes_node", "instance",
)  # fmt: skip
CLUSTER_LABELS: Final = ("cluster", "cluster_name")
# KubeJobFailed, SlurmJobFailed, PyTorchJobFailed, job_failed, TrainingJobFailure
FAILED: Final = re.compile(r"jobs?(?:set)?[_\s-]*(?:has[_\s-]*)?fail", re.IGNORECASE)
PORT: Final = re.compile(r"(?<=[^:]):[0-9]{1,5}$", re.ASCII)
XID: Final = re.compile(r"[0-9]{1,5}", re.ASCII)
XID_LABELS: Final = ("xid", "err_code", "xid_code")
BUS_LABELS: Final = ("pci_bus_id", "pci_bus", "bus_id")
BUS: Final = re.compile(
    r"(?:[0-9a-fA-F]{4,8}:)?[0-9a-fA-F]{2}:[0-9a-fA-F]{2}(?:\.[0-7])?", re.ASCII
)

Labels = Mapping[str, str]


def alert_notices(body: Mapping[str, Any]) -> Notices:
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
    if len(alerts) > MAX_ALERTS:
        raise Unprocessable(
            f"the payload holds {len(alerts):,} alerts; {MAX_ALERTS:,} are read at once",
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
    common = texts(body.get("commonLabels"))
    for alert in alerts:
        read_alert(alert, common, found)
    return found


def read_alert(alert: Mapping[str, Any], common: Labels, found: Notices) -> None:
    labels = {**common, **texts(alert.get("labels"))}
    annotations = texts(alert.get("annotations"))
    ref = str(alert.get("fingerprint") or labels.get("alertname") or "")[:200]
    if str(alert.get("status", "firing")).lower() != "firing":
        found.ignore(ref, "it is resolved")
        return
    name = labels.get("alertname", "")
    job_failed = bool(FAILED.search(name))
    job_id = first_name(labels, JOB_LABELS)
    if job_id is None and job_failed:
        job_id = first_name(labels, (SCRAPE_LABEL,))
    node = node_of(labels)
    at = moment(alert.get("startsAt"))
    if job_failed:
        if job_id is None:
            found.ignore(ref, "it says that a job failed, but no label names the job")
            return
        cluster = first_name(labels, CLUSTER_LABELS)
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
        text = message(name, labels, annotations)
        found.lines.append(Line(node, text, at, "alertmanager", ref, job_id))


def message(name: str, labels: Labels, annotations: Labels) -> str:
    """The alert as a kernel would have said it; an Xid as the driver prints it."""
    said = one_line(
        annotations.get("description")
        or annotations.get("summary")
        or annotations.get("message")
        or name
    )[:MAX_TEXT]
    code = next((labels[key] for key in XID_LABELS if XID.fullmatch(labels.get(key, ""))), None)
    bus = next((labels[key] for key in BUS_LABELS if BUS.fullmatch(labels.get(key, ""))), None)
    if code is not None and bus is not None:
        return f"NVRM: Xid (PCI:{bus}): {code}, {said}"
    return said


def node_of(labels: Labels) -> str | None:
    for key in NODE_LABELS:
        value = labels.get(key, "")
        name = name_in(PORT.sub("", value) if key == "instance" else value)
        if name is not None:
            return name
    return None


def first_name(labels: Labels, keys: Sequence[str]) -> str | None:
    return next((name for key in keys if (name := name_in(labels.get(key, "")))), None)


def texts(value: object) -> dict[str, str]:
    if not isinstance(value, Mapping):
        return {}
    return {
        key: str(one)
        for key, one in value.items()
        if isinstance(one, str | int | float) and not isinstance(one, bool)
    }
