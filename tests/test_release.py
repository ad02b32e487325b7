"""`run.py release`: what it asks for, and what it makes of a small history of this tree."""

import hashlib
import json
import re
import shutil
import subprocess
import tarfile
import zipfile
from functools import cache
from pathlib import Path

import pytest

from tests.support.servers import missing
from tools import commands
from tools import release as releasing
from tools.environment import ROOT, NextStep
from tools.release import checked_version, release
from triage.version import __version__ as version


def git(folder: Path, *words: str) -> str:
    who = ["-c", "user.name=test", "-c", "user.email=test@example.com", "-c", "tag.gpgSign=false"]
    command = ["git", *who, "-c", "commit.gpgSign=false", *words]
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What is tracked here, released: committed, with a dated changelog and a tag."""
    folder = tmp_path_factory.mktemp("released")
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout.split("\0")
    kept = re.compile(r"(triage|tools|requirements|examples/kubernetes)/|[^/]+$")
    for name in tracked:
        if kept.match(name) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    (folder / "CHANGELOG.md").write_text(f"# Changelog\n\n## {version} (2026-11-24)\n\n* x\n")
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "Release")
    git(folder, "tag", f"v{version}")
    return folder


@pytest.fixture
def tree(released: Path, tmp_path: Path) -> Path:
    """A copy that a test may change."""
    return shutil.copytree(released, tmp_path / "tree", symlinks=True)


def commit(tree: Path, name: str, text: str) -> None:
    (tree / name).write_text(text)
    git(tree, "add", "-A")
    git(tree, "commit", "-q", "-m", "Change")
    git(tree, "tag", "-f", f"v{version}")


def test_version_changelog_images_and_tag_agree(tree: Path) -> None:
    assert checked_version(tree, rehearse=False) == version


def test_a_tree_that_is_not_clean_is_refused(tree: Path) -> None:
    (tree / "left.txt").write_text("x")
    for rehearse in (True, False):
        with pytest.raises(NextStep, match="not clean"):
            checked_version(tree, rehearse=rehearse)


@pytest.mark.parametrize("top", ["Unreleased", "9.9.9 (2026-11-24)", f"{version} (soon)", version])
def test_a_changelog_of_another_version_is_refused(tree: Path, top: str) -> None:
    commit(tree, "CHANGELOG.md", f"# Changelog\n\n## {top}\n\n* x\n")
    with pytest.raises(NextStep, match=r"CHANGELOG\.md begins with"):
        checked_version(tree, rehearse=False)
    assert checked_version(tree, rehearse=True) == version


def test_an_example_of_another_version_is_refused(tree: Path) -> None:
    name = "examples/kubernetes/daemonset.yaml"
    text = (tree / name).read_text()
    commit(tree, name, text.replace(f"/nccl-triage:{version}", "/nccl-triage:0.0.1"))
    with pytest.raises(NextStep, match=r"daemonset\.yaml names the image 0\.0\.1"):
        checked_version(tree, rehearse=False)


def test_a_commit_without_its_tag_is_refused(tree: Path) -> None:
    git(tree, "tag", "-d", f"v{version}")
    git(tree, "tag", "v0.0.1")
    with pytest.raises(NextStep, match=f"no tag v{version}"):
        checked_version(tree, rehearse=False)


def test_a_signer_that_is_not_there_is_said_before_anything_is_made(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    with pytest.raises(NextStep, match="gpg is not on PATH"):
        release(tree, sign="gpg")
    assert not (tree / "dist").exists()


@pytest.mark.parametrize(
    ("words", "means"),
    [([], (None, False)), (["--rehearse"], (None, True)), (["--sign", "gpg"], ("gpg", False)),
     (["--sign", "gpg", "--rehearse"], ("gpg", True)), (["--sign"], None), (["--sign", "x"], None),
     (["x"], None)],
)  # fmt: skip
def test_options(words: list[str], means: tuple[str | None, bool] | None) -> None:
    assert commands.release_options(words) == means


def made(tree: Path, sign: str | None = None) -> Path:
    """A release; skipped, by name, where its tools cannot be had."""
    try:
        return release(tree, sign=sign)
    except NextStep as why:
        if "No matching distribution" in str(why) or "ensurepip" in str(why):
            missing("the packages of requirements/release.txt", why)
        raise


def sums_of(folder: Path) -> dict[str, str]:
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def test_a_release_has_packages_bill_sums_and_a_signature_and_can_be_made_again(
    tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sign = "gpg" if shutil.which("gpg") else None
    if sign:
        home = tmp_path / "gpg"
        home.mkdir(mode=0o700)
        monkeypatch.setenv("GNUPGHOME", str(home))
        key = ["--batch", "--passphrase", "", "--quick-gen-key", "test@example.com"]
        subprocess.run(["gpg", *key], check=True, capture_output=True)
    # What git does not know is in no package.
    (tree / "triage" / "__pycache__").mkdir(exist_ok=True)
    (tree / "triage" / "__pycache__" / "secret.pyc").write_text("x")
    # The second release is made by the tools of the first: to install them takes the most time.
    install = cache(releasing._environment_of)
    monkeypatch.setattr(
        releasing, "_environment_of", lambda source, _: install(tree, tmp_path / "tools")
    )
    folder = made(tree, sign)
    sums = sums_of(folder)

    assert set(sums) == {
        f"nccl_triage-{version}-py3-none-any.whl", f"nccl_triage-{version}.tar.gz",
        f"nccl-triage-{version}.cdx.json", f"nccl-triage-{version}.provenance.json",
    }  # fmt: skip
    for name, digest in sums.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == digest
    with zipfile.ZipFile(folder / f"nccl_triage-{version}-py3-none-any.whl") as wheel:
        assert "triage/version.py" in wheel.namelist()
        assert not any(
            "__pycache__" in name or name.startswith("tests") for name in wheel.namelist()
        )
    with tarfile.open(folder / f"nccl_triage-{version}.tar.gz") as sdist:
        assert f"nccl_triage-{version}/CHANGELOG.md" in sdist.getnames()

    bill = json.loads((folder / f"nccl-triage-{version}.cdx.json").read_text())
    assert (bill["bomFormat"], bill["metadata"]["component"]["version"]) == ("CycloneDX", version)
    lock = (ROOT / "requirements" / "server.txt").read_text()
    pinned = set(re.findall(r"^([\w.-]+)==(\S+)", lock, re.M))
    assert {(one["name"], one["version"]) for one in bill["components"]} == pinned
    for one in bill["components"]:
        assert one["purl"].startswith("pkg:pypi/")
        assert one["externalReferences"][0]["hashes"]

    origin = json.loads((folder / f"nccl-triage-{version}.provenance.json").read_text())
    assert origin["predicateType"] == "https://slsa.dev/provenance/v1"
    named = {one["name"]: one["digest"]["sha256"] for one in origin["subject"]}
    assert named == {name: sums[name] for name in sums if "provenance" not in name}
    made_of = origin["predicate"]["buildDefinition"]["resolvedDependencies"]
    digests = {one["name"]: one["digest"] for one in made_of}
    assert digests["source"] == {"gitCommit": git(tree, "rev-parse", "HEAD").strip()}
    lock_sum = hashlib.sha256(lock.encode()).hexdigest()
    assert digests["requirements/server.txt"] == {"sha256": lock_sum}

    if sign:
        check = ["gpg", "--verify", str(folder / "SHA256SUMS.asc"), str(folder / "SHA256SUMS")]
        subprocess.run(check, check=True, capture_output=True)
    with pytest.raises(NextStep, match="is there already"):
        release(tree)
    folder.rename(tmp_path / "first")
    assert sums_of(made(tree)) == sums
