"""Bodies, names and queries that are not what they say: taken as text, or refused with a place."""

import gzip
import json
import zlib
from collections.abc import Callable, Iterator
from functools import cache

import pytest
import zstandard

from tests.system.attacked import Attacked, attacked, fault_of
from tests.workers.running import alive

MIB = 1 << 20
TEXT = b"[rank0]: step 100 loss 2.0\n"
JOB = "/v1/jobs/content"
HOOK = "/v1/hooks/job-failed"


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    """One for all tests of this file; at the end nothing has died or been written elsewhere."""
    with attacked(tmp_path_factory.mktemp("content"), TRIAGE_QUIET_S=600) as found:
        yield found
        assert found.faults() == []
        assert found.peaks.api < 300


@pytest.fixture(autouse=True)
def lives(service: Attacked) -> Iterator[None]:
    """After every test the same processes are there."""
    yield
    assert service.process.poll() is None
    assert alive(service.worker)


def compressed(data: bytes) -> bytes:
    return zstandard.ZstdCompressor().compress(data)


def zstd_of_window(log: int) -> bytes:
    """A frame whose header asks for 2**log bytes of window."""
    return b"\x28\xb5\x2f\xfd\x00" + bytes([(log - 10) << 3]) + b"\x01\x00\x00"


@cache
def gzip_bomb(num_mib: int) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    zeros = bytes(MIB)
    return b"".join(packer.compress(zeros) for _ in range(num_mib)) + packer.flush()


CODINGS: list[tuple[str, str, bytes | Callable[[], bytes], set[int]]] = [
    ("gzip-said-plain-sent", "gzip", TEXT, {422}),
    ("zstd-said-plain-sent", "zstd", TEXT, {422}),
    ("gzip-said-zstd-sent", "gzip", compressed(TEXT), {422}),
    ("zstd-said-gzip-sent", "zstd", gzip.compress(TEXT), {422}),
    ("plain-said-gzip-sent", "identity", gzip.compress(b"g" + TEXT, mtime=0), {201}),
    ("nothing-said-zstd-sent", "", compressed(b"z" + TEXT), {201}),
    ("gzip-cut", "gzip", gzip.compress(TEXT * 50)[:-9], {422}),
    ("gzip-head-alone", "gzip", gzip.compress(TEXT)[:10], {422}),
    ("gzip-empty", "gzip", b"", {422}),
    ("gzip-damaged", "gzip", gzip.compress(TEXT * 9)[:-8] + b"damaged!", {422}),
    ("gzip-and-more", "gzip", gzip.compress(TEXT) + b"trailing", {422}),
    ("zstd-cut", "zstd", compressed(TEXT * 50)[:-5], {422}),
    ("zstd-window-of-2-gib", "zstd", zstd_of_window(31), {422, 413}),
    ("zstd-window-of-1-tib", "zstd", zstd_of_window(40), {422, 413}),
    ("gzip-bomb", "gzip", lambda: gzip_bomb(64), {413}),
    ("gzip-bomb-in-gzip", "gzip", lambda: gzip.compress(gzip_bomb(64)), {413, 422, 201}),
    ("gzip-bomb-unsaid", "", lambda: gzip_bomb(64), {413}),
    ("zstd-bomb", "zstd", lambda: compressed(bytes(64 * MIB)), {413}),
    ("nested", "gzip, gzip", gzip.compress(gzip.compress(TEXT)), {415}),
    ("nested-unsaid", "gzip", gzip.compress(gzip.compress(gzip.compress(TEXT))), {201, 422}),
    ("brotli", "br", TEXT, {415}),
    ("deflate", "deflate", zlib.compress(TEXT), {415}),
    ("nonsense", "\xff" * 200, TEXT, {415}),
]


@pytest.mark.parametrize("route", ["artifacts", "bundle"])
@pytest.mark.parametrize(
    ("coding", "body", "wanted"), [c[1:] for c in CODINGS], ids=[c[0] for c in CODINGS]
)
def test_a_content_encoding_that_lies(
    coding: str,
    body: bytes | Callable[[], bytes],
    wanted: set[int],
    route: str,
    service: Attacked,
) -> None:
    body = body() if callable(body) else body
    headers = {"Content-Encoding": coding.encode("latin-1")} if coding else {}
    answer = service.call("POST", f"{JOB}/{route}", body, headers)

    allowed = wanted if route == "artifacts" else (wanted - {201}) | {413, 415, 422}
    assert answer.status in allowed | {200 if 201 in allowed else 422}, answer.body
    assert fault_of(answer) is None


