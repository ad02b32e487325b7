"""A broker that nobody can talk to is said before anything starts."""

import pytest

from triage.errors import UsageError
from triage.settings import load_settings


@pytest.mark.parametrize("address", ["foo://x", "http://redis:6379", "redis", "", "kafka://h/1"])
def test_a_kind_that_is_not_known_is_named(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("TRIAGE_BROKER_URL", address)
    if address == "redis":
        monkeypatch.setenv("TRIAGE_BROKER_URL", "redi:6379")
    with pytest.raises(UsageError, match=r"TRIAGE_BROKER_URL.*begins with one of memory://"):
        load_settings()


@pytest.mark.parametrize(
    "address", ["memory://", "redis://h:6379/0", "rediss://u:p@h/1", "amqp://u:p@h//", "REDIS://h"]
)
def test_the_usual_ones_are_taken(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setenv("TRIAGE_BROKER_URL", address)
    assert load_settings().broker_url == address
