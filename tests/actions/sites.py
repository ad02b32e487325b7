"""A service that acts on a cluster in memory: incidents that are really analysed, acts done."""

import json
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import update

from models import Work
from tests.actions.memory_scheduler import MemoryScheduler
from tests.services.whole_jobs import GPU_LOST, body_of, files_of, tar_of
from tests.support.work import ReadersHere
from triage.actions.services.acts import ActWish, ActWriter, AskedActs, ask
from triage.actions.store import acts
from triage.actions.store.acts import NodeActView
from triage.clock import read_utc_now
from triage.domain.caller import Caller
from triage.domain.failure_match import Failure
from triage.domain.states import WorkKind
from triage.server.work import make_runner
from triage.services.context import Context
from triage.services.incidents.announce import announce
from triage.services.uploads.ingest import take_bundle
from triage.services.uploads.received import Target
from triage.store.access import audit

JOB = files_of(GPU_LOST)
FACTS = json.loads(JOB["job.json"])
NODE = "gpu-0102"
NODES_TOKEN = Caller("key_1")
AT = datetime(2026, 11, 21, 1, 36, 47, tzinfo=UTC)
NODES = tuple(f"gpu-0{number}" for number in range(101, 165))
HANDS = (WorkKind.PARSE, WorkKind.ANALYSE, WorkKind.ACT)


class Site:
    """A context in a mode, its scheduler, and what a worker does with them."""

    def __init__(self, ctx: Context, **settings: Any) -> None:
        # The files were written long ago.
        options = {"act_mode": "auto", "act_system": "slurm", "act_cluster": "a",
                   "act_max_age": "36500d", **settings}  # fmt: skip
        self.scheduler = MemoryScheduler(NODES)
        self.readers = ReadersHere()
        self.ctx = self.with_settings(ctx, **options)
        self.jobs = 0

    @staticmethod
    def with_settings(ctx: Context, **options: Any) -> Context:
        from triage.settings import Settings

        checked = Settings.model_validate(options)
        update = {name: getattr(checked, name) for name in options}
        return replace(ctx, settings=ctx.settings.model_copy(update=update))

    def set(self, **options: Any) -> None:
        self.ctx = self.with_settings(self.ctx, **options)

    def incident(
        self,
        files: dict[str, bytes] = JOB,
        *,
        cluster: str = "a",
        caller: Caller = NODES_TOKEN,
        node: str = NODE,
        settle: bool = True,
    ) -> str:
        """A failure of a job of its own, with its files, answered where it settles."""
        self.jobs += 1
        job = f"job-{self.jobs}"
        renamed = {name.replace(NODE, node): data.replace(NODE.encode(), node.encode())
                   for name, data in files.items() if name != "job.json"}  # fmt: skip
        facts = json.loads(json.dumps({**FACTS, "job_id": job}).replace(NODE, node))
        expected = len(renamed) if settle else 1000
        failure = Failure(job, cluster, AT, facts, expected_artifacts=expected, caller=caller)
        incident_id = announce(self.ctx, failure).id
        self.send(incident_id, renamed, job, caller)
        self.work()
        return incident_id

    def send(self, incident_id: str, files: dict[str, bytes], job: str, caller: Caller) -> None:
        target = Target(job, incident=incident_id, caller=caller)
        take_bundle(self.ctx, target, body_of(tar_of(files)), None)

    def work(self, *kinds: WorkKind) -> None:
        """All that is due, by one worker."""
        runner = make_runner(self.ctx, self.readers, self.scheduler)
        runner.stopping.wait = lambda _s=None: False  # a scheduler that is away costs no rest
        while any(runner.run_once(kind) for kind in kinds or HANDS):
            pass

    def again(self) -> None:
        """Time goes on: what waits is due, and is done."""
        with self.ctx.database.writing() as session:
            session.execute(
                update(Work)
                .where(Work.kind == WorkKind.ACT, Work.state == "waiting")
                .values(not_before=read_utc_now() - timedelta(seconds=1))
            )
        self.work()

    def ask(self, incident_id: str, wish: ActWish) -> AskedActs:
        """What a person asks for."""
        with self.ctx.database.writing() as session:
            return ask(ActWriter(session, self.ctx.settings), incident_id, wish, "key_ann")

    def decide(self, decision: str, action_id: str) -> NodeActView:
        """What a person decides: approve or undo."""
        with self.ctx.database.writing() as session:
            writer = ActWriter(session, self.ctx.settings)
            return getattr(writer, decision)(writer.find(action_id), "key_ann")

    def acts(self, incident_id: str | None = None) -> list[NodeActView]:
        with self.ctx.database.reading() as session:
            found = acts.list_node_acts(session, incident_id=incident_id)
        return found[::-1]

    def states(self) -> list[tuple[str, str]]:
        return [(str(one.verb), str(one.state)) for one in self.acts()]

    def steps(self, subject: str | None = None) -> list[str]:
        """The steps of acts in the audit trail, the first first."""
        with self.ctx.database.reading() as session:
            rows = audit.list_acts(session, 500, subject=subject)
        return [row.action for row in rows[::-1] if row.action.startswith("act")]

    @property
    def drained(self) -> Sequence[str]:
        return [node for node, view in self.scheduler.nodes.items() if view.drained]


def nodes_named(*numbers: int) -> list[str]:
    """``gpu-0121`` for 121."""
    return [f"gpu-0{number}" for number in numbers]


class Killed(BaseException):
    """The process ends here: no handler of ours sees it."""


def due(site: Site) -> None:
    """What a killed worker held is due again, as the sweeper sees to it."""
    with site.ctx.database.writing() as session:
        session.execute(
            update(Work)
            .values(state="waiting", owner=None, lease_until=None, not_before=read_utc_now())
            .where(Work.state == "running")
        )


def killed_at(site: Site, method: str, *, after: bool) -> None:
    """The next call of this method is the last thing that this process does."""
    real = getattr(site.scheduler, method)

    def last(*arguments):
        setattr(site.scheduler, method, real)
        if after:
            real(*arguments)
        raise Killed

    setattr(site.scheduler, method, last)
