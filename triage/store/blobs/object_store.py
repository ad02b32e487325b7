"""Blobs in an object store that speaks S3: spooled on disk, put as a whole at commit.

The store keeps an object only when all of it has come, so a put that fails, or a process
that dies meanwhile, leaves nothing to be seen.
"""

import io
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from triage.errors import NotFound, Unavailable, UsageError
from triage.store.blobs.files import (
    BLOB_STORE,
    FOLDER_MODE,
    BlobWriter,
    Section,
    check_key,
    sweep_folder,
    translate_storage_errors,
)

# What obstore calls it, and the names under which the environment may give it.
_OPTIONS: Final = {
    "endpoint": ("TRIAGE_S3_ENDPOINT", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"),
    "region": ("TRIAGE_S3_REGION", "AWS_REGION", "AWS_DEFAULT_REGION"),
    "access_key_id": ("TRIAGE_S3_ACCESS_KEY_ID", "AWS_ACCESS_KEY_ID"),
    "secret_access_key": ("TRIAGE_S3_SECRET_ACCESS_KEY", "AWS_SECRET_ACCESS_KEY"),
    "session_token": ("TRIAGE_S3_SESSION_TOKEN", "AWS_SESSION_TOKEN"),
}
_DEFAULT_REGION: Final = "us-east-1"
_CONNECT_S: Final = 5
_ANSWER_S: Final = 60
_RETRY_S: Final = 20
RETRIES: Final = 3
# A pack of one node fits into one; above it the object goes in parts.
_PART_BYTES: Final = 8 << 20


@contextmanager
def _store_errors() -> Iterator[None]:
    """What obstore raises, as an answer to the request."""
    from obstore.exceptions import BaseError

    try:
        yield
    except FileNotFoundError as error:
        raise NotFound("no such blob in the object store") from error
    except (BaseError, OSError) as error:
        # Its first line names the cause; the rest is a tree of internals.
        cause = str(error).strip().partition("\n")[0][:300]
        raise Unavailable(
            f"the object store does not answer as it should: {cause}",
            hint="look at TRIAGE_BLOB_URL, its endpoint and its keys",
            part=BLOB_STORE,
        ) from error


class ObjectBlobs:
    """The objects of one bucket below a prefix, by way of a spool folder."""

    def __init__(
        self,
        url: str,
        spool: Path,
        *,
        environ: Mapping[str, str],
        min_free_bytes: int | None = None,
    ) -> None:
        try:
            from obstore.store import S3Store
        except ImportError as error:
            raise UsageError("TRIAGE_BLOB_URL=s3://... needs obstore: install [s3]") from error
        parts = urlsplit(url)
        if not parts.netloc:
            raise UsageError(f"TRIAGE_BLOB_URL={url[:200]!r} names no bucket")
        config: dict[str, Any] = {"region": _DEFAULT_REGION}
        for option, names in _OPTIONS.items():
            given = next((environ[name] for name in names if environ.get(name)), None)
            if given is not None:
                config[option] = given
        plain_http = str(config.get("endpoint", "")).startswith("http://")
        self.store = S3Store(
            parts.netloc,
            prefix=parts.path.strip("/") or None,
            config=config,  # type: ignore[arg-type]  # a dict of their keys
            client_options={
                "allow_http": plain_http,
                "connect_timeout": timedelta(seconds=_CONNECT_S),
                "timeout": timedelta(seconds=_ANSWER_S),
            },
            retry_config={
                "max_retries": RETRIES,
                "retry_timeout": timedelta(seconds=_RETRY_S),
            },
        )
        self.spool = spool
        self.min_free_bytes = min_free_bytes
        with translate_storage_errors():
            spool.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)

    def begin(self, key: str) -> BlobWriter:
        """A new blob, spooled on disk first. Raises :class:`StorageFull`."""
        place = self.place(key)
        path = self.spool / f"{key}.{secrets.token_hex(8)}"
        return BlobWriter(path, self.min_free_bytes, lambda _: self.put(place, path))

    def place(self, key: str) -> str:
        """The object's name below the prefix."""
        return f"packs/{check_key(key)}"

    def put(self, place: str, path: Path) -> None:
        """All of a file as one object."""
        with _store_errors():
            self.store.put(place, path, chunk_size=_PART_BYTES)

    def read(self, key: str, offset: int, size: int) -> bytes:
        """``size`` bytes; fewer where the blob ends. Raises :class:`NotFound`."""
        with self.open(key, offset, size) as part:
            return part.read()

    def open(self, key: str, offset: int, size: int) -> io.BufferedReader:
        """The same as a file that is read piece by piece."""
        place = self.place(key)
        with _store_errors():
            # A range that begins behind the end is an error to S3, and nothing to a file.
            end = min(offset + size, self.store.head(place)["size"])

        def part(start: int, length: int) -> bytes:
            with _store_errors():
                found = self.store.get_range(place, start=start, length=length)
            return bytes(found)

        return io.BufferedReader(Section(part, offset, max(end - offset, 0)))

    def delete(self, key: str) -> None:
        """Removes a blob; one that is not there is removed already."""
        with suppress(NotFound), _store_errors():
            self.store.delete(self.place(key))

    def keys(self) -> Iterator[str]:
        """All blobs that are there, in no order."""
        with _store_errors():
            for page in self.store.list(prefix="packs"):
                for one in page:
                    yield str(one["path"]).rpartition("/")[2]

    def check(self) -> None:
        """Puts a probe and removes it."""
        probe = f"probe/{secrets.token_hex(8)}"
        with _store_errors():
            self.store.put(probe, b"probe")
            self.store.delete(probe)

    def sweep(self, older_than_s: float = 86_400.0) -> int:
        """Removes spooled uploads that ended before their commit."""
        return sweep_folder(self.spool, older_than_s)
