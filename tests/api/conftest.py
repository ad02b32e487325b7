"""One service a file of tests: each test uses jobs of its own."""

from collections.abc import Iterator

import pytest

from tests.api.service import Service, context_at, serving


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    ctx = context_at(tmp_path_factory.mktemp("service"))
    with serving(ctx) as found:
        yield found
    ctx.close()
