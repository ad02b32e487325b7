"""Without tokens, on loopback: everybody on this machine, and no page in a browser."""

from collections.abc import Iterator

import pytest

from tests.api.service import Service, context_at, serving


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    ctx = context_at(tmp_path_factory.mktemp("open"))
    with serving(ctx, open_access=True) as found:
        yield found
    ctx.close()


def test_everybody_may_do_everything(opened: Service) -> None:
    assert opened.get("/v1/incidents", token=None).status == 200
    assert opened.get("/v1/subscriptions", token=None).status == 200
    assert opened.post("/v1/hooks/job-failed", {"job_id": "1"}, token=None).status == 202


@pytest.mark.parametrize(
    "headers",
    [
        {"Host": "evil.example"},
        {"Host": "127.0.0.1.evil.example"},
        {"Host": "[::"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://127.0.0.1:1"},
    ],
    ids=str,
)
def test_a_page_of_another_origin_may_nothing(opened: Service, headers: dict[str, str]) -> None:
    answer = opened.post("/v1/hooks/job-failed", {"job_id": "1"}, token=None, headers=headers)
    assert answer.status == 403
    answer.problem()


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "[::1]:8000", "127.0.0.9:80"])
def test_loopback_has_many_names(opened: Service, host: str) -> None:
    assert opened.get("/v1/incidents", token=None, headers={"Host": host}).status == 200


def test_the_server_that_the_target_names_is_the_one_that_counts(opened: Service) -> None:
    def status(target_host: str, header: str) -> int:
        path = f"http://{target_host}/v1/incidents"
        return opened.get(path, token=None, headers={"Host": header}).status

    assert status("evil.example", "localhost") == 403
    assert status("localhost:1", "evil.example") == 200
