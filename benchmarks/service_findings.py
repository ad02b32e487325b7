"""What became of a burst: asked of the database and of the blobs themselves, not of the service."""

import hashlib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import zstandard
from sqlalchemy import Engine, create_engine, text
from sqlalchemy.exc import DBAPIError

from benchmarks.service_load import Load
from benchmarks.service_receiver import Got, identity_faults
from triage.store.blobs.folder import FolderBlobs

_SETTLED = {"analysed", "partial", "quarantined"}
# All that is sent is whole: only kills can have been the reason.
KILLED = re.compile(r"workers were lost|was killed by signal")


@dataclass(frozen=True, slots=True)
class Rows:
    """The tables, by plain SQL."""

    engine: Engine

    def all(self, query: str) -> list[dict[str, Any]]:
        """The rows of a query."""
        with self.engine.connect() as connection:
            return [dict(row._mapping) for row in connection.execute(text(query))]

    def unfinished(self) -> list[str]:
        """What is still to be done, by kind; empty when all is quiet."""
        try:
            counted = self.all(
                "SELECT 'incident ' || state AS what, count(*) AS n FROM incident"
                " WHERE state NOT IN ('ready', 'failed') OR inputs > answered_inputs GROUP BY 1"
                " UNION ALL SELECT 'artifact stored', count(*) FROM artifact WHERE state = 'stored'"
                " UNION ALL SELECT 'work ' || kind || ' ' || state, count(*) FROM work"
                " WHERE state IN ('running', 'waiting') AND kind <> 'retention' GROUP BY 1"
                " UNION ALL SELECT 'delivery pending', count(*) FROM delivery"
                " WHERE state = 'pending'"
            )
        except DBAPIError as error:
            return [f"no database: {type(error).__name__}"]
        return [f"{row['what']}: {row['n']}" for row in counted if row["n"]]


def open_rows(database_url: str) -> Rows:
    """The tables of this database."""
    return Rows(create_engine(database_url))


def faults_of(rows: Rows, blobs: Path, load: Load, got: Sequence[Got]) -> list[str]:
    """Everything that was promised and is not so."""
    artifacts = rows.all(
        "SELECT a.id, j.job_id, a.incident_id, a.node, a.rank, a.sha256, a.state, a.reason,"
        " a.position, a.stored_bytes, u.blob_key FROM artifact a"
        " JOIN upload u ON u.id = a.upload_id JOIN incident i ON i.id = a.incident_id"
        " JOIN job j ON j.id = i.job_fk"
    )
    incidents = rows.all(
        "SELECT i.id, i.state, i.reason, i.num_artifacts, j.job_id"
        " FROM incident i JOIN job j ON j.id = i.job_fk"
    )
    faults = [f"refused: {one}" for one in load.refused]
    faults += [f"answered twice: {one}" for one in load.twice]
    faults += _lost(artifacts, blobs, load)
    faults += _doubled(artifacts, incidents, load)
    faults += _stuck(artifacts, incidents, rows)
    faults += _untold(incidents, rows, load, got)
    return faults


def _lost(artifacts: list[dict[str, Any]], blobs: Path, load: Load) -> list[str]:
    """Acknowledged, and not there, or not as it was."""
    store = FolderBlobs(blobs, min_free_bytes=0)
    by_id = {row["id"]: row for row in artifacts}
    decompressor = zstandard.ZstdDecompressor()
    faults = []
    for one in set(load.acknowledged):
        row = by_id.get(one.artifact_id)
        said = (one.job_id, one.node, one.rank, one.sha256)
        if row is None:
            faults.append(f"lost: {said} was acknowledged as {one.artifact_id}")
        elif (row["job_id"], row["node"], row["rank"], row["sha256"]) != said:
            faults.append(f"lost: {said} is {row}")
        else:
            frame = store.read(row["blob_key"], row["position"], row["stored_bytes"])
            plain = decompressor.decompress(frame, max_output_size=1 << 24)
            if hashlib.sha256(plain).hexdigest() != one.sha256:
                faults.append(f"lost: the bytes of {said} are others")
    return faults


def _doubled(
    artifacts: list[dict[str, Any]], incidents: list[dict[str, Any]], load: Load
) -> list[str]:
    """Two incidents for one failure, two artifacts for one file."""
    faults = []
    per_job = Counter(row["job_id"] for row in incidents)
    faults += [f"{n} incidents of {job}" for job, n in per_job.items() if n > 1]
    faults += [f"no incident of {job}" for job in load.jobs if not per_job[job]]
    files = Counter((r["job_id"], r["node"], r["rank"], r["sha256"]) for r in artifacts)
    faults += [f"{n} artifacts of {file}" for file, n in files.items() if n > 1]
    held = Counter(row["incident_id"] for row in artifacts)
    for row in incidents:
        if held[row["id"]] != row["num_artifacts"]:
            faults.append(f"{row['id']} counts {row['num_artifacts']}, not {held[row['id']]}")
    return faults


def _stuck(
    artifacts: list[dict[str, Any]], incidents: list[dict[str, Any]], rows: Rows
) -> list[str]:
    """Neither done nor set apart with a reason."""
    faults = [f"stuck: {one}" for one in rows.unfinished()]
    faults += [
        f"incident {row['id']} is {row['state']}: {row['reason']}"
        for row in incidents
        if row["state"] != "ready"
    ]
    for row in artifacts:
        if row["state"] not in _SETTLED:
            faults.append(f"artifact {row['id']} is {row['state']}")
        if row["state"] == "quarantined" and not KILLED.search(row["reason"] or ""):
            faults.append(f"artifact {row['id']} is quarantined: {row['reason']}")
    unread = rows.all(
        "SELECT a.id FROM artifact a LEFT JOIN digest d ON d.artifact_id = a.id"
        " WHERE a.state IN ('analysed', 'partial') AND d.artifact_id IS NULL"
    )
    faults += [f"artifact {row['id']} was read into nothing" for row in unread]
    return faults


def _untold(
    incidents: list[dict[str, Any]], rows: Rows, load: Load, got: Sequence[Got]
) -> list[str]:
    """An incident of which the receiver never heard, or heard in two ways."""
    ready = Counter(
        (one.path, one.said["data"]["incident_id"])
        for one in got
        if one.said["type"] == "incident.ready"
    )
    faults = [f"no webhook for {row['id']}" for row in incidents if not ready["/all", row["id"]]]
    faults += [
        f"no callback for {incident}"
        for incident in load.announced.values()
        if not ready["/callback", incident]
    ]
    failed = rows.all("SELECT id, last_error FROM delivery WHERE state = 'failed'")
    faults += [f"message {row['id']} was given up: {row['last_error']}" for row in failed]
    return faults + identity_faults(list(got))
