"""The pages are held to the code: words are explained, commands parse, links lead somewhere."""

import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest
from typer.main import get_command

from triage.analysis.registry import DETECTORS
from triage.analysis.stop import When
from triage.analysis.weigh import FEATURES
from triage.cli.main import app, main
from triage.domain.category import Action, Category, Role, VerdictKind
from triage.domain.evidence import Blame, EvidenceRole, Kind
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS, Limits
from triage.signatures import registry
from triage.simulator import NAMES
from triage.simulator.incidents.scenarios import SCENARIOS

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", ROOT / "benchmarks" / "README.md", *DOCS.rglob("*.md")])
TEXT = {path: path.read_text("utf-8") for path in PAGES}
FENCE = re.compile(r"^```[a-z]*\n(.*?)^```$", re.M | re.S)
INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# "triage analyze DIR" or "python3 run.py triage analyze DIR", up to a pipe or a comment
COMMAND = re.compile(
    r"^(?:python3 run\.py )?triage ((?:analyze|explain|parse|simulate) [^|#]+|--version|--help)"
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
# The modules whose tuple of signatures the registry lists.
FAMILY_FILES = sorted(
    name
    for name, module in vars(registry).items()
    if any(getattr(module, "SIGNATURES", None) is family for family in registry.FAMILIES)
)


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
        (list(SCENARIOS), "simulator.md"),
        (list(FEATURES), "how-it-decides.md"),
        ([str(word) for word in (*EvidenceRole, *Blame, *When)], "how-it-decides.md"),
        ([str(kind) for kind in Kind], "signatures.md"),
        (sorted({one.id.partition(".")[0] for one in registry.all_signatures()}), "signatures.md"),
        ([f"{name}.py" for name in FAMILY_FILES], "signatures.md"),
        ([field.name for field in fields(Limits)], "formats.md"),
        ([str(word) for word in (*Category, *Action, *Role, *VerdictKind)], "on-call.md"),
    ],
    ids=[
        "detectors",
        "simulator kinds",
        "simulator scenarios",
        "features",
        "roles of lines, blames, times",
        "kinds of lines",
        "prefixes of signatures",
        "files of families",
        "limits",
        "categories, actions, roles, kinds",
    ],
)
def test_a_page_names_every(words: list[str], name: str) -> None:
    assert told(words, page(name)) == []


def test_every_family_has_its_file() -> None:
    assert len(FAMILY_FILES) == len(registry.FAMILIES)


def test_a_scenario_has_its_category_on_the_page() -> None:
    rows = dict(re.findall(r"^\| `([\w-]+)` \| .* \| `(\w+)` \|$", page("simulator.md"), re.M))

    assert {name: rows[name] for name in SCENARIOS} == {
        name: one.category for name, one in SCENARIOS.items()
    }


def test_no_feature_is_told_that_there_is_not() -> None:
    chapter = page("how-it-decides.md").partition("## Features and weights")[2]
    rows = re.findall(r"^\| (`[^|]*) \|", chapter.partition("\n## ")[0], re.M)

    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(FEATURES)


def test_detectors_stand_in_the_order_they_are_heard() -> None:
    rows = re.findall(r"^\| `(fr\.\w+)` \|", page("how-it-decides.md"), re.M)

    assert rows == [detector.name for detector in DETECTORS]


@pytest.mark.parametrize("field", [field.name for field in fields(Limits)])
def test_a_limit_is_what_the_page_says(field: str) -> None:
    value = getattr(DEFAULT_LIMITS, field)
    shown = f"{value >> 20} MiB" if field.endswith("_bytes") else f"{value:,}"

    assert f"| `{field}` | {shown} |" in page("formats.md")


@pytest.mark.parametrize("command", ["analyze", "explain", "simulate"])
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


def test_the_incident_of_the_readme_is_what_the_commands_say(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    blocks = FENCE.findall(TEXT[ROOT / "README.md"])
    line = next(one for block in blocks for one in block.splitlines() if " triage simulate " in one)
    words = shlex.split(line.partition(" triage ")[2])
    drill = words[words.index("simulate") + 2]
    words[words.index(drill)] = str(tmp_path / drill)
    assert main(words) == 0
    capsysbinary.readouterr()

    assert main(["analyze", str(tmp_path / drill)]) == 0

    said = plain(capsysbinary.readouterr().out.decode())
    shown = next(block for block in blocks if "adapter failed" in block)
    for part in re.split(r"\n *\.\.\.\n|\n\n", shown):
        assert plain(part) in said


def plain(text: str) -> str:
    """``text`` on one line, and without beliefs, which move when weights are fitted again."""
    return re.sub(r"\b[01]\.\d\d\b", "0.9", " ".join(text.split()))


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
