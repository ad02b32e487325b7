"""One collection: find, bundle into the spool, send what is older, send what is new.

Bundles are in the spool before the network is touched, so that a service that is away, or
an end of this process at any later moment, loses nothing.
"""

from __future__ import annotations

import os
import random
import tempfile
import time
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from triage.collectors.artifact import DUMP, Artifact, Deadline, SearchContext, Skipped
from triage.collectors.bundle import MANIFEST, Bounds, Packed, pack
from triage.collectors.credentials import read_token
from triage.collectors.endpoint import Endpoint, parse_endpoint
from triage.collectors.files import node_folder, open_artifact
from triage.collectors.options import SHARED, Misuse, Options
from triage.collectors.send import ACCEPTED, MEND, Answer, Delivery, ask
from triage.collectors.sources import Dumps, JobLogs, KernelLog, explain_left, wait_until_written
from triage.collectors.spool import SCRATCH, Label, Spool, choose_default_folder
from triage.collectors.surroundings import find_surroundings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from triage.collectors.artifact import Source
    from triage.collectors.credentials import Token

# Shares of the whole time: when the search ends, when reading ends. The rest is for sending.
_LOOK_SHARE, _PACK_SHARE = 0.5, 0.7
_WAIT_SHARE = 0.6
# The share for older bundles, of the time that is left once the new bundle is in the spool.
_FLUSH_SHARE = 0.34
# Seconds in which the service may ask for what it has only digests of, and the share of the time
# that is left then: the rest is for sending it.
_WANTED_S, _WANTED_SHARE = 45.0, 0.75


class Bundle(NamedTuple):
    """One bundle of this run: its content, its path in the spool, the answer of the service."""

    packed: Packed
    path: str
    answer: Answer
    size_bytes: int


class Outcome(NamedTuple):
    """What a collection did; ``notes`` are for the person who runs it.

    ``older`` are the answers for bundles of earlier runs, ``waiting`` the bundles left in
    the spool, ``trouble`` what kept the whole from being done, empty for nothing.
    """

    bundles: tuple[Bundle, ...]
    older: tuple[tuple[Answer, int], ...]
    waiting: int
    spool: str
    seconds: float
    notes: tuple[Skipped, ...]
    trouble: tuple[str, ...]

    @property
    def complete(self) -> bool:
        """Whether the service has all there is."""
        unsent = [bundle for bundle in self.bundles if bundle.answer.kind != ACCEPTED]
        return not (unsent or self.trouble or self.waiting)


class Listed(NamedTuple):
    """One artifact of a dry run: its name in the bundle, its bytes now, or why not."""

    artifact: Artifact
    size_bytes: int
    why: str


def listing(options: Options, environment: Mapping[str, str]) -> tuple[list[Listed], list[Skipped]]:
    """What :func:`collect` would send; nothing is sent or kept. Raises :class:`Misuse`."""
    _check(options)
    deadline = Deadline(options.deadline_s)
    rows = []
    with tempfile.TemporaryDirectory(prefix="triage-collect-") as scratch:
        context = SearchContext(options, find_surroundings(options, environment), scratch, deadline)
        artifacts, notes = _search(context)
        for artifact in artifacts:
            try:
                handle = open_artifact(artifact)
            except OSError as error:
                rows.append(Listed(artifact, 0, error.strerror or str(error)))
                continue
            size = os.fstat(handle).st_size
            os.close(handle)
            over = size > artifact.max_bytes and not artifact.tail
            why = f"more than the {artifact.max_bytes:,} bytes that are taken" if over else ""
            rows.append(Listed(artifact, min(size, artifact.max_bytes), why))
    return rows, notes


