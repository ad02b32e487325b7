"""Sealed values: what a receiver is addressed and signed with, unreadable in a copy of the rows.

A sealed value is the mark and a Fernet token (AES-128-CBC and HMAC-SHA256). The first key
seals, all of them open, so that a key can be changed while the old one is still known.
Values without the mark are those of a service without a key, and are read as they are.
"""

import base64
import binascii
import os
import secrets
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sqlalchemy.orm import Session

from triage.errors import UsageError
from triage.settings import Settings
from triage.store.private_files import make_file_private

if TYPE_CHECKING:
    from cryptography.fernet import MultiFernet

MARK: Final = "sealed:1:"
_BYTES_MARK: Final = MARK.encode()
KEY_FILE: Final = "secret.key"
_KEY_BYTES: Final = 32
# Under this name a session holds the sealer of its database.
SEALER: Final = "sealer"


class Sealer:
    """Seals and opens by these keys, each of 32 bytes; without any it leaves all as it is."""

    def __init__(self, keys: tuple[bytes, ...] = ()) -> None:
        self.keys = keys

    @cached_property
    def first(self) -> "MultiFernet":
        """The key that seals."""
        return _make_fernet(self.keys[:1])

    @cached_property
    def all(self) -> "MultiFernet":
        """The keys that open."""
        return _make_fernet(self.keys)

    def seal(self, value: str) -> str:
        """``value`` sealed by the first key."""
        return self.seal_bytes(value.encode()).decode()

    def seal_bytes(self, value: bytes) -> bytes:
        """The same for bytes."""
        if not self.keys or value.startswith(_BYTES_MARK):
            return value
        return _BYTES_MARK + self.first.encrypt(value)

    def open(self, stored: str) -> str | None:
        """The value; None where no key of ours has sealed it."""
        value = self.open_bytes(stored.encode())
        return None if value is None else value.decode()

    def open_bytes(self, stored: bytes) -> bytes | None:
        """The same for bytes."""
        if not stored.startswith(_BYTES_MARK):
            return stored
        return _decrypt(self.all, stored) if self.keys else None

    def renew(self, stored: str) -> str:
        """The value under the first key; as it is where nothing changes, or nothing opens it."""
        return self.renew_bytes(stored.encode()).decode()

    def renew_bytes(self, stored: bytes) -> bytes:
        """The same for bytes."""
        if not self.keys or not stored.startswith(_BYTES_MARK):
            return self.seal_bytes(stored)
        if _decrypt(self.first, stored) is not None:
            return stored
        opened = self.open_bytes(stored)
        return stored if opened is None else self.seal_bytes(opened)


def _make_fernet(keys: tuple[bytes, ...]) -> "MultiFernet":
    # Imported where something is sealed or opened: no start needs it.
    from cryptography.fernet import Fernet, MultiFernet

    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in keys])


def _decrypt(by: "MultiFernet", stored: bytes) -> bytes | None:
    from cryptography.fernet import InvalidToken

    try:
        return by.decrypt(stored.removeprefix(_BYTES_MARK))
    except InvalidToken:
        return None


def get_sealer(session: Session) -> Sealer:
    """The sealer of the session's database."""
    found = session.info.get(SEALER)
    return found if isinstance(found, Sealer) else Sealer()


def make_sealer(settings: Settings) -> Sealer:
    """By the keys of ``TRIAGE_SECRET_KEY``, else of ``secret.key`` beside an embedded database.

    That file is made where it is missing. Raises :class:`UsageError` for what is no key.
    """
    if settings.secret_key:
        return Sealer(parse_keys(settings.secret_key, "TRIAGE_SECRET_KEY"))
    if not settings.embedded_database:
        return Sealer()
    path = settings.data_dir / KEY_FILE
    make_file_private(path)
    if not path.exists():
        _make_key(path)
    return Sealer(parse_keys(path.read_text("ascii", "replace"), str(path)))


def parse_keys(text: str, where: str) -> tuple[bytes, ...]:
    """Keys in base64, commas or line ends between them."""
    keys = []
    for word in text.replace(",", " ").split():
        try:
            key = base64.b64decode(word.replace("-", "+").replace("_", "/"), validate=True)
        except (binascii.Error, ValueError):
            key = b""
        if len(key) != _KEY_BYTES:
            # The word is not repeated: it may be a key with a letter too few.
            raise UsageError(
                f"{where} holds a key that is not base64 of {_KEY_BYTES} bytes:"
                f" `head -c {_KEY_BYTES} /dev/urandom | base64` makes one"
            )
        keys.append(key)
    if not keys:
        raise UsageError(f"{where} holds no key: restore it, or move it away")
    return tuple(keys)


def _make_key(path: Path) -> None:
    """A key of our own; of two processes that make one at once, the first one's stays."""
    draft = path.with_name(f"{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(base64.b64encode(secrets.token_bytes(_KEY_BYTES)) + b"\n")
            file.flush()
            os.fsync(file.fileno())
        with suppress(FileExistsError):
            os.link(draft, path)
    finally:
        draft.unlink()
