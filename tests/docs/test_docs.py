"""The pages are held to the code: words are explained, commands parse, links lead somewhere."""

import json
import re
import shlex
from dataclasses import fields
from pathlib import Path

import pytest
from typer.main import get_command

from simulator import NAMES
from simulator.incidents.scenarios import SCENARIOS
from tests.docs.pages import FENCE, PAGES, ROOT, TEXT, page
from triage.analysis.facts.stop import When
from triage.analysis.joining.bounds import BOUNDS
from triage.analysis.joining.features import NAMES as FEATURES
from triage.analysis.registry import DETECTORS
from triage.cli.main import app, main
from triage.domain.category import Action, Category, Role, VerdictKind
from triage.domain.evidence import Blame, EvidenceRole, Kind
from triage.parsers.flight_recorder.limits import DEFAULT_LIMITS, Limits
from triage.signatures import registry

INLINE = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
# "triage analyze DIR" or "python3 run.py triage analyze DIR", up to a pipe or a comment
COMMAND = re.compile(
    r"^(?:python3 run\.py )?triage"
    r" ((?:analyze|explain|parse|simulate|show|watch|node|completion) [^|#>]+"
    r"|incidents\b[^|#>]*|--version|--help)"
)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|(?:src|href)=\"([^\"]+)\"")
# The files of signatures; those of Xid and SXid are the catalogues of their codes, others hold
# words that readers know.
FAMILY_FILES = sorted(one.name for one in (ROOT / "triage/signatures").rglob("*.toml"))


def commands() -> list[tuple[str, str]]:
    found = []
    for path, text in TEXT.items():
        lines = [line for block in FENCE.findall(text) for line in block.splitlines()]
        for line in (*lines, *INLINE.findall(FENCE.sub("", text))):
            match = COMMAND.match(line.strip())
            if match:
                found.append((str(path.relative_to(ROOT)), match[1].strip()))
    return found


def links(text: str) -> list[str]:
    """The links of a page to places of this project."""
    found = [link for pair in LINK.findall(FENCE.sub("", text)) for link in pair]
    return [link for link in found if link and "://" not in link]


def anchors(text: str) -> set[str]:
    """The names that a heading can be linked by."""
    heads = re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.M)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def unnamed(words: list[str], text: str) -> list[str]:
    """Those of ``words`` that no code span of ``text`` is."""
    return [word for word in words if f"`{word}`" not in text]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ([detector.name for detector in DETECTORS], "how-it-decides.md"),
        (list(NAMES), "development.md"),
        (list(SCENARIOS), "development.md"),
        (list(FEATURES), "how-it-decides.md"),
        ([str(word) for word in (*EvidenceRole, *Blame, *When)], "how-it-decides.md"),
        ([str(kind) for kind in Kind], "signatures.md"),
        (
            sorted({one.id.partition(".")[0] for one in registry.load_all_signatures()}),
            "signatures.md",
        ),
        (FAMILY_FILES, "signatures.md"),
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
    assert unnamed(words, page(name)) == []


def test_every_family_has_its_file() -> None:
    no_families = {
        "xid.toml", "sxid.toml", "part_words.toml", "process_names.toml", "monitor_keys.toml",
        "order.toml",
    }  # fmt: skip
    assert no_families < {*FAMILY_FILES}
    assert len({*FAMILY_FILES} - no_families) == len(registry.load_families())


def test_a_scenario_has_its_category_on_the_page() -> None:
    chapter = page("development.md").partition("## The simulator")[2]
    rows = re.findall(r"^\| `(\w+)` \| (`.*`) \|$", chapter, re.M)
    shown = {name: category for category, row in rows for name in re.findall(r"`(.+?)`", row)}

    assert shown == {name: one.category for name, one in SCENARIOS.items()}


def test_no_feature_is_told_that_there_is_not() -> None:
    chapter = page("how-it-decides.md").partition("## Features and weights")[2]
    rows = re.findall(r"^\| (`[^|]*) \|", chapter.partition("\n## ")[0], re.M)

    assert sorted(name for row in rows for name in re.findall(r"`(\w+)`", row)) == sorted(FEATURES)


def test_a_feature_weighs_what_the_page_says() -> None:
    """After weights were fitted again, copy them into the table's last column."""
    chapter = page("how-it-decides.md").partition("## Features and weights")[2]
    rows = re.findall(r"^\| (`[^|]*) \|.*\| ([^|]*) \|$", chapter.partition("\n## ")[0], re.M)
    fitted = json.loads(
        (ROOT / "triage" / "analysis" / "joining" / "weights.json").read_text("utf-8")
    )

    assert len(rows) > 20
    for names, shown in rows:
        weights = [fitted["weights"].get(name, 0.0) for name in re.findall(r"`(\w+)`", names)]
        assert shown == ", ".join(f"{weight:+.1f}" for weight in weights), names


def test_detectors_stand_in_the_order_they_are_heard() -> None:
    rows = re.findall(r"^\| `(fr\.\w+)` \|", page("how-it-decides.md"), re.M)

    assert rows == [detector.name for detector in DETECTORS]