def collect(options: Options, environment: Mapping[str, str], deadline: Deadline) -> Outcome:
    """Find, spool and send. Raises :class:`Misuse` for a call that is wrong."""
    began = time.monotonic()
    _check(options)
    around = find_surroundings(options, environment)
    endpoint = parse_endpoint(options.url, ca_file=options.ca_file, insecure=options.insecure)
    token = read_token(options.token_file, environment)
    spool = Spool(options.spool or choose_default_folder(environment))
    notes, trouble = _warnings(endpoint, token), [token.why] if token.why else []
    drafts: list[tuple[Packed, str]] = []
    if not options.flush_spool:
        with tempfile.TemporaryDirectory(prefix=SCRATCH, dir=spool.root) as scratch:
            context = SearchContext(options, around, scratch, deadline)
            try:
                drafts, new_notes = _spooled(context, spool)
                notes.extend(new_notes)
            except OSError as error:
                why = error.strerror or str(error)
                trouble.append(f"the spool {spool.root} cannot be written: {why}")
    new = tuple(path for _, path in drafts)
    for path in spool.prune(options.spool_max_bytes, options.spool_max_age_s, keep=new):
        notes.append(Skipped(path, "deleted unsent: the spool is full, or it was too old"))
    delivery = Delivery(spool, endpoint, token)
    older: list[tuple[Answer, int]] = []
    bundles = [Bundle(packed, path, Answer(MEND, token.why), 0) for packed, path in drafts]
    if not token.why:
        share = 1.0 if options.flush_spool else _FLUSH_SHARE
        older = delivery.flush(deadline.part(share), skip=new)
        bundles = [_delivered(packed, path, delivery, deadline) for packed, path in drafts]
        # A disk that is full by now keeps nothing from having been sent.
        with suppress(OSError), tempfile.TemporaryDirectory(prefix=SCRATCH, dir=spool.root) as own:
            context = SearchContext(options, around, own, deadline)
            bundles += _wanted(context, delivery, bundles)
    return Outcome(
        bundles=tuple(bundles),
        older=tuple(older),
        waiting=len(spool.pending()),
        spool=spool.root,
        seconds=time.monotonic() - began,
        notes=tuple(notes),
        trouble=tuple(trouble),
    )


def _delivered(packed: Packed, path: str, delivery: Delivery, deadline: Deadline) -> Bundle:
    done = delivery.deliver(path, deadline)
    if done is None:
        # Another collector flushed it while we looked away: it has the answer.
        return Bundle(packed, path, Answer(ACCEPTED, "sent by another collector"), 0)
    return Bundle(packed, path, *done)


def _wanted(context: SearchContext, delivery: Delivery, bundles: list[Bundle]) -> list[Bundle]:
    """Send what the service asks for, once it has looked at what came, and does not have whole.

    For each question the files are looked for again, as at first: no other file is ever sent.
    """
    options, deadline = context.options, context.deadline
    incident = next((one.answer.incident for one in bundles if one.answer.kind == ACCEPTED), "")
    whole = {name for one in bundles for name in one.packed.whole}
    wait_s = options.wait_for_wanted_s
    if wait_s is None:
        reduced = sum(sum(one.packed.counts.values()) for one in bundles) > len(whole)
        wait_s = _WANTED_S if reduced else 0.0
    asking = Deadline(min(wait_s, _WANTED_SHARE * deadline.left_s()))
    node, job_id = context.surroundings.node, context.surroundings.job_id
    options = options._replace(digest=False, incident=incident)
    sent: list[Bundle] = []
    while incident and not asking.passed():
        asked = ask(delivery.endpoint, delivery.token, job_id, incident, node, asking)
        context = context._replace(options=options, deadline=deadline.part(_PACK_SHARE))
        chosen = [
            artifact
            for artifact in (_search(context)[0] if asked.files else ())
            if artifact.member not in whole and any(one.fits(artifact) for one in asked.files)
        ]
        whole.update(artifact.member for artifact in chosen)
        drafts, _ = _drafted(context, delivery.spool, chosen, [])
        sent += [_delivered(packed, path, delivery, deadline) for packed, path in drafts]
        if asked.again_s is None:
            break
        time.sleep(min(asking.left_s(), asked.again_s * random.uniform(1.0, 1.5)))
    return sent


def _spooled(
    context: SearchContext, spool: Spool
) -> tuple[list[tuple[Packed, str]], list[Skipped]]:
    """Find everything and write it into the spool: this node's bundle, and the shared one.

    Raises OSError when the spool cannot be written.
    """
    options = context.options
    if options.wait_for_dumps_s > 0:
        share = min(_WAIT_SHARE, options.wait_for_dumps_s / max(context.deadline.left_s(), 0.001))
        wait_until_written(context, context.deadline.part(share))
    pack_by = context.deadline.part(_PACK_SHARE)
    artifacts, notes = _search(context._replace(deadline=context.deadline.part(_LOOK_SHARE)))
    if options.only_with_dumps and not any(artifact.kind == DUMP for artifact in artifacts):
        notes.append(Skipped("dumps", "none found, so nothing is sent", usual=True))
        return [], notes
    return _drafted(context._replace(deadline=pack_by), spool, artifacts, notes)


