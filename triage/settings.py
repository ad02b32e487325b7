"""Settings of the service: the environment (``TRIAGE_`` prefix) over the file ``TRIAGE_CONFIG``.

Read once, at the edge, and handed down; nothing below reads the environment. Sizes are
bytes, times seconds, as the names say.
"""

import os
import re
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import Field, PrivateAttr, ValidationError, field_validator
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from triage.domain.acting import ActMode
from triage.errors import UsageError

_MIB = 1 << 20
_BROKERS: Final = ("memory", "redis", "rediss", "amqp", "amqps", "pyamqp", "sentinel")
_UNIT_HOURS: Final = {"s": 1 / 3600, "m": 1 / 60, "h": 1.0, "d": 24.0}
# May stand in a file of their own, as schedulers of containers and systemd hand secrets out.
FROM_FILES: Final = (
    "database_url", "broker_url", "s3_access_key_id", "s3_secret_access_key", "secret_key",
    "callback_secret", "metrics_token",
)  # fmt: skip
# Settings of earlier versions, with what is to be done instead.
_RETIRED: Final = {
    **dict.fromkeys(
        ("act_webhook_url", "act_webhook_secret", "act_webhook_secret_file"),
        "acts are asked of Slurm or Kubernetes alone; elsewhere set TRIAGE_ACT_SYSTEM=none, and"
        " have your own program act on the messages action.proposed and action.done"
        " (docs/acting.md)",
    ),
    "act_wrong_stop": "acting does not stop by itself any more: TRIAGE_ACT_MODE=off stops it",
    "act_verbs": "convicted nodes are drained; with TRIAGE_ACT_SYSTEM=none they are excluded",
}
Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]


def _read_aws_environment() -> dict[str, str]:
    return {key: value for key, value in os.environ.items() if key.startswith("AWS_")}


