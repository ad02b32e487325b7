"""Client: the service for a notebook or a script: its answers, uploads and labels.

Files of this machine go out as one tar, streamed and compressed as it is read: nothing is held but
a piece of one file, however large a folder is.
"""

import io
import os
import tarfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self
from urllib.parse import quote

import zstandard

from triage.client.incident import ENDED, PART_STAYS, Incident, NodeHistory, build_incident_path
from triage.client.transport import TRIES, ApiRequest, Transport
from triage.errors import NotAllowed, NotYet, UsageError
from triage.fleet.client import Fleet
from triage.parsers.files.archive import PEEK_BYTES, is_tar, peek
from triage.parsers.files.compression import detect_compression
from triage.render.data.tables import INCIDENTS, PROBLEMS, SENT, build_table

if TYPE_CHECKING:
    from httpx2 import BaseTransport
    from pandas import DataFrame

    from triage.reader.corpus import LabelledLine


class NodeActs:
    """The acts of a service. Each method raises what :class:`triage.client.Client` raises."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def ask(
        self,
        incident_id: str,
        verb: str,
        *,
        node: str | None = None,
        dry_run: bool = False,
        approve: bool = False,
    ) -> dict[str, Any]:
        """Act on the convicted nodes of an incident, or on ``node`` among them."""
        body = {"verb": verb, "node": node, "dry_run": dry_run, "approve": approve}
        return self._transport.post(build_incident_path(incident_id, "actions"), body)

    def find(self, action_id: str) -> dict[str, Any]:
        """One act."""
        return self._transport.get(f"/v1/actions/{quote(action_id, safe='')}")

    def listing(self, *, most: int | None = 50, **wanted: str | None) -> list[dict[str, Any]]:
        """Acts, newest first; ``wanted`` are cluster, incident, node and state."""
        return list(self._transport.pages("/v1/actions", wanted, most=most))

    def decide(self, action_id: str, decision: str) -> dict[str, Any]:
        """Have an act approved or undone: ``approve``, ``undo``."""
        return self._transport.post(f"/v1/actions/{quote(action_id, safe='')}/{decision}", {})


# The service answers a request that waits after this time at the latest.
_LONGEST_WAIT_S = 60
# The period of the service where none is given.
_DEFAULT_DAYS = 30
# An export of a million rows is answered when all of them are kept.
_IMPORT_S = 600


class Client:
    """The service at ``url``.

    ``token`` has scope ``read``, for :meth:`upload` and :meth:`job_failed` scope ``ingest``;
    a service that was started open needs none. ``timeout_s`` bounds each silence of the
    service, ``tries`` how often a request is sent that may yet succeed. ``ca_file`` is the
    authority of its certificate where the system does not know it. ``over`` carries the
    requests to a service that is not reached by a network.

    What fails raises a :class:`triage.errors.TriageError` that says what to do: the
    :class:`triage.errors.Refusal` of the answer's status, with its ``detail`` and ``hint``, or
    :class:`triage.errors.Unavailable` where no answer came.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        timeout_s: float = 30.0,
        ca_file: str | None = None,
        tries: int = TRIES,
        over: "BaseTransport | None" = None,
    ) -> None:
        self._transport = Transport(
            url, token, timeout_s=timeout_s, ca_file=ca_file, tries=tries, over=over
        )

    @property
    def url(self) -> str:
        """Its address."""
        return self._transport.url

    def close(self) -> None:
        """End the connections; what was fetched stays."""
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def get(self, path: str, query: Mapping[str, object] | None = None) -> dict[str, Any]:
        """The object that the service has at ``path``; values that are None are not sent."""
        return self._transport.get(path, query)

    def incident(self, incident_id: str | int) -> Incident:
        """One incident. Raises :class:`NotFound`."""
        return Incident(self._transport, self._transport.get(build_incident_path(str(incident_id))))

    def incidents(
        self,
        *,
        job_id: str | int | None = None,
        cluster: str | None = None,
        node: str | None = None,
        category: str | None = None,
        state: str | None = None,
        problem: str | None = None,
        since: datetime | str | None = None,
        limit: int | None = 1000,
    ) -> "DataFrame":
        """Incidents, newest first, at most ``limit`` (all when None).

        ``node`` is among the suspects, ``problem`` the id of a recurring one, ``since`` is when
        it was opened (a ``datetime`` or RFC 3339 text). Columns are
        ``triage.render.data.tables.INCIDENTS``.
        """
        filters = {
            "job_id": job_id,
            "cluster": cluster,
            "node": node,
            "category": category,
            "state": state,
            "problem": problem,
            "since": since,
        }
        return build_table(
            map(_flatten_incident, self.incident_rows(filters, limit=limit)), INCIDENTS
        )

    def incident_rows(
        self, filters: Mapping[str, object] | None = None, *, limit: int | None = 1000
    ) -> list[dict[str, Any]]:
        """The same as plain dicts, as the service gives them; ``filters`` go by name."""
        query = {
            name: _format_rfc_3339(value) if isinstance(value, datetime) else value
            for name, value in (filters or {}).items()
        }
        return list(self._transport.pages("/v1/incidents", query, most=limit))

    def problems(
        self,
        *,
        cluster: str | None = None,
        node: str | None = None,
        category: str | None = None,
        since: datetime | str | None = None,
        limit: int | None = 1000,
    ) -> "DataFrame":
        """Recurring problems, the last seen first, at most ``limit`` (all when None).

        ``node`` and ``category`` are those of one of their incidents, ``since`` is when they were
        last seen (a ``datetime`` or RFC 3339 text). Columns are
        ``triage.render.data.tables.PROBLEMS``.
        """
        query = {
            "cluster": cluster,
            "node": node,
            "category": category,
            "since": _format_rfc_3339(since) if isinstance(since, datetime) else since,
        }
        rows = self._transport.pages("/v1/problems", query, most=limit)
        return build_table(map(_flatten_problem, rows), PROBLEMS)

    def suspects(self, incident_id: str | int) -> "DataFrame":
        """The suspects of an incident as they stand now, best first."""
        return self.incident(incident_id).suspects

    def node(self, name: str) -> NodeHistory:
        """A node over all incidents. Raises :class:`NotFound` for one never seen."""
        return NodeHistory(self._transport.get(f"/v1/nodes/{quote(name, safe='')}"))

    def hardware(
        self, identity: str | None = None, *, node: str | None = None, cluster: str | None = None
    ) -> "DataFrame":
        """Where a part is and was, by its UUID, serial number or GUID, or all parts of a node: a
        row a stay, the newest first, with the columns of ``PART_STAYS``.
        """
        return build_table(
            self.hardware_facts(identity, node=node, cluster=cluster)["stays"], PART_STAYS
        )

    def hardware_facts(
        self, identity: str | None = None, *, node: str | None = None, cluster: str | None = None
    ) -> dict[str, Any]:
        """The same as the service gives it: 200 stays at most, and whether there are ``more``."""
        query = {"identity": identity, "node": node, "cluster": cluster, "limit": 200}
        return dict(self._transport.get("/v1/fleet/hardware", query))

    def fleet(
        self,
        days: float = 30,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        cluster: str | None = None,
        gpus: int | None = None,
        cost_s: float | None = None,
        restart_s: float | None = None,
        top: int | None = None,
    ) -> Fleet:
        """What the record of all incidents says of the last ``days``, or from ``since``.

        ``gpus`` is the job to plan for (the usual one where not given), ``cost_s`` what a
        checkpoint costs it, ``restart_s`` a restart; ``top`` is how many nodes are named.
        Answers are fetched when they are first needed.
        """
        period = _build_period_query(days, since, until)
        knobs = {"gpus": gpus, "cost_s": cost_s, "restart_s": restart_s, "top": top}
        return Fleet(self._transport, {**period, "cluster": cluster}, knobs)

    @property
    def acts(self) -> NodeActs:
        """Acts on nodes; all but reading them takes a token of scope ``admin``."""
        return NodeActs(self._transport)

    def wait(self, incident_id: str | int, timeout_s: float = 600.0) -> Incident:
        """The incident once it is ``ready`` or ``failed``. Raises :class:`NotYet` before."""
        end = time.monotonic() + timeout_s
        while True:
            left_s = max(0.0, end - time.monotonic())
            wait_s = min(_LONGEST_WAIT_S, int(left_s))
            path = build_incident_path(str(incident_id), "suspects")
            state = self._transport.get(path, {"wait_s": wait_s or None}, silent_s=wait_s)["state"]
            if state in ENDED:
                return self.incident(incident_id)
            if wait_s == 0:
                if left_s <= 0:
                    raise NotYet(
                        f"incident {incident_id} is {state} after {timeout_s:g} s;"
                        " give a longer timeout_s, or ask again later"
                    )
                time.sleep(min(left_s, 0.5))

    def launch(
        self,
        job_id: str | int,
        *,
        cluster: str | None = None,
        wait_s: float = 0.0,
    ) -> dict[str, Any]:
        """Whether the job may start now, and without which nodes, as the service gives it.

        Waits up to ``wait_s`` seconds (at most 60) for
        the answer to the job's newest failure.
        """
        asked = {"cluster": cluster, "wait_s": wait_s or None}
        path = f"/v1/jobs/{quote(str(job_id), safe='')}/launch"
        return self._transport.get(path, asked, silent_s=wait_s)

    def upload(
        self,
        path: str | Path,
        job_id: str | int | None = None,
        *,
        node: str | None = None,
        incident: Incident | str | int | None = None,
        cluster: str | None = None,
        attempt: str | int | None = None,
    ) -> Incident:
        """Send a folder, a file or a tar, and give back the incident that it went into.

        ``node`` says whose files these are, where their folders do not. Without ``incident``
        they join the newest one of the job (of this ``cluster``, and of this ``attempt`` of a
        requeued job), or open one. The ``sent`` table of what comes back
        says what became of each file; a file that is refused is a warning, and never stops
        the others. Sending the same again changes nothing.

        Raises :class:`UsageError` for a path that cannot be read.
        """
        joined = incident.id if isinstance(incident, Incident) else incident
        if job_id is None:
            if joined is None:
                raise UsageError("upload needs a job_id or an incident")
            job_id = incident.job_id if isinstance(incident, Incident) else ""
            job_id = job_id or self.incident(str(joined)).job_id
        bundle = gather_bundle(path)
        uploaded = self._transport.send(
            ApiRequest(
                "POST",
                f"/v1/jobs/{quote(str(job_id), safe='')}/bundle",
                {"node": node, "incident": joined, "cluster": cluster, "attempt": attempt},
                bundle.headers,
                bundle.pieces,
            )
        )
        facts = self._facts_of(uploaded["incident_id"])
        return Incident(self._transport, facts, _build_sent_table(uploaded["artifacts"]))

    def import_exposure(
        self,
        export: str | Path | bytes,
        *,
        zone: str = "UTC",
        cluster: str | None = None,
        day_zero: str | None = None,
    ) -> dict[str, Any]:
        """Send what a scheduler, an inventory, a tracker or a public trace exports; what became
        of it.

        ``zone`` is that of times which name none, ``cluster`` that of rows which name none, and
        ``day_zero`` the day from which a table counts that names none.
        The same export again adds nothing. Raises :class:`UsageError` for a file that cannot
        be read.
        """
        try:
            data = export if isinstance(export, bytes) else Path(export).read_bytes()
        except OSError as error:
            raise UsageError(f"{export!s:.200} cannot be read: {error.strerror}") from error
        return self._transport.send(
            ApiRequest(
                "POST",
                "/v1/fleet/import",
                {
                    "zone": zone,
                    "cluster": cluster or None,
                    "day_zero": day_zero or None,
                },
                {"Content-Type": "application/octet-stream"},
                lambda: iter([data]),
                silent_s=_IMPORT_S,
            )
        )

    def job_failed(self, facts: Mapping[str, Any]) -> Incident:
        """Say that a job failed: the keys of ``job.json``, and what files to expect.

        The same failure sent twice is one incident.
        """
        answer = self._transport.post("/v1/hooks/job-failed", facts)
        return Incident(self._transport, answer["incident"])

    def resolve(
        self,
        incident_id: str | int,
        category: str,
        node: str | None = None,
        note: str | None = None,
    ) -> dict[str, Any]:
        """Say what an incident turned out to be, in place of what was said before.

        The result is the label as the service keeps it.
        """
        body = {"category": category, "node": node, "note": note}
        given = {key: value for key, value in body.items() if value is not None}
        kept: dict[str, Any] = self._transport.post(
            build_incident_path(str(incident_id), "resolution"), given
        )
        return kept

    def list_labels(
        self, incident_ids: Sequence[str | int] = (), *, since: datetime | None = None
    ) -> Iterator[tuple[Mapping[str, Any], "list[LabelledLine]"]]:
        """These incidents, else all resolved ones that were opened ``since``, newest first, each
        with the lines that the reader can learn of it.

        Raises :class:`UsageError` for one of these that is not resolved.
        """
        from triage.client.labels import list_labels
        from triage.client.store import ServiceIncidents

        found = [self.incident(one).facts for one in dict.fromkeys(incident_ids)]
        for facts in found:
            if not facts.get("resolution"):
                raise UsageError(
                    f"incident {facts['id']} is not resolved: say what it was on its page, or by"
                    f" POST /v1/incidents/{facts['id']}/resolution"
                )
        if not incident_ids:
            found = self.incident_rows({"since": since}, limit=None)
        return list_labels(found, ServiceIncidents(self._transport))

    def _facts_of(self, incident_id: str) -> Mapping[str, Any]:
        try:
            return self._transport.get(build_incident_path(incident_id))
        except NotAllowed:
            # A token of scope ingest may not read incidents.
            return {
                "id": incident_id,
                "job_id": "",
                "state": "collecting",
                "provisional": True,
                "revision": 0,
                "verdict": None,
                "created_at": _format_rfc_3339(datetime.now(UTC)),
            }

    def __repr__(self) -> str:
        return f"<Client {self.url}>"


