"""The pictures of the pages in ``docs/images``, taken anew: real uploads, headless Chromium.

::

    python -m tools.screenshots [NAME ...] [--ranks 16384] [--output docs/images]

A service is started, simulated incidents are uploaded to it and analysed as anybody's are, and
each page is drawn once in the sizes below. Look at what comes out before it is committed: a
picture that nobody has looked at is worth nothing. The fleet's pictures are not among them.
"""

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from PIL import Image

from tests.web.browser import Browser, browsing
from tests.workers.running import serving
from triage.client import Client

ROOT: Final = Path(__file__).resolve().parents[1]
WIDE: Final = 1100
NARROW: Final = 390
FILES_A_BUNDLE: Final = 2000


@dataclass(frozen=True, slots=True)
class Job:
    """An incident to simulate and upload; ``name`` is its job, ``seed`` decides the rest."""

    name: str
    kind: str
    ranks: int
    seed: int
    more: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Shot:
    """One picture: its file, its page, its size in pixels, and a script that runs before it."""

    name: str
    page: str
    width: int
    height: int
    dark: bool = False
    script: str = ""


JOBS: Final = (
    Job("pretrain-7b-0418", "straggler", 64, 11),
    Job("pretrain-7b-0419", "leaf-switch", 64, 12),
    Job("5607391", "device-stall", 64, 13),
    Job("llm-405b-0817", "gpu-fell-off", 16384, 3, ("--entries", "50", "--frames", "1")),
    Job("pretrain-7b-0420", "hbm-dbe", 64, 14),
    Job("pretrain-7b-0421", "hbm-dbe", 64, 14),
)
"""In the order of their failures; the last two fail for the same GPU."""

GRID_DRAWN: Final = "document.querySelector('.rank-grid')?.dataset.drawnAt"
TO_THE_GRID: Final = "document.querySelector('#h-ranks').scrollIntoView(); true"
TO_WHAT_STANDS_OUT: Final = (
    "document.querySelector('#rank-grid canvas').focus({preventScroll: true});"
    "document.querySelector('#rank-grid canvas').dispatchEvent("
    "new KeyboardEvent('keydown', {key: 'n', bubbles: true})); " + TO_THE_GRID
)


def shots(large: str, small: str, node: str) -> Iterator[Shot]:
    """All of them; the pages of the two incidents, and of the node that failed twice."""
    for name, page, height, narrow in (
        ("incidents", "/incidents", 640, 800),
        ("incident-64", small, 1340, 1100),
        ("incident-16384", large, 1250, 1100),
        ("node", node, 640, 900),
        ("upload", "/upload", 640, 760),
    ):
        yield Shot(f"{name}-light", page, WIDE, height)
        yield Shot(f"{name}-dark", page, WIDE, height, dark=True)
        yield Shot(f"{name}-narrow", page, NARROW, narrow)
    yield Shot("incident-64-pictures", small, WIDE, 1000, script=TO_THE_GRID)
    # In place of the first one: what is special at this size is the grid.
    yield Shot("incident-16384-dark", large, WIDE, 860, dark=True, script=TO_WHAT_STANDS_OUT)
    yield Shot("queue-light", "/queue", WIDE, 520)


def main(argv: Sequence[str] | None = None) -> int:
    """Take them; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="pictures whose names begin so; all of them")
    parser.add_argument("--ranks", type=int, default=16384, help="of the large incident")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    given = parser.parse_args(argv)
    with (
        tempfile.TemporaryDirectory(prefix="triage-pictures-") as folder,
        serving(Path(folder), TRIAGE_QUIET_S=2) as (_, url),
        Client(url) as client,
        browsing() as browser,
    ):
        pages = {}
        for job in JOBS:
            sized = replace(job, ranks=min(job.ranks, given.ranks))
            pages[job.name] = uploaded(client, sized, Path(folder))
            print(f"{job.name}: {sized.ranks} ranks, {pages[job.name]}", file=sys.stderr)
        small = client.wait(pages[JOBS[-1].name].rpartition("/")[2])
        node = f"/nodes/{small.suspects['node'].iloc[0]}"
        given.output.mkdir(parents=True, exist_ok=True)
        wanted = {
            one.name: one for one in shots(pages["llm-405b-0817"], pages[JOBS[-1].name], node)
        }
        for name, shot in wanted.items():
            if not given.names or name.startswith(tuple(given.names)):
                size = taken(browser, url, shot, given.output / f"{name}.png")
                print(f"{name}: {size / 1e3:.0f} kB", file=sys.stderr)
    return 0


def uploaded(client: Client, job: Job, folder: Path) -> str:
    """The page of the incident, once it is final."""
    at = folder / job.name
    subprocess.run(
        [sys.executable, "-m", "triage.cli.main", "simulate", job.kind, str(at),
         "--ranks", str(job.ranks), "--seed", str(job.seed), *job.more],
        cwd=ROOT, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip
    files = sorted(path for path in at.rglob("*") if path.is_file())
    facts = json.loads((at / "job.json").read_bytes())
    facts |= {"job_id": job.name, "cluster": "iad-2", "expected_artifacts": len(files)}
    incident = client.job_failed(facts)
    for first in range(0, len(files), FILES_A_BUNDLE):
        bundle = folder / f"{job.name}-{first}.tar"
        with tarfile.open(bundle, "w") as tar:
            for path in files[first : first + FILES_A_BUNDLE]:
                tar.add(path, path.relative_to(at).as_posix())
        client.upload(bundle, job.name, incident=incident)
        bundle.unlink()
    client.wait(incident.id, timeout_s=1200)
    return f"/incidents/{incident.id}"


def taken(browser: Browser, url: str, shot: Shot, path: Path) -> int:
    """Take one; its size in bytes. Pages are of few colours: a palette makes them small."""
    page = browser.page(shot.width, shot.height, dark=shot.dark)
    page.goto(url + shot.page)
    if shot.page.startswith("/incidents/"):
        page.wait(GRID_DRAWN)
    if shot.script:
        page.run(shot.script)
    page.picture(path, whole=False)
    if wrong := page.wrong():
        raise SystemExit(f"{shot.page}: {wrong}")
    with Image.open(path) as drawn:
        drawn.convert("RGB").quantize(128).save(path, optimize=True)
    return path.stat().st_size


if __name__ == "__main__":
    raise SystemExit(main())
