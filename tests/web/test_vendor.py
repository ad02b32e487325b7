"""What others wrote, with version, licence and hash; and that what we wrote needs no other host."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from triage.web import assets

ROOT = Path(__file__).parents[2]
FOLDERS = (ROOT / "triage/web/static/vendor", ROOT / "tests/web/vendor")
OURS = sorted((ROOT / "triage/web/static").glob("*.*"))
TEMPLATES = sorted((ROOT / "triage/web/templates").glob("*.html"))


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.parts[-3])
def test_the_manifest_tells_all_that_lies_there(folder: Path) -> None:
    told = json.loads((folder / "manifest.json").read_text())
    names = {"manifest.json"}
    for one in told:
        data = (folder / one["file"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == one["sha256"], one["file"]
        assert one["version"].encode() in data
        assert one["version"] in one["source"]
        assert (folder / one["license_file"]).read_text().strip()
        names |= {one["file"], one["license_file"]}
    assert {path.name for path in folder.iterdir()} == names


def test_every_asset_is_there_and_has_an_address_of_its_own() -> None:
    addresses = {assets.make_address(name) for name in assets.FILES}
    assert len(addresses) == len(assets.FILES)
    used = set(re.findall(r"asset\('([^']+)'\)", "".join(p.read_text() for p in TEMPLATES)))
    assert used == set(assets.FILES)


@pytest.mark.parametrize("path", [*OURS, *TEMPLATES], ids=lambda path: path.name)
def test_nothing_of_ours_names_another_host_or_evaluates_text(path: Path) -> None:
    text = path.read_text().replace("http://www.w3.org/2000/svg", "")
    assert not re.search(r"https?:|(?<!:)//[a-z]", re.sub(r"(?m)^\s*//.*$", "", text))
    assert not re.search(r"\beval\(|new Function|innerHTML|outerHTML\s*=|insertAdjacent", text)
    assert not re.search(r"\|\s*safe\b|\bstyle=|\bon[a-z]+=", text)