def _format_rfc_3339(at: datetime) -> str:
    """A time as the service reads it; without an offset it is UTC."""
    return (at if at.tzinfo is not None else at.replace(tzinfo=UTC)).astimezone(UTC).isoformat()


def _build_period_query(
    days: float, since: datetime | str | None, until: datetime | str | None
) -> dict[str, str | None]:
    """The period as the service reads it; by default the service's own last 30 days."""
    end = _format_rfc_3339(until) if isinstance(until, datetime) else until
    if since is None and (days != _DEFAULT_DAYS or end is not None):
        last = datetime.now(UTC) if end is None else datetime.fromisoformat(end)
        since = last - timedelta(days=days)
    begin = _format_rfc_3339(since) if isinstance(since, datetime) else since
    return {"since": begin, "until": end}


def _flatten_incident(facts: Mapping[str, Any]) -> dict[str, Any]:
    """An incident as one row of ``INCIDENTS``."""
    verdict = facts.get("verdict") or {}
    keys = ("kind", "category", "confidence", "summary", "cordon")
    resolution = facts.get("resolution") or {}
    row = {**facts, **{key: verdict.get(key) for key in keys}}
    return {**row, "cordon": row["cordon"] or [], "resolved_as": resolution.get("category")}


def _flatten_problem(facts: Mapping[str, Any]) -> dict[str, Any]:
    """A problem as one row of ``PROBLEMS``."""
    nodes = [one["node"] for one in facts["nodes"]]
    return {
        **facts,
        "nodes": nodes,
        "resolved_as": [one["category"] for one in facts["resolved_by"]],
    }


