"""A person uploads files from a page: each goes in as from a node, and the answer comes at once.

Nodes send when they can, so their incident waits until it has been quiet. A person has
chosen all there is; waiting would only look as if nothing happened.
"""

import io
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

from triage.clock import read_utc_now
from triage.domain.body import Body
from triage.domain.caller import Caller
from triage.errors import Refusal, TooLarge
from triage.parsers.files.archive import HEAD_BYTES, is_tar
from triage.parsers.files.job_file import is_job_file
from triage.services.context import Context
from triage.services.uploads.body import PeekedReader, read_first_bytes
from triage.services.uploads.ingest import IngestedBundle, take_artifact, take_bundle
from triage.services.uploads.received import Target
from triage.store.incidents import settling

_JOB_JSON: Final = "job.json"
_MAX_JOB_JSON: Final = 1 << 20
_TARS: Final = (
    ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.xz", ".txz", ".tar.bz2", ".tbz2"
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one file: ``taken``, ``known`` where it was there, or ``refused``."""

    name: str
    state: str
    reason: str | None = None


@dataclass(slots=True)
class Chosen:
    """Files that one person sends in one form. ``incident_id`` is None before the first."""

    job_id: str
    cluster: str | None = None
    incident_id: str | None = None
    caller: Caller = field(default_factory=Caller)
    outcomes: list[Outcome] = field(default_factory=list)


def make_job_id() -> str:
    """A name for a job of which nobody said one."""
    return read_utc_now().strftime("upload-%Y%m%d-%H%M%S")


def take_chosen(ctx: Context, chosen: Chosen, name: str, body: Body) -> None:
    """One file of the form, or a tar of them; a refusal is its outcome, the others go on.

    Raises :class:`Unavailable` and :class:`StorageFull`, which hold for all of them.
    """
    if not name.isprintable() or not PurePosixPath(name).name:
        chosen.outcomes.append(Outcome(name, "refused", "its name holds control characters"))
        return
    head = read_first_bytes(body, HEAD_BYTES)
    whole = PeekedReader(head, body)
    try:
        if is_job_file(name):
            _take_in(chosen, take_bundle(ctx, _choose_target(chosen), _make_tar(whole), None))
        elif is_tar(head[:512]) or name.lower().endswith(_TARS):
            _take_in(chosen, take_bundle(ctx, _choose_target(chosen), whole.read, None))
        else:
            taken = take_artifact(ctx, _choose_target(chosen, name), whole.read, None)
            chosen.incident_id = taken.artifact.incident_id
            chosen.outcomes.append(Outcome(name, "taken" if taken.new else "known"))
    except Refusal as refusal:
        if refusal.status >= 500:
            raise
        chosen.outcomes.append(Outcome(name, "refused", refusal.detail))


def _take_in(chosen: Chosen, bundle: IngestedBundle) -> None:
    chosen.incident_id = bundle.incident_id
    words = {201: "taken", 200: "known"}
    chosen.outcomes += [
        Outcome(one.member, words.get(one.status, "refused"), one.reason) for one in bundle.members
    ]


def _choose_target(chosen: Chosen, name: str | None = None) -> Target:
    return Target(
        chosen.job_id,
        filename=name,
        incident=chosen.incident_id,
        cluster=chosen.cluster,
        caller=chosen.caller,
    )


def _make_tar(body: Body) -> Callable[[int], bytes]:
    """``job.json`` as a bundle has it: only there its facts are read."""
    data = bytearray()
    while piece := body.read(1 << 16):
        data += piece
        if len(data) > _MAX_JOB_JSON:
            raise TooLarge(f"job.json has more than {_MAX_JOB_JSON:,} bytes")
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as tar:
        info = tarfile.TarInfo(_JOB_JSON)
        info.size = len(data)
        tar.addfile(info, io.BytesIO(bytes(data)))
    packed.seek(0)
    return packed.read


def settle_now(ctx: Context, incident_id: str) -> None:
    """All is there. An incident that somebody reported goes on waiting for what it expects."""
    with ctx.database.writing() as session:
        settling.settle_early(session, incident_id, read_utc_now())
