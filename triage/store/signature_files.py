"""Files of own signatures that were uploaded."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from models import SignatureFile
from triage.domain.wire import format_iso_utc


@dataclass(frozen=True, slots=True)
class SignatureFileView:
    """One uploaded file; ``key_id`` is the token that brought it, None from the command."""

    name: str
    sha256: str
    num_signatures: int
    created_at: datetime
    updated_at: datetime
    key_id: str | None

    def to_dict(self) -> dict[str, Any]:
        """The wire form."""
        times = {
            "created_at": format_iso_utc(self.created_at),
            "updated_at": format_iso_utc(self.updated_at),
        }
        return {**asdict(self), **times}


def list_versions(session: Session) -> tuple[tuple[str, str], ...]:
    """(name, SHA-256) of all, by name: whether anything changed."""
    query = select(SignatureFile.name, SignatureFile.sha256).order_by(SignatureFile.name)
    return tuple((row.name, row.sha256) for row in session.execute(query))


def list_bodies(session: Session) -> dict[str, bytes]:
    """Name -> TOML of all, by name."""
    query = select(SignatureFile.name, SignatureFile.body).order_by(SignatureFile.name)
    return {row.name: row.body.encode("utf-8") for row in session.execute(query)}


def list_files(session: Session) -> list[SignatureFileView]:
    """All, by name."""
    return [
        _view(row) for row in session.scalars(select(SignatureFile).order_by(SignatureFile.name))
    ]


def find(session: Session, name: str) -> tuple[SignatureFileView, str] | None:
    """A file and its TOML."""
    row = session.get(SignatureFile, name)
    return None if row is None else (_view(row), row.body)


def keep(session: Session, found: SignatureFileView, body: str) -> SignatureFileView:
    """Keep a file; the older one of its name is replaced, and what is kept says since when."""
    row = session.get(SignatureFile, found.name)
    if row is None:
        row = SignatureFile(name=found.name, created_at=found.created_at)
        session.add(row)
    row.sha256 = found.sha256
    row.body = body
    row.num_signatures = found.num_signatures
    row.updated_at = found.updated_at
    row.key_id = found.key_id
    session.flush()
    return _view(row)


def remove(session: Session, name: str) -> bool:
    """Whether there was such a file; it is gone."""
    row = session.get(SignatureFile, name)
    if row is None:
        return False
    session.delete(row)
    return True


def _view(row: SignatureFile) -> SignatureFileView:
    return SignatureFileView(
        row.name, row.sha256, row.num_signatures, row.created_at, row.updated_at, row.key_id
    )
