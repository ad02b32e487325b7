"""A secret setting may stand in a file of its own."""

import os
from pathlib import Path

import pytest

from triage.errors import UsageError
from triage.settings import FROM_FILES, load_settings

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def _clean(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith("TRIAGE_"):
            monkeypatch.delenv(name)


@pytest.mark.parametrize("name", FROM_FILES)
def test_every_secret_may_come_from_a_file(name: str, tmp_path: Path, monkeypatch) -> None:
    # A broker's address is looked at when it is read.
    value = f"redis://the-{name}" if name == "broker_url" else f"the-{name}"
    (tmp_path / "secret").write_text(f"  {value}\n\n")
    monkeypatch.setenv(f"TRIAGE_{name.upper()}_FILE", str(tmp_path / "secret"))
    monkeypatch.setenv(f"TRIAGE_{name.upper()}", "")

    assert getattr(load_settings(), name) == value


def test_every_setting_that_sounds_like_a_secret_may() -> None:
    from triage.settings import Settings

    secret = {n for n in Settings.model_fields if "secret" in n or "password" in n or "key" in n}
    assert secret <= set(FROM_FILES)


def test_a_file_stands_above_the_settings_file(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "secret").write_text("from-a-file")
    (tmp_path / "triage.toml").write_text('callback_secret = "from-toml"\nquiet_s = 7\n')
    monkeypatch.setenv("TRIAGE_CONFIG", str(tmp_path / "triage.toml"))
    monkeypatch.setenv("TRIAGE_CALLBACK_SECRET_FILE", str(tmp_path / "secret"))
    found = load_settings()
    assert (found.callback_secret, found.quiet_s) == ("from-a-file", 7)

    (tmp_path / "triage.toml").write_text(f'callback_secret_file = "{tmp_path}/secret"\n')
    monkeypatch.delenv("TRIAGE_CALLBACK_SECRET_FILE")
    assert load_settings().callback_secret == "from-a-file"


@pytest.mark.parametrize(
    ("content", "also", "says"),
    [
        (None, "", "TRIAGE_BROKER_URL_FILE=.* cannot be read"),
        ("\n", "", "TRIAGE_BROKER_URL_FILE=.* is empty"),
        ("x", "redis://y", "TRIAGE_BROKER_URL and TRIAGE_BROKER_URL_FILE are both set"),
    ],
)
def test_what_cannot_be_is_said(content, also, says, tmp_path: Path, monkeypatch) -> None:
    if content is not None:
        (tmp_path / "secret").write_text(content)
    monkeypatch.setenv("TRIAGE_BROKER_URL_FILE", str(tmp_path / "secret"))
    monkeypatch.setenv("TRIAGE_BROKER_URL", also)
    with pytest.raises(UsageError, match=says):
        load_settings()


def test_a_file_for_what_is_no_secret_is_unknown(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "triage.toml").write_text('quiet_s_file = "x"\n')
    monkeypatch.setenv("TRIAGE_CONFIG", str(tmp_path / "triage.toml"))
    with pytest.raises(UsageError, match="quiet_s_file"):
        load_settings()
