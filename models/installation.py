"""What belongs to the whole installation: its mark, and its own signatures."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Name, UtcTime


class Installation(Base):
    """Under which marks this database has written to its blob store.

    One mark; the blob store holds the newest one. Another mark there is another database's.

    A start and each round of the clean-up makes a new one, so that a copy of this database,
    or an older state of it, does not know the mark that the store holds.
    """

    __tablename__ = "installation"

    id: Mapped[str] = mapped_column(primary_key=True)
    created_at: Mapped[datetime] = mapped_column(UtcTime)


class SignatureFile(Base):
    """Files of a team's own signatures that were uploaded.

    ``body`` is the TOML as it came and was checked; the newest of a ``name`` replaces it.
    """

    __tablename__ = "signature_file"

    name: Mapped[str] = mapped_column(Name, primary_key=True)
    sha256: Mapped[str]
    body: Mapped[str]
    num_signatures: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    updated_at: Mapped[datetime] = mapped_column(UtcTime)
    key_id: Mapped[str | None]