def test_a_bound_is_what_the_page_says() -> None:
    text = page("how-it-decides.md")

    assert [
        bound for bound, limit in BOUNDS.items() if f"| `{bound}` | {limit.most} |" not in text
    ] == []


@pytest.mark.parametrize("field", [field.name for field in fields(Limits)])
def test_a_limit_is_what_the_page_says(field: str) -> None:
    value = getattr(DEFAULT_LIMITS, field)
    shown = f"{value >> 20} MiB" if field.endswith("_bytes") else f"{value:,}"

    assert f"| `{field}` | {shown} |" in page("formats.md")


@pytest.mark.parametrize(
    "command", ["analyze", "explain", "simulate", "incidents", "show", "watch", "node"]
)
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


AnswerSummary = pytest.CaptureFixture[bytes]


@pytest.mark.parametrize("name", ["README.md", "docs/on-call.md"])
def test_the_bundled_incident_is_told_as_the_command_tells_it(
    name: str, capsysbinary: AnswerSummary
) -> None:
    shown = block_with("stopped issuing", TEXT[ROOT / name])

    assert main(["analyze", str(ROOT / "examples" / "stuck-job")]) == 0
    assert not_said(shown, capsysbinary) == []


def test_the_incident_of_the_simulator_is_told_as_the_commands_tell_it(
    tmp_path: Path, capsysbinary: AnswerSummary
) -> None:
    text = page("on-call.md")
    words = next(line for line in text.splitlines() if line.startswith("triage simulate nic-"))
    made = [str(tmp_path / word) if word == "drill" else word for word in shlex.split(words)[1:]]
    assert main(made) == 0
    capsysbinary.readouterr()

    assert main(["analyze", str(tmp_path / "drill")]) == 0
    assert not_said(block_with("adapter failed", text), capsysbinary) == []


def test_the_explanation_is_what_the_command_says(capsysbinary: AnswerSummary) -> None:
    """Weights that were fitted again change it: copy what the command then says."""
    text = page("on-call.md")
    (folder,) = re.findall(r"`triage explain (tests/incidents/\S+)`", text)

    assert main(["explain", str(ROOT / folder)]) == 0
    said = " ".join(capsysbinary.readouterr().out.decode().split())
    shown = parts(block_with("where every place begins", text))
    assert [part for part in shown if part not in said] == []


MANUAL = [path for path in PAGES if path.parent == ROOT / "docs" and path.name != "README.md"]


@pytest.mark.parametrize("path", MANUAL, ids=lambda path: path.name)
def test_a_page_opens_with_its_answer_and_is_read_at_once(path: Path) -> None:
    lines = TEXT[path].splitlines()

    assert len(TEXT[path].split()) <= 4_500
    assert len([line for line in lines[:10] if re.match(r"(\*|\d\.) ", line)]) >= 3


def test_the_manual_is_short() -> None:
    """A page that grows makes another one shorter."""
    manual = list((ROOT / "docs").glob("*.md"))

    assert sum(len(TEXT[path].split()) for path in manual) <= 45_000


def test_the_readme_is_one_screen() -> None:
    readme = TEXT[ROOT / "README.md"]

    assert len(readme.splitlines()) <= 60
    assert len(re.findall(r"!\[|<img ", readme)) == 1


def block_with(words: str, text: str) -> str:
    return next(block for block in FENCE.findall(text) if words in block)


def parts(shown: str) -> list[str]:
    """What stands between gaps ("...") and empty lines, each on one line."""
    return [" ".join(part.split()) for part in re.split(r"\n *\.\.\.\n|\n\n", shown)]


def not_said(shown: str, capsys: AnswerSummary) -> list[str]:
    """Parts of ``shown`` that the command did not print, beliefs aside."""
    said = plain(capsys.readouterr().out.decode())
    return [part for part in map(plain, parts(shown)) if part not in said]


def plain(text: str) -> str:
    """``text`` on one line, and without beliefs, which move when weights are fitted again."""
    return re.sub(r"\b[01]\.\d\d\b", "0.9", " ".join(text.split()))


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_link_leads_somewhere(path: Path) -> None:
    for link in links(TEXT[path]):
        target, _, anchor = link.partition("#")
        found = (path.parent / target).resolve() if target else path

        assert found.exists(), link
        if anchor:
            assert anchor in anchors(found.read_text("utf-8")), link


# `triage/store/work/table.py`, or `store/work.py` for short; NAME stands for a name to be chosen.
A_PATH = re.compile(r"`((?:[a-z_]+/)+(?:[a-z_0-9]+\.[a-z]+)?)`")
ABOVE = ("", "triage", "triage/analysis", "triage/api", "triage/services")
TOPS = {
    child.name
    for folder in ABOVE
    for child in (ROOT / folder).iterdir()
    if child.is_dir() and not child.name.startswith(".")
}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.name)
def test_a_path_that_a_page_names_is_there(path: Path) -> None:
    named = [found for found in A_PATH.findall(TEXT[path]) if found.partition("/")[0] in TOPS]
    lost = [one for one in named if not any((ROOT / above / one).exists() for above in ABOVE)]
    assert lost == []
