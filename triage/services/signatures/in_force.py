"""The own signatures in force: of the settings, then those that were uploaded.

Each upload is read with those of its moment. Whether a set changed is one small question. The
built-in signatures, which own ones are checked against, are loaded by the functions that need them:
a process without own signatures starts sooner.

Own signatures are uploaded, shown and removed; what is new is read with them at once.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from triage.clock import read_utc_now
from triage.domain.patterns import compile_re
from triage.errors import NotFound, Place, Unprocessable
from triage.services.context import Context
from triage.store import signature_files
from triage.store.access import audit
from triage.store.signature_files import SignatureFileView

if TYPE_CHECKING:
    from triage.signatures.own.faults import SignatureFault
    from triage.signatures.own.own_signatures import OwnSignatures


log = structlog.get_logger(__name__)
# By settings and versions: the set of this process.
_KNOWN: Final[dict[tuple[str, tuple[tuple[str, str], ...]], bytes]] = {}


@cache
def load_configured(path: str) -> tuple[tuple[str, bytes], ...]:
    """The files of ``TRIAGE_SIGNATURES``, read once in a process and checked.

    Raises :class:`UsageError`.
    """
    if not path:
        return ()
    from triage.signatures.own.check import own_from_files, read_files_below

    files = read_files_below(Path(path))
    own_from_files(files)
    return tuple(files.items())


def find_signatures_in_force(ctx: Context) -> bytes:
    """For :func:`triage.signatures.own.own_signatures.own_from_bytes`; empty where there are none.

    Raises :class:`UsageError` for settings that cannot be.
    """
    path = ctx.settings.signatures
    with ctx.database.reading() as session:
        versions = signature_files.list_versions(session)
        found = _KNOWN.get((path, versions))
        if found is None:
            found = _join_signatures(load_configured(path), signature_files.list_bodies(session))
            _KNOWN.clear()  # an older set does not come back
            _KNOWN[path, versions] = found
    return found


def label_in_force(ctx: Context) -> str:
    """Which set :func:`find_signatures_in_force` gives; empty for none. Raises as it does."""
    return _label_in(find_signatures_in_force(ctx))


@lru_cache(2)
def _label_in(own: bytes) -> str:
    from triage.signatures.own.own_signatures import own_from_bytes

    return own_from_bytes(own).label


def make_uploaded_name(name: str) -> str:
    """What faults call an uploaded file."""
    from triage.signatures.own.own_signatures import UPLOADED

    return f"{UPLOADED}{name}"


def _join_signatures(
    settled: tuple[tuple[str, bytes], ...], uploaded: Mapping[str, bytes]
) -> bytes:
    """Both sets; where they contradict each other since one changed, that of the settings."""
    from triage.signatures.own.check import own_from_files
    from triage.signatures.own.faults import FaultySignatures

    files = {**dict(settled), **{make_uploaded_name(n): uploaded[n] for n in sorted(uploaded)}}
    try:
        return own_from_files(files).to_bytes()
    except FaultySignatures as error:
        log.error("uploaded signatures are not used", why=str(error), step="triage signatures list")
        return own_from_files(dict(settled)).to_bytes()


_NAME: Final = compile_re(r"[a-z0-9][a-z0-9_-]{0,59}", re.ASCII)
_RESERVED: Final = "dry-run"
_LISTED: Final = "GET /v1/signatures lists them"
_SHOWN: Final = 100


def keep_file(ctx: Context, name: str, body: bytes, actor: str) -> SignatureFileView:
    """Keep a file under a name; it replaces the one of that name.

    Raises :class:`Unprocessable` with every fault, of this file or of it beside the others.
    """
    if not _NAME.fullmatch(name) or name == _RESERVED:
        raise Unprocessable(
            f"{name[:80]!r} is no name of a file of signatures",
            hint="lower case letters, digits, - and _, at most 60",
        )
    now = read_utc_now()
    with ctx.database.writing() as session:
        own = make_candidate(ctx, signature_files.list_bodies(session), name, body)
        file = make_uploaded_name(name)
        number = own.num_of(file)
        found = signature_files.keep(
            session,
            SignatureFileView(name, hashlib.sha256(body).hexdigest(), number, now, now, actor),
            body.decode("utf-8"),
        )
        audit.note(session, actor, "signatures.upload", name, now, {"sha256": found.sha256})
    return found


def make_candidate(
    ctx: Context, uploaded: Mapping[str, bytes], name: str, body: bytes
) -> "OwnSignatures":
    """All own signatures as they would be with this file. Raises :class:`Unprocessable`."""
    from triage.signatures.own.check import check_from_files
    from triage.signatures.own.faults import FaultySignatures

    kept = {make_uploaded_name(one): text for one, text in uploaded.items() if one != name}
    file = make_uploaded_name(name)
    files = {**dict(load_configured(ctx.settings.signatures)), **kept, file: body}
    try:
        own, _ = check_from_files(dict(sorted(files.items(), key=lambda at: _order(at[0]))))
    except FaultySignatures as error:
        raise Unprocessable(
            f"{len(error.faults)} things are wrong with the signatures",
            hint="triage signatures check FILE says the same without a service",
            places=tuple(_find_fault_place(one, file) for one in error.faults[:_SHOWN]),
        ) from error
    if not own.num_of(file):
        raise Unprocessable(
            "the file holds no signature and no silence",
            hint="a file has [[signature]] and [[silence]]",
        )
    return own


def _find_fault_place(fault: "SignatureFault", file: str) -> Place:
    """Where in the body, or in which other file, something is wrong."""
    if fault.file == file:
        return Place(f"body/{fault.line}", f"line {fault.line}: {fault.reason}")
    return Place("body", str(fault))


def _order(file: str) -> tuple[bool, str]:
    """Files of the settings first, then uploaded ones by name."""
    uploaded = file.startswith(make_uploaded_name(""))
    return uploaded, file if uploaded else ""


def remove_file(ctx: Context, name: str, actor: str) -> None:
    """Read what comes from now on without it. Raises :class:`NotFound`."""
    now = read_utc_now()
    with ctx.database.writing() as session:
        if not signature_files.remove(session, name):
            raise NotFound(f"there is no file of signatures {name[:80]!r}", hint=_LISTED)
        audit.note(session, actor, "signatures.remove", name, now)
