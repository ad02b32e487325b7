"""A service with a fleet in its database: 64 nodes behind eight leaf switches, one of them bad."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.api.service import Service, context_at, serving
from tests.fleet.services.small_fleet import NODES, keep_fleet

NOW = datetime.now(UTC).replace(microsecond=0)
INVENTORY = "node,generation,rack,leaf_switch,cluster\n" + "\n".join(
    f"{node},h100,r{number // 16},leaf{number // 8},a" for number, node in enumerate(NODES)
)


@contextmanager
def fleet_service(folder: Path) -> Iterator[Service]:
    """As ``triage serve --open``; its record ends ten minutes ago."""
    ctx = context_at(folder)
    keep_fleet(ctx, end=NOW - timedelta(minutes=10))
    with serving(ctx, open_access=True) as service:
        answer = service.post("/v1/fleet/import", INVENTORY.encode(), token=None)
        assert answer.status == 200, answer.body
        yield service
    ctx.close()
