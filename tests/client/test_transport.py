"""Transport: what is tried again, what is refused, and what must not get out."""

import io
import tarfile

import httpx2
import pytest
import zstandard

from triage.client import Client
from triage.client.client import gather_bundle, iterate_tar_pieces
from triage.client.transport import ApiRequest, Transport
from triage.errors import (
    Forbidden,
    NotAllowed,
    NoToken,
    Refusal,
    StorageFull,
    TooLarge,
    TooMany,
    Unavailable,
    Unprocessable,
    UsageError,
)

PROBLEM = "application/problem+json"


@pytest.fixture
def pauses(monkeypatch):
    found = []
    monkeypatch.setattr("triage.client.transport.time.sleep", found.append)
    return found


def transport(*answers):
    """A transport whose service gives these answers in turn; its requests are kept."""
    made = Transport("https://triage.example/base", "triage_1_secret", timeout_s=5)
    waiting = list(answers)
    seen = []

    def handle(request):
        request.read()
        seen.append(request)
        answer = waiting.pop(0) if len(waiting) > 1 else waiting[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    made.http = httpx2.Client(
        transport=httpx2.MockTransport(handle), base_url=made.url, headers=made.http.headers
    )
    made.seen = seen
    return made


def ok(**said):
    return httpx2.Response(200, json=said)


def problem(status, headers=None, **said):
    return httpx2.Response(
        status, json={"detail": "no", **said}, headers={"Content-Type": PROBLEM, **(headers or {})}
    )


def test_the_token_and_the_prefix_go_along():
    one = transport(ok(a=1))
    assert one.get("/v1/incidents", {"node": "a/b", "state": None}) == {"a": 1}
    (request,) = one.seen
    assert request.headers["Authorization"] == "Bearer triage_1_secret"
    assert str(request.url) == "https://triage.example/base/v1/incidents?node=a%2Fb"


@pytest.mark.parametrize("text", [repr, str])
def test_the_token_stands_in_no_text(text):
    assert "secret" not in text(Client("https://triage.example", "triage_1_secret"))
    with pytest.raises(UsageError) as caught:
        Client("https://triage.example", "two words secret")
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("status", [408, 429, 502, 503, 504])
def test_what_is_put_off_is_asked_again(status, pauses):
    one = transport(problem(status, {"Retry-After": "7"}), problem(status), ok(a=1))
    assert one.get("/x") == {"a": 1}
    assert pauses == [7, 1.0]


@pytest.mark.parametrize("status", [400, 401, 404, 409, 413, 422, 500, 507])
def test_what_stays_wrong_is_asked_once(status, pauses):
    one = transport(problem(status))
    with pytest.raises(Refusal):
        one.get("/x")
    assert len(one.seen) == 1
    assert pauses == []


def test_a_broken_connection_is_tried_again_with_the_whole_body(pauses):
    one = transport(httpx2.ReadError("reset"), httpx2.ConnectError("refused"), ok(a=1))
    one.send(ApiRequest("POST", "/x", body=lambda: iter([b"ab", b"cd"])))
    assert [request.content for request in one.seen] == [b"abcd"] * 3
    assert pauses == [0.5, 1.0]


def test_it_ends(pauses):
    one = transport(httpx2.ConnectError("Connection refused"))
    with pytest.raises(Unavailable, match=r"cannot reach https://triage.example/base: Connection"):
        one.get("/x")
    assert len(one.seen) == 4
    one = transport(problem(503, {"Retry-After": "86400"}))
    with pytest.raises(Unavailable) as caught:
        one.get("/x")
    assert caught.value.retry_after_s == 86_400
    assert max(pauses) == 60


@pytest.mark.parametrize(
    ("status", "error"),
    [
        (401, NoToken), (403, NotAllowed), (413, TooLarge), (429, TooMany), (503, Unavailable),
        (507, StorageFull), (418, Unprocessable), (405, Unprocessable), (599, Unavailable),
    ],
)  # fmt: skip
def test_a_status_is_its_error(status, error, pauses):
    with pytest.raises(error) as caught:
        transport(problem(status, hint="do this")).get("/x")
    assert str(caught.value) == "no (do this)"
    assert (caught.value.detail, caught.value.hint) == ("no", "do this")
    assert error is not Forbidden


def test_places_are_said():
    errors = [
        {"in": "query", "parameter": "state", "message": "unknown"},
        {"pointer": "/job_id", "message": "missing"},
    ]
    with pytest.raises(Unprocessable) as caught:
        transport(problem(422, errors=errors)).get("/x")
    assert str(caught.value) == "no; query/state: unknown; body/job_id: missing"


@pytest.mark.parametrize(
    "answer",
    [
        httpx2.Response(200, html="<h1>Log in</h1>"),
        httpx2.Response(200, json=[1, 2]),
        httpx2.Response(200, content=b"{", headers={"Content-Type": "application/json"}),
        httpx2.Response(204),
    ],
)
def test_another_who_says_200_is_not_believed(answer):
    with pytest.raises(Unavailable, match="not as the service does"):
        transport(answer).get("/x")


def test_a_redirect_is_said_and_not_followed():
    one = transport(httpx2.Response(301, headers={"Location": "https://other.example/"}))
    with pytest.raises(UsageError, match=r"the service is at https://other.example/; give that"):
        one.get("/x")
    assert len(one.seen) == 1


def test_an_error_without_a_problem_document_has_its_status():
    with pytest.raises(Unavailable, match="500 Internal Server Error"):
        transport(httpx2.Response(500, text="oops")).get("/x")


@pytest.mark.parametrize(
    "url",
    ["triage.example", "ftp://triage.example", "https://", "https://u:p@triage.example",
     "https://triage.example/?a=1", "https://triage.example/#x", "http://[::1", ""],
)  # fmt: skip
def test_what_is_no_address_is_refused(url):
    with pytest.raises(UsageError) as caught:
        Client(url)
    assert "u:p" not in str(caught.value)


def test_a_missing_authority_is_refused():
    with pytest.raises(UsageError, match=r"ca_file /nowhere.pem cannot be used"):
        Client("https://triage.example", ca_file="/nowhere.pem")


def test_a_proxy_of_the_environment_is_not_asked(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example:3128")
    monkeypatch.setenv("HTTPS_PROXY", "http://proxy.example:3128")
    made = Transport("https://triage.example", None, timeout_s=1)
    assert not made.http.trust_env
    assert all("proxy" not in str(mount) for mount in made.http._mounts)


def members(body):
    plain = zstandard.ZstdDecompressor().decompressobj().decompress(body)
    with tarfile.open(fileobj=io.BytesIO(plain)) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar.getmembers()}


def test_a_folder_is_a_tar_of_its_files(tmp_path):
    long = "n" * 150
    (tmp_path / "nodes" / long).mkdir(parents=True)
    (tmp_path / "nodes" / long / "kernel.log").write_bytes(b"x" * 1_500_000)
    (tmp_path / "empty").write_bytes(b"")
    (tmp_path / "job \u00fc.json").write_bytes(b"{}")
    (tmp_path / "link").symlink_to(tmp_path / "empty")
    bundle = gather_bundle(tmp_path)
    found = members(b"".join(bundle.pieces()))
    assert found == {
        f"nodes/{long}/kernel.log": b"x" * 1_500_000, "empty": b"", "job \u00fc.json": b"{}",
    }  # fmt: skip
    assert b"".join(bundle.pieces()) == b"".join(bundle.pieces())


def test_a_large_file_is_never_held_whole(tmp_path):
    with (tmp_path / "sparse").open("wb") as file:
        file.truncate(1 << 28)
    sizes = [len(piece) for piece in iterate_tar_pieces((("sparse", tmp_path / "sparse"),))]
    assert sum(sizes) == (1 << 28) + 512 + 1024
    assert max(sizes) <= 1 << 20


def test_a_file_that_shrinks_meanwhile_is_said(tmp_path):
    path = tmp_path / "log"
    path.write_bytes(b"x" * (3 << 20))
    pieces = iterate_tar_pieces((("log", path),))
    next(pieces), next(pieces)
    path.write_bytes(b"x")
    with pytest.raises(UsageError, match="became shorter while it was sent"):
        list(pieces)


def test_a_file_that_goes_meanwhile_is_said(tmp_path):
    (tmp_path / "log").write_bytes(b"x")
    bundle = gather_bundle(tmp_path)
    (tmp_path / "log").unlink()
    with pytest.raises(UsageError, match="cannot read"):
        list(bundle.pieces())
