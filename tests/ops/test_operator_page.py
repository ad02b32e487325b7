"""The operator's pages say what the code has: every setting with its default, every command."""

import ast
import inspect
import re
from pathlib import Path

import pytest
from typer.main import get_command

from triage import settings
from triage.cli.main import app
from triage.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
PAGES = ("operator.md", "upgrades.md")
PAGE = "\n".join((ROOT / "docs" / name).read_text("utf-8") for name in PAGES)
ROW = re.compile(r"^\| `(TRIAGE_[A-Z0-9_]+)` \| (.+?) \| (.+) \|$", re.M)
# What the environment alone says, and the settings of others.
NOT_FIELDS = {"TRIAGE_BROKER", "TRIAGE_CONFIG"}


def shown(value: object) -> str:
    """A default as the page prints it."""
    if isinstance(value, Path):
        value = str(value)
    if isinstance(value, tuple) and value:
        value = ",".join(value)
    return "empty" if value in ("", ()) else f"`{value}`"


def test_every_setting_stands_in_the_table_with_its_default() -> None:
    said = {name: default for name, default, _ in ROW.findall(PAGE)}
    known = {
        f"TRIAGE_{name.upper()}": shown(field.default)
        for name, field in Settings.model_fields.items()
    }

    assert said == known


def sentences() -> dict[str, str]:
    """What ``settings.py`` says below each field."""
    (cls,) = [
        node
        for node in ast.parse(inspect.getsource(settings)).body
        if isinstance(node, ast.ClassDef)
    ]
    return {
        f"TRIAGE_{field.target.id.upper()}": " ".join(said.value.value.split())
        for field, said in zip(cls.body, cls.body[1:], strict=False)
        if isinstance(field, ast.AnnAssign)
        and isinstance(field.target, ast.Name)
        and isinstance(said, ast.Expr)
        and isinstance(said.value, ast.Constant)
        and isinstance(said.value.value, str)
    }


def test_a_setting_is_explained_alike_in_the_table_and_in_the_code() -> None:
    linked = {name: text for name, _, text in ROW.findall(PAGE)}
    shown = {name: re.sub(r"\[(.*?)\]\(.*?\)", r"\1", text) for name, text in linked.items()}

    assert shown == {name: text.replace("``", "`") for name, text in sentences().items()}


def test_no_setting_is_named_that_does_not_exist() -> None:
    known = {f"TRIAGE_{name.upper()}" for name in Settings.model_fields} | NOT_FIELDS
    known |= {f"TRIAGE_{name.upper()}_FILE" for name in settings.FROM_FILES}

    assert set(re.findall(r"\bTRIAGE_[A-Z0-9_]+", PAGE)) <= known


def test_every_command_and_option_named_exists() -> None:
    commands = get_command(app).commands  # type: ignore[attr-defined]
    blocks = "\n".join(re.findall(r"^```.*?\n(.*?)^```$", PAGE, re.M | re.S))
    spans = re.findall(r"`(triage [^`\n]+)`", PAGE)
    lines = [line.partition("#")[0] for line in [*blocks.splitlines(), *spans]]
    found = [
        match for line in lines for match in re.findall(r"\btriage ([a-z]+)((?: [^ |>&;]+)*)", line)
    ]
    named = [(name, rest) for name, rest in found if name in commands]

    assert {"serve", "worker", "scheduler", "migrate", "token", "prune", "doctor"} <= {
        name for name, _ in named
    }
    for name, rest in named:
        command = commands[name]
        words = rest.split()
        if hasattr(command, "commands") and words:
            command = command.commands[words[0]]
        options = {option for one in command.params for option in one.opts}
        assert {word for word in words if word.startswith("--")} <= options, (name, rest)


@pytest.mark.parametrize("name", ["triage_oldest_due_s", "triage_work", "triage_incidents",
                                  "triage_failing_subscriptions", "triage_database_up",
                                  "triage_refusals_total"])  # fmt: skip
def test_what_to_alert_on_is_in_the_metrics(name: str) -> None:
    from triage.api.metrics import Metrics

    metrics = Metrics(
        lambda: {
            "incidents": {"failed": 1}, "work": {("parse", "quarantined"): 1},
            "failing_subscriptions": 1, "oldest_due_s": 61.0,
        }
    )  # fmt: skip
    metrics.answered("/v1/incidents", "GET", 503, 0.1)

    assert name in PAGE
    assert re.search(rf"^{name}(\{{| )", metrics.text().decode(), re.M)
