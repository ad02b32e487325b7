"""One service a file of tests, with an incident that was really analysed."""

from collections.abc import Iterator

import pytest

from tests.api.service import Service, context_at, serving
from tests.web.browser import Browser, browsing
from tests.web.site import GOOD, analyse, sent


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One process for all tests; each page has storage of its own."""
    with browsing() as found:
        yield found


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Tokens are needed."""
    ctx = context_at(tmp_path_factory.mktemp("pages"))
    with serving(ctx) as found:
        yield found
    ctx.close()


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """As ``triage serve --open``."""
    ctx = context_at(tmp_path_factory.mktemp("open"))
    with serving(ctx, open_access=True) as found:
        yield found
    ctx.close()


@pytest.fixture(scope="module")
def ready(opened: Service) -> str:
    """The id of an incident with its final answer, on the open service."""
    incident = sent(opened, "4711", GOOD)
    analyse(opened)
    return incident
