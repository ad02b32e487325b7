"""Signing: the three headers of Standard Webhooks 1.0.

``webhook-signature`` holds one ``v1,`` signature for each secret, so that a receiver may
know the old or the new one while secrets are changed. The time is that of the attempt: a
retry has the same id and body, and a fresh signature.

Source: standard-webhooks, `spec/standard-webhooks.md`: HMAC-SHA256 over
``id.timestamp.body``; secrets are ``whsec_`` and base64 of 24 to 64 random bytes.
"""

import base64
import binascii
import hashlib
import hmac
import secrets as randomness
from collections.abc import Sequence
from datetime import datetime

from triage.errors import Place, Unprocessable

_PREFIX = "whsec_"
_NEW_BYTES = 32
_MIN_BYTES = 24
_MAX_BYTES = 64


def sign(secrets: Sequence[str], message_id: str, at: datetime, body: bytes) -> dict[str, str]:
    """The headers for ``body`` sent at ``at`` (aware), one signature for each secret.

    Raises :class:`Unprocessable` for a secret of another form, or when there is none.
    """
    if not secrets:
        raise Unprocessable("there is no secret to sign with", hint="give the subscription one")
    seconds = str(int(at.timestamp()))
    signed = b".".join((message_id.encode(), seconds.encode(), body))
    macs = [hmac.digest(_decode_key(secret), signed, hashlib.sha256) for secret in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": seconds,
        "webhook-signature": " ".join(f"v1,{base64.b64encode(one).decode()}" for one in macs),
    }


def make_signing_secret() -> str:
    """A fresh secret: ``whsec_`` and base64 of 32 random bytes."""
    return _PREFIX + base64.b64encode(randomness.token_bytes(_NEW_BYTES)).decode()


def check_secret(secret: str) -> str:
    """``secret``, if it may be one.

    Raises :class:`Unprocessable` otherwise; the message does not repeat the secret.
    """
    _decode_key(secret)
    return secret


def _decode_key(secret: str) -> bytes:
    text = secret.removeprefix(_PREFIX)
    try:
        key = base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(_PREFIX) or not _MIN_BYTES <= len(key) <= _MAX_BYTES:
        # Not chained: the cause would carry the secret into a log.
        raise Unprocessable(
            "the secret is not one of Standard Webhooks",
            hint=f"give {_PREFIX} and base64 of {_MIN_BYTES} to {_MAX_BYTES} random bytes,"
            " or none: one is made then",
            places=(Place("body/secret", "not a secret of this form"),),
        ) from None
    return key
