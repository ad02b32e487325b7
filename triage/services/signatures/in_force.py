"""The own signatures in force: of the settings, then those that were uploaded.

Each upload is read with those of its moment. Whether a set changed is one small question. The
built-in signatures, which own ones are checked against, are loaded by the functions that need them:
a process without own signatures starts sooner.
"""

from collections.abc import Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Final

import structlog

from triage.services.context import Context
from triage.store import signature_files

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
