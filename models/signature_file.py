"""Files of a team's own signatures that were uploaded."""

from datetime import datetime

from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Name, UtcTime

__all__ = ["SignatureFile"]


class SignatureFile(Base):
    """``body`` is the TOML as it came and was checked; the newest of a ``name`` replaces it."""

    __tablename__ = "signature_file"

    name: Mapped[str] = mapped_column(Name, primary_key=True)
    sha256: Mapped[str]
    body: Mapped[str]
    num_signatures: Mapped[int]
    created_at: Mapped[datetime] = mapped_column(UtcTime)
    updated_at: Mapped[datetime] = mapped_column(UtcTime)
    key_id: Mapped[str | None]
