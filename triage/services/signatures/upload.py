"""Own signatures are uploaded, shown and removed; what is new is read with them at once."""

import hashlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from triage.clock import read_utc_now
from triage.domain.patterns import compile_re
from triage.errors import NotFound, Place, Unprocessable
from triage.services.context import Context
from triage.services.signatures.in_force import load_configured, make_uploaded_name
from triage.store import signature_files
from triage.store.access import audit
from triage.store.signature_files import SignatureFileView

if TYPE_CHECKING:
    from triage.signatures.own.faults import SignatureFault
    from triage.signatures.own.own_signatures import OwnSignatures

_NAME: Final = compile_re(r"[a-z0-9][a-z0-9_-]{0,59}", re.ASCII)
# Earlier releases tried a file there: who still asks for that must not upload it.
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
