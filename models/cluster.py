"""A cluster: where jobs, and nodes of one name, belong together."""

from sqlalchemy.orm import Mapped, mapped_column

from models.base import Base, Name

__all__ = ["Cluster"]


class Cluster(Base):
    """``name`` is what hooks and uploads call it; empty where nobody said.

    ``keep_days`` and ``keep_blobs_days`` stand above the settings of the same name.
    """

    __tablename__ = "cluster"

    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str] = mapped_column(Name, unique=True)
    keep_days: Mapped[float | None]
    keep_blobs_days: Mapped[float | None]
