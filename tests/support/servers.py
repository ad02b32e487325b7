"""Real servers on loopback for tests: each test gets a database, prefix or virtual host of its own.

Where a server is not there its tests are skipped by name; in CI it has to be there.
"""

import os
import secrets
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

POSTGRES = os.environ.get("TRIAGE_TEST_POSTGRES", "postgresql://postgres@127.0.0.1:5432/postgres")
REDIS = os.environ.get("TRIAGE_TEST_REDIS", "redis://127.0.0.1:6379")
RABBITMQ = os.environ.get("TRIAGE_TEST_RABBITMQ", "amqp://guest:guest@127.0.0.1:5672")


def missing(what: str, why: object) -> None:
    """Skip, by name; where continuous integration promises the server, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{what} has to be there in CI: {why}")
    pytest.skip(f"{what} is not there: {why}")


@contextmanager
def postgres_database(template: str = "template0") -> Iterator[str]:
    """The SQLAlchemy address of an empty database, or of a copy of another, dropped afterwards.

    Nobody may be connected to ``template``; to the usual one nobody can.
    """
    import psycopg
    from psycopg import sql

    name = f"triage_test_{secrets.token_hex(6)}"
    try:
        admin = psycopg.connect(POSTGRES, autocommit=True, connect_timeout=180)
    except psycopg.Error as error:
        missing("PostgreSQL", error)
        raise
    with admin:
        make = "CREATE DATABASE {} TEMPLATE {}"
        admin.execute(sql.SQL(make).format(sql.Identifier(name), sql.Identifier(template)))
        try:
            base = POSTGRES.rpartition("/")[0].replace("postgresql://", "postgresql+psycopg://")
            yield f"{base}/{name}"
        finally:
            drop = "DROP DATABASE IF EXISTS {} WITH (FORCE)"
            admin.execute(sql.SQL(drop).format(sql.Identifier(name)))


@contextmanager
def redis_prefix() -> Iterator[tuple[str, str]]:
    """(address, key prefix) on Redis; keys of that prefix are removed afterwards."""
    import redis

    prefix = f"triage-test-{secrets.token_hex(6)}-"
    client = redis.Redis.from_url(REDIS + "/0")
    try:
        client.ping()
    except redis.RedisError as error:
        missing("Redis", error)
    try:
        yield f"{REDIS}/0", prefix
    finally:
        for key in client.scan_iter(f"{prefix}*"):
            client.delete(key)
        client.close()


@contextmanager
def rabbitmq_vhost() -> Iterator[str]:
    """The address of a virtual host of RabbitMQ, deleted afterwards."""
    control = shutil.which("rabbitmqctl") or "/usr/sbin/rabbitmqctl"
    name = f"triage-test-{secrets.token_hex(6)}"

    def run(*arguments: str) -> None:
        subprocess.run([control, "-q", *arguments], check=True, capture_output=True, timeout=300)

    try:
        run("add_vhost", name)
        run("set_permissions", "-p", name, "guest", ".*", ".*", ".*")
    except (OSError, subprocess.SubprocessError) as error:
        missing("RabbitMQ", error)
    try:
        yield f"{RABBITMQ}/{name}"
    finally:
        run("delete_vhost", name)