def _build_sent_table(files: Sequence[Mapping[str, Any]]) -> "DataFrame":
    """The files of an upload; a warning names those that were refused."""
    refused = [file for file in files if file["status"] >= 400]
    if refused:
        first = refused[0]
        warnings.warn(
            f"{len(refused)} of {len(files)} files were refused;"
            f" {first['member']}: {first['reason']}",
            stacklevel=3,
        )
    return build_table(files, SENT)


_PIECE: Final = 1 << 20
_BLOCK: Final = 512


@dataclass(frozen=True, slots=True)
class Bundle:
    """``files`` are (name in the tar, path); of a ready tar ``tar`` alone is set."""

    files: tuple[tuple[str, Path], ...] = ()
    tar: Path | None = None

    @property
    def headers(self) -> dict[str, str]:
        """Type and encoding of the body."""
        if self.tar is not None:
            return {"Content-Type": "application/x-tar"}
        return {"Content-Type": "application/x-tar", "Content-Encoding": "zstd"}

    def pieces(self) -> Iterator[bytes]:
        """The body, from its first byte on."""
        if self.tar is not None:
            with _open_for_reading(self.tar) as file:
                yield from iter(lambda: file.read(_PIECE), b"")
            return
        packer = zstandard.ZstdCompressor(level=3).compressobj()
        for piece in iterate_tar_pieces(self.files):
            packed = packer.compress(piece)
            if packed:
                yield packed
        yield packer.flush()


