"""A fleet in the database: one job of 64 nodes that is interrupted, and a lemon among the nodes.

Runs come in as an exported table, as they would; incidents are rows as an analysis leaves them.
"""

import io
import random
from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from models import Incident, Suspect
from triage.domain.category import LLAMA3_ROW, OF_THE_NODE, Category
from triage.domain.states import IncidentState
from triage.domain.wire import format_iso_utc
from triage.fleet.services.exposure.imports import import_exposure
from triage.services.context import Context
from triage.store import jobs
from triage.store.database.ids import make_id

END = datetime(2026, 11, 16, tzinfo=UTC)  # a Monday
NODES = tuple(f"n{k:03d}" for k in range(64))
LEMON = "n007"
CAUSES = (Category.GPU, Category.GPU_HBM, Category.NETWORK, Category.SOFTWARE_USER, Category.NIC)


def keep_fleet(
    ctx: Context,
    *,
    days: float = 60.0,
    stops: int = 40,
    of_lemon: int = 10,
    cluster: str = "a",
    end: datetime = END,
) -> None:
    """``stops`` interruptions at random, ``of_lemon`` more that convict the lemon."""
    chance = random.Random(f"small fleet/{days}/{stops}/{of_lemon}")
    start = end - timedelta(days=days)
    told = [(chance.uniform(0.01, 0.99) * days, chance.choice(NODES)) for _ in range(stops)]
    told += [(chance.uniform(0.4, 0.99) * days, LEMON) for _ in range(of_lemon)]
    began = start
    rows = ["job_id,started_at,ended_at,state,nodes,num_nodes,num_gpus"]
    with ctx.database.writing() as session:
        cluster_id = jobs.cluster_key(session, cluster)
        for number, (day, node) in enumerate(sorted(told)):
            at = (start + timedelta(days=day)).replace(microsecond=0)
            job_id = f"{cluster}-{number}"
            rows.append(row_of(job_id, began, at, "FAILED"))
            cause = Category.GPU_HBM if node == LEMON else chance.choice(CAUSES)
            job_fk = jobs.lock_job(session, cluster, job_id, at)
            keep_incident(session, job_fk, at, cause, node)
            began = at
        jobs.note_nodes_seen(session, cluster_id, NODES, end)
    rows.append(row_of(f"{cluster}-last", began, end - timedelta(minutes=1), "CANCELLED"))
    import_exposure(ctx, io.BytesIO("\n".join(rows).encode()), cluster=cluster)


def row_of(job_id: str, began: datetime, ended: datetime, state: str) -> str:
    listed = "n[000-063]"
    times = f"{format_iso_utc(began)},{format_iso_utc(ended)}"
    return f'{job_id},{times},{state},"{listed}",{len(NODES)},{8 * len(NODES)}'


def keep_incident(session: Session, job_fk: int, at: datetime, cause: Category, node: str) -> None:
    """An incident as a settled analysis leaves it, with one suspect where a node is to blame."""
    verdict = {
        "kind": "crash", "category": str(cause), "llama3_category": LLAMA3_ROW[cause],
        "confidence": 0.98, "summary": f"{cause} on {node}", "action": "drain_node",
        "cordon": [], "at": format_iso_utc(at),
    }  # fmt: skip
    row = Incident(
        id=make_id("inc", at), job_fk=job_fk, key=at.isoformat(), announced=True, facts={},
        state=IncidentState.READY, revision=1, provisional=False, category=str(cause),
        verdict=verdict, created_at=at, updated_at=at, deadline_at=at, settle_at=at,
        settled_at=at,
    )  # fmt: skip
    session.add(row)
    session.flush()
    if cause not in OF_THE_NODE:
        return
    because = [{"detector": "kernel.xid", "text": "Xid 48", "artifact": None, "line": None,
                "at": None}]  # fmt: skip
    told = {
        "position": 1, "node": node, "ranks": [], "gpus": ["0000:5d:00"], "category": str(cause),
        "score": 0.98, "role": "culprit", "action": "drain_node", "because": because,
    }  # fmt: skip
    session.add(
        Suspect(incident_id=row.id, position=1, node=node, category=str(cause), role="culprit",
                score=0.98, row=told)
    )  # fmt: skip
    session.flush()