def _drafted(
    context: SearchContext, spool: Spool, artifacts: list[Artifact], notes: list[Skipped]
) -> tuple[list[tuple[Packed, str]], list[Skipped]]:
    """Write files into the spool by the deadline; ``notes`` are of their search.

    Raises OSError when the spool cannot be written.
    """
    options = context.options
    own = [artifact for artifact in artifacts if not artifact.shared]
    shared = [artifact for artifact in artifacts if artifact.shared]
    node = context.surroundings.node
    drafts: list[tuple[Packed, str]] = []
    # The notes of the search stand in one bundle, that of this node. A shared bundle names no
    # node: the content of each of its files says whose it is.
    for chosen, name, before in ((own, node, tuple(notes)), (shared, "", ())):
        if chosen:
            room = min(options.max_bytes, spool.room())
            bounds = Bounds(room, context.deadline, options.compress, options.digest)
            packed, path = _write(context, spool, chosen, name, bounds, before)
            notes.extend(packed.notes[len(before) :])
            if path:
                drafts.append((packed, path))
    return drafts, notes


def _write(
    context: SearchContext,
    spool: Spool,
    chosen: list[Artifact],
    node: str,
    bounds: Bounds,
    notes: tuple[Skipped, ...],
) -> tuple[Packed, str]:
    """One bundle in the spool and its path; an empty path where no file could be read."""
    options = context.options
    label = Label(
        context.surroundings.job_id,
        node,
        options.incident or "",
        "gzip" if options.compress else "",
        context.surroundings.cluster,
        context.surroundings.attempt,
    )
    manifest = f"{node_folder(node)}/{MANIFEST}" if node else MANIFEST
    try:
        with spool.writing(label) as draft:
            packed = pack(chosen, draft.file, context.scratch, bounds, notes, manifest)
            if not packed.counts:
                raise _Empty
    except _Empty:
        return packed, ""
    return packed, draft.path


class _Empty(Exception):
    """Not one file of a bundle could be read."""


def _search(context: SearchContext) -> tuple[list[Artifact], list[Skipped]]:
    artifacts: list[Artifact] = []
    notes: list[Skipped] = []
    taken: set[str] = set()
    for source in SOURCES:
        for item in source.poll(context):
            if isinstance(item, Skipped):
                notes.append(item)
                continue
            why = explain_left(item, context)
            if why:
                notes.append(Skipped(item.path, why, usual=True))
            elif item.path not in taken:
                # A pattern for logs that fits a dump too sends it once, as a dump.
                taken.add(item.path)
                artifacts.append(item)
    return artifacts, notes


def _warnings(endpoint: Endpoint, token: Token) -> list[Skipped]:
    warnings = []
    if token.warning:
        warnings.append(Skipped("token", token.warning, usual=True))
    if token.value and endpoint.tls is None and not endpoint.loopback:
        in_clear = "goes over the network in clear; use https://"
        warnings.append(Skipped("token", in_clear, usual=True))
    return warnings


def _check(options: Options) -> None:
    """Raises :class:`Misuse` for values that no surroundings make good."""
    if not options.url and not options.dry_run:
        raise Misuse("the service is unknown: give --url")
    if not 1.0 <= options.deadline_s <= 3600.0:
        raise Misuse("--deadline is in seconds, 1 to 3600")
    if options.wait_for_dumps_s < 0:
        raise Misuse("--wait-for-dumps is in seconds, 0 or more")
    if options.shared not in SHARED:
        raise Misuse(f"--shared is one of {', '.join(SHARED)}")
    if options.wait_for_wanted_s is not None and options.wait_for_wanted_s < 0:
        raise Misuse("--wait-for-wanted is in seconds, 0 or more")
    if options.flush_spool and options.dry_run:
        raise Misuse("--flush-spool sends and --dry-run does not; give one of them")


SOURCES: tuple[Source, ...] = (Dumps(), KernelLog(), JobLogs())