NAMES = [
    "%00", "a%2Fb", "..%2F..%2Fetc", "%2e%2e", "..", "%252e%252e%252f", "..%5c..%5cx", "%ff%fe",
    "%ed%a0%80", "%", "a%0d%0ab", "%1b[2J", "%e2%80%aex", "%e7%af%80", "-rf", "%24(touch%20x)",
    "%3Cscript%3E", "a" * 257, "%41" * 5_000, "%20", "%c2%80", "'%20or%201=1--", "{job_id}",
]  # fmt: skip


@pytest.mark.parametrize("name", NAMES, ids=lambda one: one[:24])
def test_names_are_text_or_refused_and_never_paths(name: str, service: Attacked) -> None:
    body = name.encode()[:80] + b"\n"
    answers = [
        service.call("POST", f"/v1/jobs/{name}/artifacts", body),
        service.call("POST", f"{JOB}-names/artifacts?node={name}", body),
        service.call("POST", f"{JOB}-names/artifacts?filename={name}", body),
        service.call("POST", f"{JOB}-names/artifacts?incident={name}", body),
        service.call("GET", f"/v1/nodes/{name}"),
        service.call("GET", f"/v1/incidents?job_id={name}&node={name}"),
    ]

    assert [fault for one in answers if (fault := fault_of(one))] == []
    for one in answers[:3]:
        if one.status == 201:
            rows = service.items(one.headers["location"])
            assert one.json()["id"] in {row["id"] for row in rows}


@pytest.mark.parametrize(
    "query",
    ["rank=1&rank=2", "filename=a&filename=b", "RANK=1", "rank=%31&rank=1", "rank=1;rank=2",
     "rank=-1", "rank=1e3", "rank=%D9%A1", "rank=00000001", "rank=", "rank=%201", "kind=",
     "kind=FLIGHT_RECORDER", "kind=job_log%00", "incident=", "incident=..%2F..", "&" * 3_000,
     "=" * 3_000, "%FF=%FF", "a[]=1", "access_token=x", "rank[$ne]=1"],
)  # fmt: skip
def test_a_query_that_says_too_much_is_refused(query: str, service: Attacked) -> None:
    answer = service.call("POST", f"{JOB}/artifacts?{query}", TEXT)

    assert answer.status in ({200, 201} if set(query) == {"&"} else {404, 422}), answer.body
    assert fault_of(answer) is None


def nested(opening: str, closing: str, depth: int) -> bytes:
    return (f'{{"job_id":"j","x":{opening * depth}1{closing * depth}}}').encode()