def gather_bundle(path: str | Path) -> Bundle:
    """The bundle of a folder, a file or a tar. Raises :class:`UsageError`."""
    start = Path(path)
    try:
        if start.is_dir():
            files = tuple(_iterate_files_below(start))
            if not files:
                raise UsageError(f"{start} holds no file; give the folder of one incident")
            return Bundle(files)
        with _open_for_reading(start) as file:
            # A tar, plain or below one layer of packing.
            head = file.read(PEEK_BYTES)
            compression = detect_compression(head)
            ready = is_tar(peek(head, compression) if compression else head)
    except OSError as error:
        raise UsageError(f"cannot read {start}: {error.strerror or error}") from error
    return Bundle(tar=start) if ready else Bundle(((start.name, start),))


def _iterate_files_below(folder: Path) -> Iterator[tuple[str, Path]]:
    """Regular files with their names from the folder on, in order; no link is followed."""
    for root, folders, names in os.walk(folder, onerror=_raise):
        folders.sort()
        for name in sorted(names):
            path = Path(root, name)
            if path.is_file() and not path.is_symlink():
                yield path.relative_to(folder).as_posix(), path


def _raise(error: OSError) -> None:
    raise error


def iterate_tar_pieces(files: tuple[tuple[str, Path], ...]) -> Iterator[bytes]:
    """A tar of ``files``: the header of each, its bytes, zeros up to a whole block."""
    for name, path in files:
        with _open_for_reading(path) as file:
            size = os.fstat(file.fileno()).st_size
            header = tarfile.TarInfo(name)
            header.size, header.mode = size, 0o600
            yield header.tobuf(tarfile.PAX_FORMAT, "utf-8", "surrogateescape")
            yield from _read_exact_bytes(file, size, path)
            yield bytes(-size % _BLOCK)
    yield bytes(2 * _BLOCK)


def _open_for_reading(path: Path) -> io.BufferedReader:
    """The file, open for reading. Raises :class:`UsageError`."""
    try:
        return path.open("rb")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror or error}") from error


def _read_exact_bytes(file: io.BufferedReader, size: int, path: Path) -> Iterator[bytes]:
    """The first ``size`` bytes; what a file grows by meanwhile is not read."""
    left = size
    while left > 0:
        piece = file.read(min(_PIECE, left))
        if not piece:
            raise UsageError(f"{path} became shorter while it was sent; send it again")
        left -= len(piece)
        yield piece
