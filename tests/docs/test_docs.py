"""The pages are held to the code: words are explained, commands parse, links lead somewhere."""

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest
from typer.main import get_command

from triage.analysis.registry import DETECTORS
from triage.cli.main import app, main
from triage.domain.category import Action, Category, Role, VerdictKind
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS, Limits
from triage.simulator import NAMES

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "benchmarks" / "README.md", *DOCS.rglob("*.md")])
TEXT = {path: path.read_text("utf-8") for path in PAGES}
FENCE = re.compile(r"^```[a-z]*\n(.*?)^```$", re.M | re.S)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# "triage analyze DIR" or "python3 run.py triage analyze DIR", up to a pipe or a comment
COMMAND = re.compile(
    r"^(?:python3 run\.py )?triage ((?:analyze|parse|simulate) [^|#]+|--version|--help)"
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def page(name: str) -> str:
    return TEXT[DOCS / name]


def commands() -> list[tuple[str, str]]:
    found = []
    for path, text in TEXT.items():
        lines = [line for block in FENCE.findall(text) for line in block.splitlines()]
        for line in (*lines, *INLINE.findall(FENCE.sub("", text))):
            match = COMMAND.match(line.strip())
            if match:
                found.append((str(path.relative_to(ROOT)), match[1].strip()))
    return found


def links() -> list[tuple[Path, str]]:
    bare = {path: FENCE.sub("", text) for path, text in TEXT.items()}
    return [(path, link) for path, text in bare.items() for link in LINK.findall(text)]


def anchors(text: str) -> set[str]:
    """The names that a heading can be linked by."""
    heads = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def told(words: list[str], text: str) -> list[str]:
    """Those of ``words`` that no code span of ``text`` is."""
    return [word for word in words if f"`{word}`" not in text]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ([detector.name for detector in DETECTORS], "how-it-decides.md"),
        (list(NAMES), "simulator.md"),
        ([field.name for field in fields(Limits)], "formats.md"),
        ([str(word) for word in (*Category, *Action, *Role, *VerdictKind)], "on-call.md"),
    ],
    ids=["detectors", "simulator kinds", "limits", "categories, actions, roles, kinds"],
)
def test_a_page_names_every(words: list[str], name: str) -> None:
    assert told(words, page(name)) == []


def test_detectors_stand_in_the_order_they_are_heard() -> None:
    rows = re.findall(r"^\| `(fr\.\w+)` \|", page("how-it-decides.md"), re.M)

    assert rows == [detector.name for detector in DETECTORS]


@pytest.mark.parametrize("field", [field.name for field in fields(Limits)])
def test_a_limit_is_what_the_page_says(field: str) -> None:
    value = getattr(DEFAULT_LIMITS, field)
    shown = f"{value >> 20} MiB" if field.endswith("_bytes") else f"{value:,}"

    assert f"| `{field}` | {shown} |" in page("formats.md")


@pytest.mark.parametrize("command", ["analyze", "simulate"])
def test_every_option_is_named(command: str) -> None:
    group = get_command(app)
    options = [
        option
        for parameter in group.commands[command].params  # type: ignore[attr-defined]
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option.startswith("--") and option != "--help"
    ]
    everywhere = "\n".join(TEXT.values())

    assert [one for one in options if not re.search(rf"{one}\b", everywhere)] == []


@pytest.mark.parametrize(("name", "command"), commands(), ids=lambda value: value[:60])
def test_a_command_in_a_page_parses(name: str, command: str) -> None:
    words = shlex.split(command)
    group = get_command(app)
    if words[0].startswith("--"):
        assert main(words) == 0
        return

    parser = group.commands[words[0]]  # type: ignore[attr-defined]
    with parser.make_context("triage", words[1:]) as context:
        assert context.params, name


def test_pages_show_commands_at_all() -> None:
    assert {command.split()[0] for _, command in commands()} >= {"analyze", "parse", "simulate"}


def test_the_answer_in_the_page_is_what_the_command_says(
    capsysbinary: pytest.CaptureFixture[bytes],
) -> None:
    status = main(["analyze", str(ROOT / "examples" / "stuck-job")])
    said = " ".join(capsysbinary.readouterr().out.decode().split())
    shown = next(block for block in FENCE.findall(page("on-call.md")) if "stopped issuing" in block)

    assert status == 0
    for part in shown.split("\n\n"):
        assert " ".join(part.split()) in said


@pytest.mark.parametrize(
    ("path", "link"), links(), ids=lambda value: str(getattr(value, "name", value))[:60]
)
def test_a_link_leads_somewhere(path: Path, link: str) -> None:
    if "://" in link:
        return
    target, _, anchor = link.partition("#")
    found = (path.parent / target).resolve() if target else path

    assert found.exists(), f"{path.name}: {link}"
    if anchor:
        assert anchor in anchors(found.read_text("utf-8"))
