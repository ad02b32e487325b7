"""A release: packages, bill of materials, provenance, check sums, signature, out of one commit.

Everything is made from what the commit holds, in an environment of its own that is locked by
hash, with the commit's time: who makes it again gets the same bytes. Standard library only.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Final

from tools.environment import BASE_PYTHON, ROOT, NextStep, say

_SUMS: Final = "SHA256SUMS"
_LOCK: Final = "requirements/release.txt"
# What signs the sums, and the command for it; each asks for its own key in its own way.
SIGNERS: Final[Mapping[str, Callable[[str], list[str]]]] = {
    "gpg": lambda file: ["gpg", "--batch", "--armor", "--detach-sign", file],
    "minisign": lambda file: ["minisign", "-S", "-m", file],
    "cosign": lambda file: ["cosign", "sign-blob", "--yes", "--bundle", f"{file}.bundle", file],
}


def release(root: Path = ROOT, *, sign: str | None = None, rehearse: bool = False) -> Path:
    """The folder ``dist/VERSION`` with what is to be published.

    ``sign`` is one of ``SIGNERS``. ``rehearse`` asks for no tag and no dated changelog.

    Raises:
        NextStep: the tree, the version, the changelog or the tag do not fit each other, or a
            program is missing; the message says what to do.
    """
    if sign is not None and shutil.which(sign) is None:
        raise NextStep(f"{sign} is not on PATH. Next: install it, or leave out --sign")
    version = checked_version(root, rehearse=rehearse)
    folder = root / "dist" / version
    if folder.exists():
        raise NextStep(f"{folder} is there already. Next: remove it, then try again")
    with tempfile.TemporaryDirectory(prefix="triage-release-") as scratch:
        work = Path(scratch)
        source = _exported(root, work / "source")
        python = _environment_of(source, work / "venv")
        made = work / "made"
        made.mkdir()
        epoch = _output(root, "git", "log", "-1", "--format=%ct")
        _run([str(python), "-m", "hatchling", "build", "-d", str(made)], source, epoch)
        bill = made / f"nccl-triage-{version}.cdx.json"
        bill.write_text(_bill_of_materials(python, source, version, epoch), "utf-8")
        origin = made / f"nccl-triage-{version}.provenance.json"
        origin.write_text(_provenance(source, made), "utf-8")
        _write_sums(made)
        if sign is not None:
            _run(SIGNERS[sign](_SUMS), made)
        folder.parent.mkdir(exist_ok=True)
        shutil.copytree(made, folder)
    say(f"{folder} has {', '.join(sorted(path.name for path in folder.iterdir()))}")
    if sign is None:
        say(f"{_SUMS} is not signed; --sign {' | '.join(SIGNERS)} does it")
    return folder


def checked_version(root: Path, *, rehearse: bool) -> str:
    """The version, once tree, changelog, examples and tag agree on it."""
    if _output(root, "git", "status", "--porcelain"):
        raise NextStep("the tree is not clean. Next: commit what belongs to the release")
    text = (root / "triage" / "version.py").read_text("utf-8")
    found = re.search(r'^__version__ = "(\d+\.\d+\.\d+)"$', text, re.M)
    if found is None:
        raise NextStep("triage/version.py has no version like 1.2.3. Next: correct it")
    version = found[1]
    if rehearse:
        return version
    (top, *_) = re.findall(r"^## (.+)$", (root / "CHANGELOG.md").read_text("utf-8"), re.M) or [""]
    if not re.fullmatch(rf"{re.escape(version)} \(\d{{4}}-\d\d-\d\d\)", top):
        raise NextStep(
            f"CHANGELOG.md begins with {top!r}, the version is {version}. Next: head the entries "
            f"`## {version} (YEAR-MONTH-DAY)`, or set the version in triage/version.py"
        )
    for path in sorted((root / "examples").rglob("*.yaml")):
        for other in re.findall(r"/nccl-triage:(\d[\w.]*)", path.read_text("utf-8")):
            if other != version:
                raise NextStep(f"{path.name} names the image {other}. Next: write {version} there")
    tag = f"v{version}"
    if tag not in _output(root, "git", "tag", "--points-at", "HEAD").split():
        raise NextStep(f"this commit has no tag {tag}. Next: `git tag -s {tag}`, then try again")
    return version


def _exported(root: Path, folder: Path) -> Path:
    """What the commit holds, and nothing that lies beside it."""
    _run(["git", "clone", "--quiet", "--no-hardlinks", str(root), str(folder)], root)
    return folder


def _environment_of(source: Path, folder: Path) -> Path:
    """The interpreter of a new environment that holds what is locked for releases."""
    say("installing the locked packages (release) with pip")
    _run([BASE_PYTHON, "-m", "venv", str(folder)], source)
    python = folder / "bin" / "python"
    pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "-r", _LOCK], source)
    return python


def _bill_of_materials(python: Path, source: Path, version: str, epoch: str) -> str:
    """CycloneDX of what the service runs with, as locked: names, versions, hashes."""
    command = [str(python.with_name("cyclonedx-py")), "requirements", "requirements/server.txt"]
    command += ["--pyproject", "pyproject.toml", "--output-reproducible", "--of", "JSON"]
    made = json.loads(_run(command, source, epoch))
    # The version is in a file of Python, which the tool does not read.
    main = made["metadata"]["component"]
    main["version"] = version
    main["purl"] = f"pkg:pypi/nccl-triage@{version}"
    return json.dumps(made, indent=2, sort_keys=True) + "\n"


def _provenance(source: Path, made: Path) -> str:
    """What the packages were made of and by what: an in-toto statement with SLSA's predicate.

    It holds no time and no place, so that whoever makes the release again gets the same bytes.
    """
    commit = _output(source, "git", "rev-parse", "HEAD")
    locks = sorted((source / "requirements").glob("*.txt"))
    statement = {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [
            {"name": path.name, "digest": {"sha256": _sha256_of(path)}}
            for path in sorted(made.iterdir())
        ],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:nccl-triage:release:1",
                "externalParameters": {"commit": commit, "command": "python3 run.py release"},
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": commit}},
                    *(
                        {
                            "name": f"requirements/{path.name}",
                            "digest": {"sha256": _sha256_of(path)},
                        }
                        for path in locks
                    ),
                ],
            },
            "runDetails": {"builder": {"id": "urn:nccl-triage:run.py"}},
        },
    }
    return json.dumps(statement, indent=2, sort_keys=True) + "\n"


def _sha256_of(path: Path) -> str:
    """The digest of a file's bytes."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write_sums(folder: Path) -> None:
    """``SHA256SUMS``, as ``sha256sum --check`` reads it."""
    lines = [f"{_sha256_of(path)}  {path.name}\n" for path in sorted(folder.iterdir())]
    (folder / _SUMS).write_text("".join(lines), "utf-8")


def _output(root: Path, *command: str) -> str:
    """What a command prints, without the blanks around it."""
    return _run(command, root).strip()


def _run(command: Sequence[str], folder: Path, epoch: str = "") -> str:
    """Run a command that has to succeed; what it printed."""
    foreign = {"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"}
    env = {key: value for key, value in os.environ.items() if key not in foreign}
    env |= {"SOURCE_DATE_EPOCH": epoch} if epoch else {}
    try:
        done = subprocess.run(
            command, cwd=folder, env=env, capture_output=True, text=True, check=False
        )
    except OSError as error:
        raise NextStep(f"{command[0]} could not be started: {error.strerror}") from error
    if done.returncode:
        last = "\n".join((done.stderr or done.stdout).splitlines()[-8:])
        raise NextStep(f"{Path(command[0]).name} failed: {last}. Next: mend that, then try again")
    return done.stdout
