"""What tests of the service share: a context on each database, and readers in this process."""

import gc
import logging
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import structlog
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers

from tests.support.databases import drop_template, migrated_postgres, put_migrated_sqlite
from tests.support.statements import share_compiled_statements

if TYPE_CHECKING:
    from tests.support.work import ReadersHere
    from triage.services.context import Context

ROOT = Path(__file__).resolve().parents[1]

# Modules and cases stay until the end. A collector that walks over them again and again takes half
# of the time of finding the cases, and a tenth of a second wherever it falls later.
gc.disable()

# Each worker, and each process that it starts, calculates in one thread. The threads of several
# wait for each other in loops: to fit a model took three times the processor.
os.environ.update(
    dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
)

share_compiled_statements()

# Files with a test that takes tens of seconds, the longest first.
LONG_FILES = (
    "system/test_kills.py", "system/test_whole_path.py", "ops/test_backup.py",
    "workers/test_worker.py", "net/test_goldens.py", "net/test_many_jobs.py",
    "examples/test_notebooks.py", "workers/test_embedded.py", "workers/test_beat.py",
    "actions/test_life_of_an_act.py", "models/test_upgrade.py", "benchmarks/test_faults.py",
    "agents/test_over_stdio.py", "actions/test_budget.py", "system/test_secrets.py",
    "system/test_hostile_http.py", "system/test_words.py", "system/test_hostile_content.py",
    "sandbox/confinement/test_readers.py", "sandbox/test_pool.py", "ops/test_compose.py",
    "system/test_disk.py", "test_release.py", "workers/test_lost_database.py",
    "hostile/test_hostile.py", "api/test_schemathesis.py", "queue/test_wakeups.py",
    "system/test_hostile_fleet.py", "collectors/test_digest.py", "test_run.py",
    "api/test_slow_senders.py", "fleet/services/exposure/test_outage_imports.py",
    "store/incidents/test_identity_machine.py",
)  # fmt: skip


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--each-database", action="store_true", help="all cases on each database")


# Fixtures that come in two kinds, one a database. Those of tests of the store itself and of the
# migrations have other names: what is asked there differs by database, and each case runs on both.
DATABASES = ("database_url", "ctx")


def find_spare_cases(items: list[pytest.Item]) -> list[pytest.Item]:
    """Of each test with cases, the first on one database, the second on the other, and so on.

    So every test runs on each database, and every case on one.
    """
    tests: defaultdict[str, defaultdict[str, list[pytest.Item]]]
    tests = defaultdict(lambda: defaultdict(list))
    for item in items:
        case = getattr(item, "callspec", None)
        if case is None:
            continue
        database = next((case.params[name] for name in DATABASES if name in case.params), None)
        if database:
            tests[item.nodeid.partition("[")[0]][case.id.replace(database, "")].append(item)
    twins = ([both for both in cases.values() if len(both) == 2] for cases in tests.values())
    return [both[k % 2] for of_test in twins if len(of_test) > 1 for k, both in enumerate(of_test)]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the long files, one a worker in turn; all else keeps its order.

    A long test that begins last ends alone, while the other workers have nothing left to do. Each
    worker begins with an equal part of the items, and takes of the ends of others' parts later.
    """
    if not config.getoption("each_database"):
        config.hook.pytest_deselected(items=(spare := find_spare_cases(items)))
        left_out = set(map(id, spare))
        items[:] = [item for item in items if id(item) not in left_out]
    count = getattr(config, "workerinput", {}).get("workercount", 1)
    places = {ROOT / "tests" / name: number for number, name in enumerate(LONG_FILES)}
    rest = [item for item in items if item.path not in places]
    found = sorted((item for item in items if item.path in places), key=lambda i: places[i.path])
    ordered: list[pytest.Item] = []
    for worker in range(count):
        share = [item for item in found if places[item.path] % count == worker]
        room = max(0, (len(items) - len(ordered)) // (count - worker) - len(share))
        ordered += share + rest[:room]
        del rest[:room]
    items[:] = ordered + rest


def pytest_collection_finish() -> None:
    """Let the collector look at what tests make, and at nothing older."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Import the files of tests, each worker beginning with a part of its own.

    In a new clone pytest has to rewrite the assertions of each file, and that is half of the time
    of finding the cases. Workers that begin together would all do it for all files; so each finds
    what the others have written.
    """
    worker = getattr(session.config, "workerinput", None)
    if worker is None:
        return
    files = [path for arg in session.config.args for path in sorted(Path(arg).rglob("test_*.py"))]
    first = len(files) * int(worker["workerid"].removeprefix("gw")) // worker["workercount"]
    for path in files[first:] + files[:first]:
        # What cannot be imported is an error of its own when the cases are found.
        with suppress(Exception, pytest.skip.Exception):
            import_module(".".join(path.resolve().relative_to(ROOT).with_suffix("").parts))


# The same tree gives the same result, on a busy machine too; `--hypothesis-profile default` is
# for trying other examples.
settings.register_profile(
    "repeatable",
    derandomize=True, deadline=None, database=None, print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)  # fmt: skip
settings.load_profile("repeatable")
# Hypothesis also draws the constants of every module that is loaded, which depend on the tests
# beside it: a file alone would be tried with other examples than in the whole run. In a new clone
# each worker would parse all modules for them, for seconds.
providers._get_local_constants = lambda: providers._local_constants


# As far as a test sets up no logging of its own. The package's usual form draws each exception
# with the variables of all frames, where `rich` is there, and takes a second for it.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.format_exc_info,
        structlog.dev.ConsoleRenderer(colors=False),
    ]
)


@pytest.fixture(autouse=True)
def logging_as_it_was() -> Iterator[None]:
    """What a command sets up for its log lines ends with its test.

    Its handler would else write to the stderr that was captured for that test alone.
    """
    root = logging.getLogger()
    level, handlers, said = root.level, list(root.handlers), structlog.get_config()
    yield
    root.setLevel(level)
    root.handlers[:] = handlers
    structlog.configure(**said)


@pytest.fixture(scope="session", autouse=True)
def no_template_is_left() -> Iterator[None]:
    """The server is as it was when all tests have run."""
    yield
    drop_template()


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a migrated database; the empty text for SQLite in the data directory."""
    if request.param == "sqlite":
        yield ""
    else:
        with migrated_postgres() as url:
            yield url


@pytest.fixture
def ctx(tmp_path: Path, database_url: str) -> Iterator["Context"]:
    """A context with an empty, migrated database."""
    from triage.server.context import open_context
    from triage.settings import Settings

    settings = Settings(
        data_dir=tmp_path / "data", database_url=database_url, quiet_s=30.0, min_free_bytes=0,
        webhook_allow=("127.0.0.0/8",),
    )  # fmt: skip
    if not database_url:
        put_migrated_sqlite(settings.data_dir)
    found = open_context(settings)
    yield found
    found.close()


@pytest.fixture
def readers() -> "ReadersHere":
    """Readers in this process."""
    from tests.support.work import ReadersHere

    return ReadersHere()
