"""``triage.open_store``: the same tables from a service and from its database."""

import os
import shutil
import stat
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from pandas.testing import assert_frame_equal
from sqlalchemy import text

import triage
from tests.services.whole_jobs import GPU_LOST, files_of, tar_of
from tests.support.databases import put_migrated_sqlite
from tests.support.work import ReadersHere, do_all
from tests.workers.running import ROOT
from triage.client.store import COUNTED, TABLES
from triage.domain.states import WorkKind
from triage.errors import UsageError

KINDS = ("incidents", "suspects", "evidence", "labelled", "labels")


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """A data directory with two incidents, of which a person has resolved one."""
    from tests.api.service import context_at, serving

    found = tmp_path_factory.mktemp("store")
    ctx = context_at(found)
    files = files_of(GPU_LOST)
    with serving(ctx) as service:
        for job, cluster in (("1", "a"), ("2", "b")):
            incident = service.opened(job, cluster=cluster, expected_artifacts=len(files))
            path = f"/v1/jobs/{job}/bundle?incident={incident}"
            assert service.post(path, tar_of(files), token="ingest").status == 201
        do_all(ctx, ReadersHere(), WorkKind.PARSE, WorkKind.ANALYSE)
        said = {"category": "gpu_hbm", "node": "elsewhere", "note": "x"}
        path = f"/v1/incidents/{incident}/resolution"
        assert service.post(path, said, token="read").status == 201
    ctx.close()
    return found


@pytest.fixture
def store(folder):
    with triage.open_store(folder) as found:
        yield found


@pytest.mark.parametrize("kind", KINDS)
def test_columns_are_those_that_are_written_down_also_where_there_is_nothing(store, kind):
    for frame in (getattr(store, kind)(), getattr(store, kind)(cluster="nowhere")):
        assert {name: str(dtype) for name, dtype in frame.dtypes.items()} == dict(TABLES[kind])
    assert len(getattr(store, kind)(cluster="nowhere")) == 0


def test_a_labelled_data_set_takes_one_cell(store):
    [row] = store.labelled().to_dict("records")

    assert (row["category"], row["label_category"]) == ("gpu", "gpu_hbm")
    assert (row["category_right"], row["node_right"]) == (False, False)
    assert row["cluster"] == "b"
    assert row["num_suspects"] >= 1
    evidence = store.evidence(cluster="b")
    for role, kind in COUNTED:
        alike = evidence[(evidence["role"] == role) & (evidence["kind"] == kind)]
        assert row[f"{role}_{kind}"] == alike["count"].sum(), (role, kind)
    assert row["root_xid"] > 0


def test_incidents_are_asked_for_by_time_cluster_category_and_number(store):
    assert list(store.incidents()["job_id"]) == ["2", "1"]
    assert list(store.incidents(limit=1)["job_id"]) == ["2"]
    assert list(store.incidents(cluster="a")["job_id"]) == ["1"]
    assert len(store.incidents(category="nic")) == 0
    assert len(store.incidents(since=1)) == 2
    assert len(store.incidents(since=datetime(2100, 1, 1, tzinfo=UTC))) == 0


def test_a_service_gives_the_same_tables_as_its_database(folder):
    from tests.api.service import serving
    from triage.server.context import open_context
    from triage.settings import Settings

    ctx = open_context(Settings(data_dir=folder))
    with serving(ctx) as service, triage.open_store(folder) as stored:
        assert len(stored.incidents()) == 2
        url = f"http://127.0.0.1:{service.port}"
        with triage.open_store(url, token=service.tokens["read"]) as asked:
            for kind in KINDS:
                assert_frame_equal(getattr(stored, kind)(), getattr(asked, kind)())
    ctx.close()


def test_nothing_can_be_changed_and_no_mode_is(folder, tmp_path):
    copy = tmp_path / "data"
    copy.mkdir()
    shutil.copy(folder / "triage.db", copy)
    (copy / "triage.db").chmod(0o440)
    with triage.open_store(copy) as store:
        assert len(store.incidents()) == 2
        with (
            pytest.raises(Exception, match="can only be read"),
            store._source.database.writing() as session,
        ):
            session.execute(text("DELETE FROM incident"))
    assert stat.S_IMODE((copy / "triage.db").stat().st_mode) == 0o440
    assert [one.name for one in copy.iterdir()] == ["triage.db"]


def test_a_service_that_writes_meanwhile_is_seen_and_not_held_up(tmp_path):
    from tests.api.service import context_at, serving

    ctx = context_at(tmp_path)
    with serving(ctx) as service, triage.open_store(tmp_path) as store:
        assert len(store.incidents()) == 0
        service.opened("new")
        assert len(triage.open_store(tmp_path).incidents()) == 1
    ctx.close()


@pytest.mark.parametrize(
    ("address", "says"),
    [("nowhere", "holds no triage.db"), ("mysql://x/y", "not supported"),
     ("://", "is no database address")],
)  # fmt: skip
def test_what_is_no_store_is_refused_with_what_to_give(address, says):
    with pytest.raises(UsageError, match=says):
        triage.open_store(address)


def test_an_older_database_is_not_read(tmp_path):
    put_migrated_sqlite(tmp_path)
    from tests.api.service import context_at

    ctx = context_at(tmp_path)
    with ctx.database.writing() as session:
        session.execute(text("UPDATE alembic_version SET version_num = '0008'"))
    ctx.close()
    with pytest.raises(UsageError, match="triage migrate"):
        triage.open_store(tmp_path)


def test_without_the_packages_the_error_names_them(tmp_path):
    code = (
        "import sys; sys.modules['sqlalchemy'] = None; import triage\n"
        "try: triage.open_store('.')\n"
        "except triage.errors.UsageError as error: print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import triage.errors\n" + code], cwd=ROOT, capture_output=True,
        text=True, check=False, env={**os.environ}, timeout=60,
    )  # fmt: skip
    assert "nccl-triage[server" in done.stdout, done.stderr