class Settings(BaseSettings):
    """All settings. Each sentence says what is limited, in which unit, what happens beyond it,
    and when to change it; the table of ``docs/operator.md`` repeats it.
    """

    model_config = SettingsConfigDict(env_prefix="TRIAGE_", frozen=True, extra="ignore")
    # The object store's client knows these by itself; they are read with all others.
    _aws: dict[str, str] = PrivateAttr(default_factory=_read_aws_environment)

    data_dir: Path = Path("var/triage")
    """Folder of the embedded database, of blobs, and of uploads on their way to an object
    store."""
    database_url: str = ""
    """Address of PostgreSQL (``postgresql+psycopg://...``). Empty: SQLite in the data directory.
    Set it to run on several machines."""
    database_timeout_s: float = Field(60.0, gt=0)
    """Seconds for one statement of PostgreSQL, and for a transaction that does nothing; then the
    work is tried again. Migrations have no such limit."""
    broker_url: str = "memory://"
    """Address of Redis (``redis://...``) or RabbitMQ (``amqp://...``). ``memory://``: the worker
    is a child of ``triage serve``."""
    queue_prefix: str = Field("triage", pattern=r"^[A-Za-z0-9_.-]{1,64}$")
    """First part of the names of queues. Change it if two services share one broker."""
    blob_url: str = ""
    """Bucket for the bytes of uploads (``s3://bucket/prefix``). Empty: a folder in the data
    directory. Set it to run on several machines."""
    s3_endpoint: str = ""
    """Address of an S3-compatible store. Empty: Amazon's."""
    s3_access_key_id: str = ""
    """Key id for the object store. Empty: the client's own sources, such as ``AWS_*``."""
    s3_secret_access_key: str = ""
    """Secret that belongs to the key id."""
    s3_region: str = "us-east-1"
    """Region of the bucket. Other stores than Amazon's mostly ignore it."""
    public_url: str = ""
    """Address under which people reach the service. Notifications link to it. Set it as soon as
    there are receivers."""
    metrics_token: str = ""
    """Token that a scraper of ``/metrics`` has to send (``Authorization: Bearer ...``). Empty:
    everybody may ask."""
    log_level: str = "info"
    """Least severe log events to write: ``debug``, ``info``, ``warning`` or ``error``."""
    log_format: str = "auto"
    """``json``, ``text``, or ``auto``: text on a terminal, else JSON."""

    quiet_s: float = Field(30.0, ge=0)
    """Seconds without a new file after which an incident settles, if no hook said how many to
    expect. Raise it if nodes send minutes apart."""
    collect_within_s: float = Field(300.0, gt=0)
    """Seconds after its opening at which an incident settles at the latest. Later files revise the
    answer."""
    provisional_every_s: float = Field(2.0, gt=0)
    """Seconds between two provisional answers of one incident, at least."""

    max_artifact_bytes: int = Field(256 * _MIB, gt=0)
    """Bytes of one log, body of telemetry or import, unpacked; more is refused with 413. A reader
    needs more memory for more."""
    max_dump_bytes: int = Field(64 * _MIB, gt=0)
    """Bytes of one dump, unpacked; more is refused with 413."""
    max_bundle_bytes: int = Field(2048 * _MIB, gt=0)
    """Bytes of one bundle (tar), unpacked; more is refused with 413."""
    max_hook_bytes: int = Field(_MIB, gt=0)
    """Bytes of the body of a hook or other JSON request; more is refused with 413."""
    min_free_bytes: int = Field(64 * _MIB, ge=0)
    """Bytes that uploads leave free on the disk of the data directory. Uploads that would take
    more are answered 507."""
    max_uploads: int = Field(8, gt=0)
    """Bodies that one API process receives at once; others wait."""
    max_waiting: int = Field(2048, ge=0)
    """Uploads that wait in one API process, some 150 KB of memory each; further ones are answered
    503. Set it to the nodes of the largest job."""
    redact_patterns: str = ""
    """TOML file of patterns of your own (``NAME = 'REGEX'``, RE2) that are replaced in logs and
    facts like known secrets."""
    min_body_rate: int = Field(16 << 10, ge=0)
    """Bytes a second that a sender must average, or it is answered 408. 0: no minimum. Lower it
    for slow links."""
    body_grace_s: float = Field(10.0, gt=0)
    """Seconds of waiting for bytes before the minimum rate applies. Time in the queue does not
    count."""
    body_idle_s: float = Field(30.0, gt=0)
    """Seconds that a sender may be silent before it is answered 408."""
    uploads_per_minute: int = Field(60_000, gt=0)
    """Uploads a minute with one token, and a sixth of them at once; further ones are answered 429.
    Raise it if more nodes share a token."""
    incidents_per_minute: int = Field(600, gt=0)
    """Incidents a minute that one token opens, and a sixth of them at once; further ones are
    answered 429."""
    max_bytes_per_day: int = Field(0, ge=0)
    """Bytes, as stored, that one token may bring within a day; then 429. 0: no limit. Set it if
    teams share the service."""
    disk_mark: float = Field(0.85, gt=0, le=1)
    """Used share of the disk of the data directory beyond which tokens that brought more than an
    even share of the last day's bytes are answered 507."""
    requests_per_minute: int = Field(6000, gt=0)
    """Requests a minute with one token, uploads and long polls aside; further ones are answered
    429."""

    lease_s: float = Field(60.0, gt=0)
    """Seconds for which a worker owns a piece of work unless it renews its claim. Raise it if the
    database stalls for long."""
    parse_deadline_s: float = Field(120.0, gt=0)
    """Seconds for reading one upload; then the reader is killed and the upload tried again. Raise
    it on slow machines."""
    analyse_deadline_s: float = Field(300.0, gt=0)
    """Seconds for one answer; then the process is killed and the answer tried again. Raise it
    beyond 16,384 ranks."""
    parse_memory_bytes: int = Field(6144 * _MIB, gt=0)
    """Bytes of address space of a reader, most of it mapped and never used. Beyond it the reader
    ends. Raise it with the limits above."""
    reader_resident_bytes: int = Field(1024 * _MIB, gt=0)
    """Bytes of memory that a reader may keep between two requests; beyond it the next request
    starts another."""
    standings_every_s: float = Field(600.0, gt=0)
    """Seconds for which node standings are reused. Raise it if the fleet is large."""
    max_tries: int = Field(3, gt=0)
    """Readers that may be lost over one file before it is quarantined."""
    lost_after_s: float = Field(7200.0, ge=0)
    """Seconds after which bytes that the blob store does not have count as lost, if it has those
    of others. Until then the file waits."""

    webhook_allow: Annotated[tuple[str, ...], NoDecode] = ()
    """Hosts and networks that webhooks may reach although they are private or plain http; a comma
    list."""
    webhook_timeout_s: float = Field(15.0, gt=0)
    """Seconds for one attempt to deliver a message; then it is repeated later."""
    messages_per_minute: int = Field(30, gt=0)
    """Incidents a minute that one receiver is told of by a message each; further ones share one
    message (event ``incident.storm``). Raise it for programs."""
    secret_key: str = ""
    """Keys that seal addresses and secrets of receivers; each is base64 of 32 bytes, a comma
    between them. The first seals, all open. Empty: ``secret.key`` in the data directory, and none
    with PostgreSQL. Add a new first key to change it."""
    callback_secret: str = ""
    """Key that signs messages to the ``callback_url`` of a job-failed hook (``whsec_...``). Empty:
    no callbacks."""
    callback_allow: Annotated[tuple[str, ...], NoDecode] = ()
    """Hosts that a ``callback_url`` may name; a comma list of names, addresses and networks.
    Empty: none."""

    act_mode: ActMode = ActMode.OFF
    """Whether the service acts on nodes: ``off``, ``approve`` (it proposes, a person approves),
    ``auto``. Begin with ``approve``: what nobody approves is not done."""
    act_system: Literal["none", "slurm", "kubernetes"] = "none"
    """Scheduler that is asked to drain and undrain. ``none``: convicted nodes are excluded from
    new starts alone."""
    act_cluster: str = ""
    """Name of the cluster, as hooks and uploads say it, whose scheduler that is. Incidents of
    other clusters are never acted on. Empty: those that name no cluster."""
    act_confidence: float = Field(0.95, ge=0.9, le=1)
    """Least confidence at which a convicted node is acted on. Not below 0.9."""
    act_max_age: float = Field(6.0, gt=0)
    """Hours that a failure may be ago for its nodes to be acted on; also ``90m``, ``6h``, ``2d``.
    What comes later (a spool, a backfill) is answered, and no node is taken out for it. Raise it
    where files come late."""
    act_nodes_per_hour: int = Field(2, ge=0)
    """Nodes drained or excluded within an hour, at most. Beyond it, acts wait for a person."""
    act_pool_share: float = Field(0.02, ge=0, le=1)
    """Share of the cluster's nodes that is out because of us at one time, at most (one node
    always may be). Beyond it, acts wait for a person."""
    act_approval_hours: float = Field(12.0, gt=0)
    """Hours for which a proposal may be approved. Later it has expired."""
    act_timeout_s: float = Field(30.0, gt=0)
    """Seconds for one request to the scheduler. Beyond it the act is tried again, after a look
    at the node."""
    act_slurm_bin: str = ""
    """Folder of ``scontrol`` and ``sinfo``. Empty: those on PATH."""
    act_kubeconfig: str = ""
    """File that says how to reach Kubernetes. Empty: the pod's own service account."""
    signatures: str = ""
    """TOML file, or folder of such files, of signatures of your own, read at the start.
    What is wrong with them is told then."""

    digest_weekday: Weekday = "monday"
    """Weekday, in UTC, on which the week of a fleet's digest (event ``fleet.digest``) ends."""
    digest_hour_utc: int = Field(7, ge=0, le=23)
    """Full hour of that day, in UTC, at which the digest is sent."""

    keep_days: float = Field(90.0, gt=0)
    """Days for which settled incidents are kept, unless a person resolved them. What the fleet's
    record needs of them stays."""
    keep_blobs_days: float = Field(30.0, gt=0)
    """Days for which the raw bytes of uploaded files are kept. Answers, digests and evidence
    stay."""
    keep_telemetry_days: float = Field(400.0, gt=0)
    """Days for which telemetry by the hour is kept. Older samples are not taken in."""

    keep_events_days: float = Field(7.0, gt=0)
    """Days for which health events and alerts on nodes are kept. An incident takes those of a day
    before and after it."""
    max_events_per_node: int = Field(500, gt=0)
    """Health events and alerts that are kept of one node; the oldest go first."""
    max_events_per_token: int = Field(100_000, gt=0)
    """Health events and alerts that are kept of one token, give or take some hundred; those that
    came first go first."""

    @field_validator("webhook_allow", "callback_allow", mode="before")
    @classmethod
    def split_list(cls, value: object) -> object:
        """A comma list as a tuple."""
        if isinstance(value, str):
            return tuple(part.strip() for part in value.split(",") if part.strip())
        return value

    @field_validator("act_max_age", mode="before")
    @classmethod
    def read_hours(cls, value: object) -> object:
        """A number with a unit as hours."""
        match = re.fullmatch(
            r"\s*(\d+(?:\.\d*)?)\s*([smhd])\s*", value if isinstance(value, str) else ""
        )
        return value if match is None else float(match[1]) * _UNIT_HOURS[match[2]]

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


