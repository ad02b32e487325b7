"""Settings of the service: the environment (``TRIAGE_`` prefix) over the file ``TRIAGE_CONFIG``.

Read once, at the edge, and handed down; nothing below reads the environment. Sizes are
bytes, times seconds, as the names say.
"""

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, PrivateAttr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from triage.errors import UsageError

__all__ = ["Settings", "Weekday", "load_settings"]

MIB = 1 << 20
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def aws_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key.startswith("AWS_")}


class Settings(BaseSettings):
    """Everything that can be set; each field says its unit and why one would change it."""

    model_config = SettingsConfigDict(env_prefix="TRIAGE_", frozen=True, extra="ignore")
    # The object store's client knows these by itself; they are read with all others.
    _aws: dict[str, str] = PrivateAttr(default_factory=aws_environment)

    data_dir: Path = Path("var/triage")
    """Folder of the embedded database, of blobs and of spools."""
    database_url: str = ""
    """``postgresql+psycopg://...``; empty: SQLite in the data directory."""
    broker_url: str = "memory://"
    """``redis://...`` or ``amqp://...`` for workers of their own; ``memory://``: embedded."""
    queue_prefix: str = Field("triage", pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    """Begins the names of queues, so that two services can share one broker."""
    blob_url: str = ""
    """``s3://bucket/prefix``; empty: a folder in the data directory."""
    s3_endpoint: str = ""
    """Address of an S3-compatible store; empty: Amazon's."""
    s3_access_key_id: str = ""
    s3_secret_access_key: str = ""
    s3_region: str = "us-east-1"
    public_url: str = ""
    """How people reach the service; stands in notifications."""
    log_level: str = "info"
    log_format: str = "auto"
    """``json``, ``text``, or ``auto``: text where a terminal is watching."""

    quiet_s: float = Field(30.0, ge=0)
    """Without expectations an incident settles when nothing new came for so long."""
    collect_within_s: float = Field(300.0, gt=0)
    """An incident settles so long after it was opened, at the latest."""
    provisional_every_s: float = Field(2.0, gt=0)
    """At least so long between two provisional answers of one incident."""

    max_artifact_bytes: int = Field(256 * MIB, gt=0)
    max_dump_bytes: int = Field(64 * MIB, gt=0)
    max_bundle_bytes: int = Field(2048 * MIB, gt=0)
    max_hook_bytes: int = Field(MIB, gt=0)
    min_free_bytes: int = Field(64 * MIB, ge=0)
    """Uploads are answered 507 before the disk has less than this left."""
    max_uploads: int = Field(8, gt=0)
    """Bodies that are taken in at once by one API process."""
    max_waiting: int = Field(2048, ge=0)
    """Uploads that wait for their turn, with some 150 KB each; the next one is answered 503
    with Retry-After."""
    min_body_rate: int = Field(16 << 10, ge=0)
    """Bytes a second, on average, below which the sender of a body is answered 408; 0: any."""
    body_grace_s: float = Field(10.0, gt=0)
    """The rate counts once a body was waited for so long; its turn is not waited for it."""
    body_idle_s: float = Field(30.0, gt=0)
    """No sender may be silent for longer, however fast it was."""
    requests_per_minute: int = Field(6000, gt=0)
    """Per token, uploads and long polls not counted."""

    lease_s: float = Field(60.0, gt=0)
    """A worker that says nothing for so long has lost its work."""
    parse_deadline_s: float = Field(120.0, gt=0)
    """One upload is read within this, else its reader is killed."""
    analyse_deadline_s: float = Field(300.0, gt=0)
    parse_memory_bytes: int = Field(6144 * MIB, gt=0)
    """Address space of a reader (numba and scikit-learn map a good part of it)."""
    reader_resident_bytes: int = Field(1024 * MIB, gt=0)
    """Memory that a reader may hold between two requests; beyond it, another takes its place."""
    standings_every_s: float = Field(600.0, gt=0)
    """Node standings are worked out anew for analyses when they are older than this."""
    max_tries: int = Field(3, gt=0)
    """Lost workers before an item is quarantined."""

    webhook_allow: Annotated[tuple[str, ...], NoDecode] = ()
    """Hosts and networks that may be private and plain http, as a comma list."""
    webhook_timeout_s: float = Field(15.0, gt=0)
    callback_secret: str = ""
    """Signs what goes to the ``callback_url`` of a job-failed hook (``whsec_...``)."""

    digest_weekday: Weekday = "monday"
    """The week of a fleet's digest (event ``fleet.digest``) ends on this day, in UTC ..."""
    digest_hour_utc: int = Field(7, ge=0, le=23)
    """... at this full hour; then it is told."""

    keep_days: float = Field(90.0, gt=0)
    """``triage prune`` removes settled incidents older than this."""
    keep_blobs_days: float = Field(30.0, gt=0)
    """... and the raw bytes of artifacts older than this; digests and evidence stay."""
    keep_telemetry_days: float = Field(400.0, gt=0)
    """... and telemetry older than this; what is older is not taken in."""

    @field_validator("webhook_allow", mode="before")
    @classmethod
    def split_list(cls, value: object) -> object:
        """A comma list as a tuple."""
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @property
    def database(self) -> str:
        """The SQLAlchemy address of the database."""
        return self.database_url or f"sqlite:///{self.data_dir.absolute() / 'triage.db'}"

    @property
    def embedded_database(self) -> bool:
        """Whether the database is the one in the data directory, which ``serve`` migrates."""
        return not self.database_url

    @property
    def embedded_broker(self) -> bool:
        """Whether the worker is a child of ``serve``."""
        return self.broker_url.startswith("memory:")

    @property
    def blob_options(self) -> dict[str, str]:
        """Endpoint and keys of the object store."""
        named = {
            "TRIAGE_S3_ENDPOINT": self.s3_endpoint,
            "TRIAGE_S3_ACCESS_KEY_ID": self.s3_access_key_id,
            "TRIAGE_S3_SECRET_ACCESS_KEY": self.s3_secret_access_key,
            "TRIAGE_S3_REGION": self.s3_region,
        }
        return {**self._aws, **{key: value for key, value in named.items() if value}}

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003 - the base class calls by name
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment wins over the file; arguments of the command line over both."""
        return (env_settings, init_settings)


def load_settings(**given: object) -> Settings:
    """The settings of this process; ``given`` stand above environment and file.

    ``TRIAGE_CONFIG`` names a TOML file whose keys are the field names. Raises
    :class:`UsageError` for a value that cannot be.
    """
    file = read_file(os.environ.get("TRIAGE_CONFIG"))
    try:
        return Settings(**file).model_copy(update=checked(given))
    except ValidationError as error:
        first = error.errors()[0]
        name = "TRIAGE_" + "_".join(str(part) for part in first["loc"]).upper()
        raise UsageError(f"{name}: {first['msg']}") from error


def checked(given: dict[str, object]) -> dict[str, Any]:
    """``given`` as the fields' types, without what is None."""
    wanted = {key: value for key, value in given.items() if value is not None}
    whole = Settings.model_validate(wanted)
    return {key: getattr(whole, key) for key in wanted}


def read_file(name: str | None) -> dict[str, Any]:
    if not name:
        return {}
    try:
        values = tomllib.loads(Path(name).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"TRIAGE_CONFIG={name} cannot be read: {error}") from error
    unknown = sorted(set(values) - set(Settings.model_fields))
    if unknown:
        raise UsageError(f"TRIAGE_CONFIG={name}: unknown setting {unknown[0]!r}")
    return values
