"""One service a file of tests: each test uses jobs of its own."""

from collections.abc import Iterator

import pytest
import structlog

from tests.api.service import Service, context_at, serving


@pytest.fixture(autouse=True, scope="session")
def quiet() -> Iterator[None]:
    """Log lines are looked at where a test is about them."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger("critical"))
    yield
    structlog.reset_defaults()


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    ctx = context_at(tmp_path_factory.mktemp("service"))
    with serving(ctx) as found:
        yield found
    ctx.close()
