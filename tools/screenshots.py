"""The pictures of the pages in ``docs/images``, taken anew: real uploads, headless Chromium.

::

    python -m tools.screenshots [NAME ...] [--ranks 16384] [--output docs/images]

A service with the record of a fleet is started, simulated incidents are uploaded to it and
analysed as anybody's are, and each page that ``docs`` shows is drawn once. Look at what comes
out before it is committed: a picture that nobody has looked at is worth nothing.
"""

import argparse
import json
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from PIL import Image

from tests.web.browser import Browser, browsing
from tests.web.fleet_site import fleet_service
from tests.web.site import working
from triage.client import Client

ROOT: Final = Path(__file__).resolve().parents[1]
WIDE: Final = 1100
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
    """One picture: its file, its page, its size in pixels, and a script that runs before it.

    The page of a job is that of its incident.
    """

    name: str
    page: str | Job
    width: int
    height: int
    dark: bool = False
    script: str = ""


LARGE: Final = Job("llm-405b-0817", "gpu-fell-off", 16384, 3, ("--entries", "50", "--frames", "1"))
SMALL: Final = Job("pretrain-7b-0421", "hbm-dbe", 64, 15)
OTHERS: Final = (
    Job("pretrain-7b-0418", "straggler", 64, 11),
    Job("pretrain-7b-0420", "hbm-dbe", 64, 15),
)
"""Failed before; the last of them for the same GPU as ``SMALL``."""

GRID_DRAWN: Final = "document.querySelector('.rank-grid')?.dataset.drawnAt"
TO_THE_GRID: Final = "document.querySelector('#h-ranks').scrollIntoView(); true"
TO_WHAT_STANDS_OUT: Final = (
    "document.querySelector('#rank-grid canvas').focus({preventScroll: true});"
    "document.querySelector('#rank-grid canvas').dispatchEvent("
    "new KeyboardEvent('keydown', {key: 'n', bubbles: true})); " + TO_THE_GRID
)


# Those that pages of docs show.
SHOTS: Final = (
    Shot("overview-light", "/overview", WIDE, 900),
    Shot("incident-64-light", SMALL, WIDE, 1340),
    Shot("incident-64-pictures", SMALL, WIDE, 1000, script=TO_THE_GRID),
    Shot("incident-16384-dark", LARGE, WIDE, 860, dark=True, script=TO_WHAT_STANDS_OUT),
    Shot("fleet-light", "/fleet?days=60", WIDE, 640),
    Shot("fleet-plan-light", "/fleet/plan?days=60&gpus=131072", WIDE, 720),
)


def main(argv: Sequence[str] | None = None) -> int:
    """Take them; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="pictures whose names begin so; all of them")
    parser.add_argument("--ranks", type=int, default=16384, help="of the large incident")
    parser.add_argument("--output", type=Path, default=ROOT / "docs" / "images")
    given = parser.parse_args(argv)
    wanted = [one for one in SHOTS if not given.names or one.name.startswith(tuple(given.names))]
    of_jobs = {one.page for one in wanted if isinstance(one.page, Job)}
    with (
        tempfile.TemporaryDirectory(prefix="triage-pictures-") as folder,
        fleet_service(Path(folder)) as service,
        working(service),
        Client(f"http://127.0.0.1:{service.port}") as client,
        browsing() as browser,
    ):
        pages: dict[Job, str] = {}
        for job in (*([LARGE] if LARGE in of_jobs else []), *OTHERS, SMALL):
            sized = replace(job, ranks=min(job.ranks, given.ranks))
            pages[job] = uploaded(client, sized, Path(folder))
            print(f"{job.name}: {sized.ranks} ranks, {pages[job]}", file=sys.stderr)
        given.output.mkdir(parents=True, exist_ok=True)
        for shot in wanted:
            page = pages[shot.page] if isinstance(shot.page, Job) else shot.page
            size = taken(browser, client.url + page, shot, given.output / f"{shot.name}.png")
            print(f"{shot.name}: {size / 1e3:.0f} kB", file=sys.stderr)
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
    said = at / "job.json"  # which not every scheduler writes
    facts = json.loads(said.read_bytes()) if said.exists() else {}
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
    page.goto(url)
    if isinstance(shot.page, Job):
        page.wait(GRID_DRAWN)
    if shot.script:
        page.run(shot.script)
    page.picture(path, whole=False)
    if wrong := page.wrong():
        raise SystemExit(f"{url}: {wrong}")
    with Image.open(path) as drawn:
        drawn.convert("RGB").quantize(128).save(path, optimize=True)
    return path.stat().st_size


if __name__ == "__main__":
    raise SystemExit(main())