WIDE = '{"job_id":"wide"}'
JSON_BODIES: list[tuple[str, bytes, set[int]]] = [
    ("empty", b"", {400}),
    ("blank", b" \n", {400}),
    ("no-json", b"job_id=4711", {400}),
    ("cut", b'{"job_id": "47', {400}),
    ("two", b'{"job_id":"a"}{"job_id":"b"}', {400}),
    ("twice", b'{"job_id":"a","job_id":"b"}', {400}),
    ("twice-deep", b'{"job_id":"a","x":[{"y":1,"y":2}]}', {400}),
    ("nan", b'{"job_id":"a","world_size":NaN}', {400}),
    ("infinity", b'{"job_id":"a","world_size":-Infinity}', {400}),
    ("float-overflow", b'{"job_id":"a","world_size":1e999}', {400}),
    ("big-whole", b'{"job_id":"a","world_size":' + b"9" * 4_000 + b"}", {202, 400, 422}),
    ("5000-digits", b'{"job_id":"a","x":' + b"9" * 6_000 + b"}", {202, 400, 422}),
    ("deep-lists", nested("[", "]", 100), {400}),
    ("deep-objects", nested('{"a":', "}", 100_000), {400}),
    ("deeper-lists", nested("[", "]", 400_000), {400}),
    ("open-brackets", b"[" * 900_000, {400}),
    ("utf-16", WIDE.encode("utf-16"), {400}),
    ("utf-16-be", WIDE.encode("utf-16-be"), {400, 422}),
    ("utf-32", WIDE.encode("utf-32"), {400}),
    ("latin-1", '{"job_id":"é"}'.encode("latin-1"), {400}),
    ("bom", WIDE.encode("utf-8-sig"), {202}),
    ("surrogate", rb'{"job_id":"a\ud800"}', {202, 400, 422}),
    ("nul", rb'{"job_id":"a\u0000b"}', {422}),
    ("nul-beside", rb'{"job_id":"n","name":"a\u0000b","x":"\u0000"}', {202, 422}),
    ("escape", rb'{"job_id":"\u001b[2J"}', {422}),
    ("list", b"[]", {422}),
    ("text", b'"4711"', {422}),
    ("number", b"4711", {422}),
    ("null", b"null", {422}),
    ("id-null", b'{"job_id":null}', {422}),
    ("id-true", b'{"job_id":true}', {422}),
    ("id-list", b'{"job_id":["a"]}', {422}),
    ("id-empty", b'{"job_id":""}', {422}),
    ("id-long", json.dumps({"job_id": "j" * 257}).encode(), {422}),
    ("id-5000", json.dumps({"job_id": "j" * 5_000}).encode(), {422}),
    ("id-traversal", b'{"job_id":"../../etc/passwd"}', {202}),
    ("facts-odd", b'{"job_id":"o","world_size":"x","nodes":7,"rank_to_node":[],"gpu_bus_ids":"",'
     b'"failed_at":"yesterday"}', {202, 422}),
    ("facts-huge", b'{"job_id":"h","world_size":9007199254740993,"gpus_per_node":-1}', {202, 422}),
    ("nodes-bomb", b'{"job_id":"b","nodelist":"n[000000-999999],m[0-99999999]"}', {202, 422}),
    ("nodes-nested", b'{"job_id":"b2","nodelist":"' + b"n[1-9]" * 40 + b'"}', {202, 422}),
    ("expected-huge", b'{"job_id":"e","expected_artifacts":10000000000000}', {202}),
    ("within-nan", b'{"job_id":"w","collect_within_s":"NaN"}', {202}),
    ("callback-private", b'{"job_id":"c","callback_url":"http://127.0.0.1:1/x"}', {202}),
    ("callback-file", b'{"job_id":"c","callback_url":"file:///etc/passwd"}', {202}),
    ("many-keys", json.dumps({"job_id": "k", **{f"k{n}": n for n in range(50_000)}}).encode(),
     {202, 413, 422}),
    ("one-byte-too-long", b'{"job_id":"' + b"x" * (MIB - 12) + b'"}', {413}),
]  # fmt: skip


@pytest.mark.parametrize(
    ("body", "wanted"), [b[1:] for b in JSON_BODIES], ids=[b[0] for b in JSON_BODIES]
)
def test_a_hook_body_that_is_none(body: bytes, wanted: set[int], service: Attacked) -> None:
    answer = service.call("POST", HOOK, body, {"Content-Type": "application/json"})

    assert answer.status in wanted, answer.body[:500]
    assert fault_of(answer) is None


@pytest.mark.parametrize("hook", ["alertmanager", "cloudevents"])
@pytest.mark.parametrize("body", [b for _, b, _ in JSON_BODIES], ids=[b[0] for b in JSON_BODIES])
def test_the_hooks_of_others_refuse_what_is_not_theirs(
    body: bytes, hook: str, service: Attacked
) -> None:
    answer = service.call("POST", f"/v1/hooks/{hook}", body, {"Content-Type": "application/json"})

    assert answer.status in {202, 400, 413, 415, 422}, answer.body[:500]
    assert fault_of(answer) is None


@pytest.mark.parametrize(
    "content_type",
    ["", "text/plain", "application/xml", "application/json; charset=utf-16", "multipart/form-data",
     "application/x-www-form-urlencoded", "application/cloudevents+json", "\xff/\xff", "a" * 5_000,
     "application/cloudevents-batch+json", "application/x-python-pickle"],
    ids=lambda one: one[:30] or "none",
)  # fmt: skip
@pytest.mark.parametrize("hook", ["job-failed", "alertmanager", "cloudevents"])
def test_another_content_type_is_read_as_json_or_refused(
    content_type: str, hook: str, service: Attacked
) -> None:
    headers = {"Content-Type": content_type.encode("latin-1")} if content_type else {}
    answer = service.call("POST", f"/v1/hooks/{hook}", b'{"job_id":"typed"}', headers)

    assert answer.status in {202, 400, 415, 422}, answer.body[:500]
    assert fault_of(answer) is None