def _read_secrets_from_files(
    given: Mapping[str, Any], named: Callable[[str], str]
) -> dict[str, str]:
    """What the files hold that ``given`` names as ``database_url_file`` and so on.

    ``named`` says how a setting is written where it was given. Raises :class:`UsageError`.
    """
    found = {}
    for name in FROM_FILES:
        path = given.get(f"{name}_file")
        if not path:
            continue
        if given.get(name):
            raise UsageError(f"{named(name)} and {named(name + '_file')} are both set: keep one")
        try:
            found[name] = Path(path).read_text("utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"{named(name + '_file')}={path} cannot be read: {error}") from error
        if not found[name]:
            raise UsageError(f"{named(name + '_file')}={path} is empty")
    return found


def _format_variable_name(name: str) -> str:
    return f"TRIAGE_{name.upper()}"


def load_settings(**given: object) -> Settings:
    """The settings of this process; ``given`` stand above environment and file.

    ``TRIAGE_CONFIG`` names a TOML file whose keys are the field names. A secret may be in a
    file of its own (``TRIAGE_DATABASE_URL_FILE``). Raises :class:`UsageError` for a value that
    cannot be.
    """
    given_here = {
        key.removeprefix("TRIAGE_").lower(): value
        for key, value in os.environ.items()
        if key.startswith("TRIAGE_")
    }
    _check_retired(given_here, _format_variable_name)
    file = _read_file(os.environ.get("TRIAGE_CONFIG"))
    secrets = _read_secrets_from_files(given_here, _format_variable_name)
    try:
        settings = Settings(**file).model_copy(update=secrets | _validate_given(given))
    except ValidationError as error:
        first = error.errors()[0]
        name = "TRIAGE_" + "_".join(str(part) for part in first["loc"]).upper()
        raise UsageError(f"{name}: {first['msg']}") from error
    _check_broker(settings.broker_url)
    return settings


def _check_retired(given: Mapping[str, Any], named: Callable[[str], str]) -> None:
    """Raises :class:`UsageError` for a setting that is none any more: what it did is not done."""
    for name in _RETIRED.keys() & given.keys():
        raise UsageError(f"{named(name)} is no setting any more: {_RETIRED[name]}")


def _check_broker(url: str) -> None:
    """Refuse a broker of a kind that cannot be talked to, wherever its address came from."""
    if url.partition(":")[0].lower() not in _BROKERS:
        known = ", ".join(f"{one}://" for one in _BROKERS)
        raise UsageError(
            "TRIAGE_BROKER_URL: a broker of this kind is not known; it begins with one of " + known
        )


def _validate_given(given: dict[str, object]) -> dict[str, Any]:
    """``given`` as the fields' types, without what is None."""
    wanted = {key: value for key, value in given.items() if value is not None}
    whole = Settings.model_validate(wanted)
    return {key: getattr(whole, key) for key in wanted}


def _read_file(name: str | None) -> dict[str, Any]:
    if not name:
        return {}
    try:
        values = tomllib.loads(Path(name).read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise UsageError(f"TRIAGE_CONFIG={name} cannot be read: {error}") from error
    _check_retired(values, "TRIAGE_CONFIG: {}".format)
    files = {f"{secret}_file" for secret in FROM_FILES}
    unknown = sorted(set(values) - set(Settings.model_fields) - files)
    if unknown:
        raise UsageError(f"TRIAGE_CONFIG={name}: unknown setting {unknown[0]!r}")
    secrets = _read_secrets_from_files(values, "TRIAGE_CONFIG: {}".format)
    return {key: value for key, value in values.items() if key not in files} | secrets
