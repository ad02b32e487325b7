"""``triage.open_store``: a store of incidents, from its database or over the service."""

from pathlib import Path
from typing import Final

from triage.client.store import IncidentSource, ServiceIncidents, Store
from triage.client.transport import Transport
from triage.errors import UsageError

_DATABASE: Final = "triage.db"
_SERVER: Final = (
    'reading a database needs SQLAlchemy: pip install "nccl-triage[server,postgres]", or give the'
    " address of the service"
)
_CHECKOUT: Final = (
    "a database is read from a checkout or from the image; give the address of the service"
    " instead, such as triage.open_store('https://triage.example', token=...)"
)


def open_store(
    address: str | Path | None = None,
    *,
    token: str | None = None,
    timeout_s: float = 60.0,
    ca_file: str | None = None,
) -> Store:
    """All incidents of a store, to be read as DataFrames.

    ``address`` is the service (``https://triage.example``, with a ``token`` of scope ``read``),
    a data directory or SQLite file of it, or a database (``postgresql://...``). None: what the
    settings of this process say (``TRIAGE_*``). Nothing is changed in it.

    Raises :class:`UsageError` for what is no store, :class:`Unavailable` where it is away.
    """
    text = str(address) if address is not None else ""
    if text.startswith(("http://", "https://")):
        transport = Transport(text, token, timeout_s=timeout_s, ca_file=ca_file)
        return Store(ServiceIncidents(transport))
    try:
        return Store(_open_stored(text, timeout_s))
    except ModuleNotFoundError as error:
        name = (error.name or "").partition(".")[0]
        raise UsageError(_CHECKOUT if name in ("models", "migrations") else _SERVER) from error


def _open_stored(text: str, timeout_s: float) -> IncidentSource:
    from triage.settings import load_settings
    from triage.store.database.engine import open_for_reading
    from triage.store.database.migrate import (
        head_revision,
        list_known_revisions,
        read_current_revision,
    )
    from triage.store.exports import StoredIncidents

    given = load_settings(
        database_url=None
        if not text
        else text
        if "://" in text
        else _make_sqlite_address(Path(text)),
        database_timeout_s=timeout_s,
    )
    if given.embedded_database:
        _make_sqlite_address(given.data_dir)
    database = open_for_reading(given)
    present, needed = read_current_revision(database), head_revision()
    if present is None or (present != needed and present in list_known_revisions()):
        database.close()
        raise UsageError(
            f"the database is at revision {present or 'none'}, this release reads {needed}:"
            " run `triage migrate` first"
        )
    return StoredIncidents(database)


def _make_sqlite_address(path: Path) -> str:
    """The address of the SQLite file at ``path`` or in it. Raises :class:`UsageError`."""
    file = path / _DATABASE if path.is_dir() else path
    if not file.is_file():
        raise UsageError(
            f"{path} holds no {_DATABASE}; give the data directory of the service"
            " (TRIAGE_DATA_DIR), or its address"
        )
    return f"sqlite:///{file.absolute()}"
