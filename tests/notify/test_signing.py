"""Signing, verified by the `standardwebhooks` package."""

import base64
from datetime import UTC, datetime, timedelta

import pytest
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from triage.errors import Unprocessable
from triage.notify.signing import check_secret, make_signing_secret, sign

BODY = '{"type":"incident.ready","data":{"job_id":"Jörg"}}'.encode()
ID = "msg_2KWPBgLlAfxdpx2AI54pPJ85f4W"


def now():
    return datetime.now(UTC)


def test_the_library_verifies_what_is_signed():
    secret = make_signing_secret()
    headers = sign([secret], ID, now(), BODY)
    assert Webhook(secret).verify(BODY, headers)["data"] == {"job_id": "Jörg"}


def test_the_published_example_has_the_published_signature():
    # standard-webhooks, libraries: the case that every implementation is tested with.
    headers = sign(
        ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"],
        "msg_p5jXN8AQM9LWM0D4loKWxJek",
        datetime.fromtimestamp(1614265330, UTC),
        b'{"test": 2432232314}',
    )
    assert headers["webhook-signature"] == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


@pytest.mark.parametrize("which", [0, 1])
def test_while_secrets_change_either_one_verifies(which):
    secrets = [make_signing_secret(), make_signing_secret()]
    headers = sign(secrets, ID, now(), BODY)
    assert headers["webhook-signature"].count("v1,") == 2
    Webhook(secrets[which]).verify(BODY, headers)


def changed(headers, **changes):
    return {**headers, **{f"webhook-{name}": value for name, value in changes.items()}}


@pytest.mark.parametrize(
    "spoil",
    [
        lambda headers, body: (headers, body.replace(b"ready", b"reads")),
        lambda headers, body: (headers, body + b" "),
        lambda headers, body: (changed(headers, id="msg_other"), body),
        lambda headers, body: (
            changed(headers, timestamp=str(int(headers["webhook-timestamp"]) - 1)),
            body,
        ),
        lambda headers, body: (changed(headers, signature="v1,AAAA"), body),
        lambda headers, body: (sign([make_signing_secret()], ID, now(), body), body),
    ],
    ids=["a byte", "a byte more", "another id", "another time", "no signature", "another secret"],
)
def test_what_was_changed_fails(spoil):
    secret = make_signing_secret()
    headers, body = spoil(sign([secret], ID, now(), BODY), BODY)
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(body, headers)


@pytest.mark.parametrize("off", [timedelta(minutes=-6), timedelta(minutes=6)], ids=str)
def test_a_replay_is_too_old(off):
    secret = make_signing_secret()
    with pytest.raises(WebhookVerificationError, match="too"):
        Webhook(secret).verify(BODY, sign([secret], ID, now() + off, BODY))


def test_new_secrets_are_long_and_never_alike():
    made = {make_signing_secret() for _ in range(100)}
    assert len(made) == 100
    assert all(len(base64.b64decode(check_secret(one)[6:])) >= 24 for one in made)


@pytest.mark.parametrize("num_bytes", [24, 32, 64])
def test_secrets_of_other_makers_are_taken(num_bytes):
    secret = "whsec_" + base64.b64encode(bytes(range(num_bytes))).decode()
    assert check_secret(secret) == secret
    Webhook(secret).verify(BODY, sign([secret], ID, now(), BODY))


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        "hunter2",
        "whsec_" + base64.b64encode(b"x" * 23).decode(),
        "whsec_" + base64.b64encode(b"x" * 65).decode(),
        base64.b64encode(b"x" * 32).decode(),
        "whsec_" + "!" * 44,
        "whsec_" + base64.b64encode(b"x" * 32).decode() + "\n",
        "whsec_" + "ä" * 44,
        "WHSEC_" + base64.b64encode(b"x" * 32).decode(),
    ],
)
def test_what_is_no_secret_is_refused_and_not_repeated(secret):
    with pytest.raises(Unprocessable) as refused:
        check_secret(secret)
    assert refused.value.places[0].where == "body/secret"
    said = f"{refused.value.detail} {refused.value.hint} {refused.value.places}"
    assert len(secret) < 7 or secret[1:] not in said
    assert refused.value.__cause__ is None


def test_signing_without_a_secret_is_refused():
    with pytest.raises(Unprocessable):
        sign([], ID, now(), BODY)
