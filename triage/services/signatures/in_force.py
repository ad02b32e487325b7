"""The own signatures in force: the files of ``TRIAGE_SIGNATURES``, read once in a process.

The built-in signatures, which own ones are checked against, are loaded by the functions that need
them: a process without own signatures starts sooner.
"""

from functools import cache


@cache
def find_signatures_in_force(path: str) -> bytes:
    """For :func:`triage.signatures.own.own_signatures.own_from_bytes`; empty for no path.

    Raises :class:`UsageError` for files that cannot be.
    """
    if not path:
        return b""
    from triage.signatures.own.check import own_from_path

    return own_from_path(path).to_bytes()


@cache
def label_in_force(path: str) -> str:
    """Which set :func:`find_signatures_in_force` gives; empty for none. Raises as it does."""
    own = find_signatures_in_force(path)
    if not own:
        return ""
    from triage.signatures.own.own_signatures import own_from_bytes

    return own_from_bytes(own).label
