"""Each page over an incident that was really analysed: what stands on it, and in which order."""

import gzip
import json
import re
import struct
from urllib.parse import quote

import pytest

from tests.api.service import Service
from tests.web.site import GOOD, Reading, Visit, analyse, sent

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self';"
    " form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


@pytest.fixture
def visit(opened: Service) -> Visit:
    return Visit(opened)


def every_page(ready: str) -> list[str]:
    return [
        "/incidents", f"/incidents/{ready}", f"/incidents/{ready}?revision=1",
        f"/incidents/{ready}/answer", f"/incidents/{ready}/evidence", f"/incidents/{ready}/files",
        f"/incidents/{ready}/raw?file=nodes/gpu-0102/kernel.log&line=10",
        f"/incidents/{ready}/raw?file=fr/comm_lib_trace_rank_3", "/nodes/gpu-0102", "/queue",
        "/upload", "/fleet", "/fleet/nodes", "/fleet/repairs", "/fleet/plan", "/fleet/checks",
        "/problems",
    ]  # fmt: skip


def test_every_page_is_strict_and_holds_no_script_or_style_of_its_own(
    visit: Visit, ready: str
) -> None:
    for path in every_page(ready):
        answer = visit.get(path)
        assert answer.status == 200, path
        assert answer.headers["content-security-policy"] == POLICY, path
        assert answer.headers["content-type"] == "text/html; charset=utf-8"
        assert answer.headers["x-content-type-options"] == "nosniff"
        page = Reading(answer.body.decode())
        for tag, attributes in page.tags:
            assert tag != "style", path
            assert "style" not in attributes, (path, tag)
            assert not [name for name in attributes if name.startswith(("on", "hx-on"))], path
            assert tag != "script" or attributes.get("src", "").startswith("/static/"), path
            for name in ("href", "src", "action", "hx-get", "data-src"):
                assert attributes.get(name, "/").startswith(("/", "#")), (path, attributes)


def test_every_link_of_every_page_leads_somewhere(visit: Visit, ready: str) -> None:
    seen: set[str] = set()
    for path in every_page(ready):
        page = visit.read(path)
        names = {tag.get("id") for _, tag in page.tags}
        for link in page.links():
            where, _, mark = link.partition("#")
            if where and where not in seen:
                seen.add(where)
                answer = visit.get(where)
                assert answer.status == 200, (path, link)
            if mark and not where:
                assert mark in names, (path, link)
        assets = [one["src"] for one in page.all("script")]
        assets += [one["href"] for one in page.all("link")]
        for asset in assets:
            answer = visit.get(asset)
            assert answer.status == 200, asset
            assert "immutable" in answer.headers["cache-control"]
    assert len(seen) > 15


def test_the_page_tells_in_the_order_that_is_needed(visit: Visit, ready: str) -> None:
    page = visit.read(f"/incidents/{ready}")
    words = page.words
    headings = re.findall(r"<h2[^>]*>([^<]+)</h2>", visit.get(f"/incidents/{ready}").body.decode())
    assert headings == [
        "Suspects", "Coverage", "Next step", "Ranks", "Who waits for whom", "What happened when",
        "Collectives in question", "Evidence", "What it turned out to be",
    ]  # fmt: skip
    summary = visit.service.get(f"/v1/incidents/{ready}", token=None).json()["verdict"]["summary"]
    assert len(page.all("h1")) == 1
    order = [
        summary, "restart without gpu-0102 (up to 3 times)", "culprit", "Victims",
        "Dumps read: 7 of 8 ranks", "Drain gpu-0102",
        "scontrol update nodename=gpu-0102", "the others wait for it", "CULPRIT rank 2", "given up",
    ]  # fmt: skip
    places = [words.index(part) for part in order]
    assert places == sorted(places)


def test_an_incident_leads_to_those_of_its_kind(visit: Visit, ready: str) -> None:
    page = visit.read(f"/incidents/{ready}")
    assert " of its kind" in page.words or " of this kind in " in page.words
    where = next(link for link in page.links() if link.startswith("/incidents?problem="))
    assert f"/incidents/{ready}" in visit.read(where).links()
    problems = visit.read("/problems?node=gpu-0102&category=gpu")
    assert where in problems.links()
    assert "No problem is like that." in visit.read("/problems?node=another").words


def test_a_reason_opens_the_file_at_its_line(visit: Visit, ready: str) -> None:
    page = visit.read(f"/incidents/{ready}")
    place = next(one for one in page.links() if "/raw?" in one and "line=" in one)
    where, _, mark = place.partition("#")
    raw = visit.read(where)
    [marked] = raw.all("tr", class_="marked") or raw.all("tr", **{"class": "marked"})
    assert marked["id"] == mark
    line = int(mark.removeprefix("L"))
    text = GOOD["nodes/gpu-0102/kernel.log"].decode().splitlines()[line - 1]
    assert text in "".join(raw.pieces)


def test_the_grid_holds_every_rank(visit: Visit, ready: str) -> None:
    page = visit.read(f"/incidents/{ready}")
    [figure] = page.all("figure", id="rank-grid")
    answer = visit.get(figure["data-src"])
    assert answer.headers["content-type"] == "application/octet-stream"
    data = gzip.decompress(answer.body)
    (length,) = struct.unpack_from("<I", data)
    head = json.loads(data[4 : 4 + length])
    assert head["num"] == 8
    assert head["ranks"] == "0-7"
    assert [count for _, count in head["nodes"]] == [2, 2, 2, 2]
    states = [head["states"][one] for one in data[-8:]]
    assert states == ["waiting", "waiting", "culprit", *["waiting"] * 5]
    assert visit.get(figure["data-src"], If_None_Match=answer.headers["etag"]).status == 304


def test_the_list_is_filtered_by_its_address(visit: Visit, ready: str) -> None:
    for query, there in (
        ("job_id=4711", True), ("job_id=4712", False), ("node=gpu-0102", True), ("node=x", False),
        ("category=gpu", True), ("category=nic", False), ("state=ready", True),
        ("state=failed", False), ("job_id=4711&category=gpu&state=ready", True),
        ("cluster=elsewhere", False),
    ):  # fmt: skip
        page = visit.read(f"/incidents?{query}")
        assert (f"/incidents/{ready}" in page.links()) is there, query
        for part in query.split("&"):
            name, value = part.split("=")
            fields = page.all("input", name=name) or page.all("option", selected="")
            assert any(value == one.get("value", value) for one in fields), query


def test_a_blank_filter_is_no_part_of_the_address(visit: Visit, ready: str) -> None:
    answer = visit.get("/incidents?job_id=&node=&category=gpu&state=")
    assert (answer.status, answer.headers["location"]) == (303, "/incidents?category=gpu")
    answer = visit.get(f"/incidents/{ready}?role=root&node=&kind=")
    assert answer.headers["location"] == f"/incidents/{ready}?role=root"


@pytest.mark.parametrize(
    "path",
    [
        "/incidents?categroy=gpu", "/incidents?category=gpus", "/incidents?state=x&state=ready",
        "/incidents?cursor=%00", "/incidents/{}?revision=0", "/incidents/{}?role=boss",
        "/incidents/{}?kind=x", "/incidents/{}/raw?file=a&line=0", "/incidents/{}/raw",
    ],
)  # fmt: skip
def test_an_address_that_says_too_much_is_refused_on_a_page(
    visit: Visit, ready: str, path: str
) -> None:
    answer = visit.get(path.format(ready))
    assert answer.status == 422
    assert answer.headers["content-security-policy"] == POLICY
    assert "Cannot be processed" in Reading(answer.body.decode()).words


@pytest.mark.parametrize(
    "path",
    [
        "/incidents/inc_none", "/incidents/%2e%2e", "/incidents/{}?revision=99", "/nodes/nobody",
        "/incidents/{}/raw?file=../../etc/passwd", "/incidents/{}/raw/bytes?file=/etc/passwd",
        "/incidents/inc_none/grid?revision=1", "/incidents/inc_none/evidence",
    ],
)  # fmt: skip
def test_what_is_not_there_is_said_on_a_page(visit: Visit, ready: str, path: str) -> None:
    answer = visit.get(path.format(ready))
    assert answer.status == 404
    assert "root:" not in answer.body.decode()
    assert "/v1/" not in Reading(answer.body.decode()).words


def test_evidence_is_filtered_and_goes_on(visit: Visit, ready: str) -> None:
    root = visit.read(f"/incidents/{ready}?role=root")
    everything = visit.read(f"/incidents/{ready}?role=any")
    assert len(everything.all("tr")) > len(root.all("tr"))
    only = visit.read(f"/incidents/{ready}/evidence?role=any&kind=xid")
    assert "xid" in only.words
    assert "flight-recorder dump" not in only.words
    assert "flight-recorder dump" in everything.words


def test_a_page_that_did_not_change_is_not_sent_again(visit: Visit, ready: str) -> None:
    first = visit.get(f"/incidents/{ready}")
    assert visit.get(f"/incidents/{ready}", If_None_Match=first.headers["etag"]).status == 304


def test_what_it_turned_out_to_be_is_kept(visit: Visit, ready: str) -> None:
    page = visit.read(f"/incidents/{ready}")
    assert "The verdict is right" in page.words
    answer = visit.submit(
        f"/incidents/{ready}/resolution",
        {"word": visit.word(), "category": "network", "node": "gpu-0102", "note": "the <b>cable"},
    )
    assert (answer.status, answer.headers["location"]) == (303, f"/incidents/{ready}#resolution")
    page = visit.read(f"/incidents/{ready}")
    assert "the <b>cable" in page.words
    found = visit.service.get(f"/v1/incidents/{ready}", token=None).json()["resolution"]
    assert (found["category"], found["node"]) == ("network", "gpu-0102")
    assert "network" in visit.read("/nodes/gpu-0102").words
    wrong = visit.submit(
        f"/incidents/{ready}/resolution", {"word": visit.word(), "category": "bad luck"}
    )
    assert wrong.status == 422


def test_the_part_that_is_live_asks_for_itself_until_all_is_settled(opened: Service) -> None:
    visit = Visit(opened)
    incident = sent(opened, "live", {"nodes/n1/kernel.log": b"[1.0] all is well\n"})
    page = visit.read(f"/incidents/{incident}")
    [part] = page.all("div", id="answer")
    assert part["hx-get"] == f"/incidents/{incident}/answer"
    told = json.loads(part["hx-headers"])
    assert visit.get(part["hx-get"], **told).status == 304
    analyse(opened)
    answer = visit.get(part["hx-get"], **told)
    assert answer.status == 200
    [part] = Reading(answer.body.decode()).all("div", id="answer")
    assert "hx-get" not in part


def test_what_was_seen_first_stands_below_the_verdict_where_nobody_is_named(
    opened: Service,
) -> None:
    line = (
        "[rank1]:[E1206 18:44:11.715298711 ProcessGroupNCCL.cpp:632] [Rank 1] Watchdog caught"
        " collective operation timeout: WorkNCCL(SeqNum=912, OpType=ALLREDUCE, NumelIn=8,"
        " NumelOut=8, Timeout(ms)=600000) ran for 600035 milliseconds before timing out."
    )
    incident = sent(opened, "unnamed", {"job.log": f"{line}\n".encode()})
    analyse(opened)
    report = opened.get(f"/v1/incidents/{incident}/report", token=None).json()
    (seen,) = report["symptoms"]
    page = Visit(opened).read(f"/incidents/{incident}")
    said = f"rank 1, ALLREDUCE, number 912: {seen['text']} job.log:1"
    order = [report["verdict"]["summary"], "Seen first", said, "Suspects"]
    places = [page.words.index(part) for part in order]
    assert places == sorted(places)
    assert any("file=job.log&line=1" in link for link in page.links())


def test_an_older_revision_says_that_it_is_one(opened: Service) -> None:
    visit = Visit(opened)
    kernel = {"nodes/gpu-0102/kernel.log": GOOD["nodes/gpu-0102/kernel.log"]}
    incident = sent(opened, "revised", kernel)
    analyse(opened)
    before = visit.read(f"/incidents/{incident}").all("h1")
    opened.post(
        f"/v1/jobs/revised/artifacts?incident={incident}&filename=comm_lib_trace_rank_3",
        GOOD["fr/comm_lib_trace_rank_3"], token=None,
    )  # fmt: skip
    analyse(opened)
    assert before
    page = visit.read(f"/incidents/{incident}?revision=1")
    assert "an answer of before" in page.words
    assert f"/incidents/{incident}" in page.links()
    newest = visit.read(f"/incidents/{incident}")
    assert "an answer of before" not in newest.words
    assert f"/incidents/{incident}?revision=2" in newest.links()


def test_a_node_has_its_history_and_the_search_finds_it(visit: Visit, ready: str) -> None:
    answer = visit.get("/nodes?name=gpu-0102")
    assert (answer.status, answer.headers["location"]) == (303, "/nodes/gpu-0102")
    page = visit.read("/nodes/gpu-0102")
    assert f"/incidents/{ready}" in page.links()
    assert "xid 79" in page.words
    assert visit.get("/nodes?name=").headers["location"] == "/incidents"
    assert visit.get("/nodes?name=a/b").headers["location"] == "/nodes/a%2Fb"


def test_the_queue_shows_what_waits_and_why(opened: Service) -> None:
    visit = Visit(opened)
    incident = sent(opened, "waits", {"k.log": b"[1.0] x\n"})
    page = visit.read("/queue")
    assert f"/incidents/{incident}" in page.links()
    assert {"parse", "analyse"} <= set(page.words.split())
    analyse(opened)
    assert f"/incidents/{incident}" not in visit.read("/queue").links()


def test_a_message_is_sent_again_by_its_button(opened: Service) -> None:
    visit = Visit(opened)
    made = opened.post(
        "/v1/subscriptions", {"kind": "generic", "url": "http://127.0.0.1:9/hook"}, token=None
    )
    assert made.status == 201, made.body
    incident = sent(opened, "told", {"k.log": b"[1.0] x\n"})
    analyse(opened)
    page = visit.read("/queue")
    action = next(
        one["action"] for one in page.all("form", method="post") if "resend" in one["action"]
    )
    assert "incident.ready" in page.words
    assert f"/incidents/{incident}" in page.links()
    assert visit.submit(action, {"word": "wrong"}).status == 403
    assert visit.submit(action, {"word": visit.word()}).status == 303
    unknown = "/queue/deliveries/none/resend"
    assert visit.submit(unknown, {"word": visit.word()}).status == 404
    opened.call("DELETE", f"/v1/subscriptions/{made.json()['id']}", token=None)


def test_a_file_is_saved_and_never_drawn(visit: Visit, ready: str) -> None:
    name = "nodes/gpu-0102/kernel.log"
    answer = visit.get(f"/incidents/{ready}/raw/bytes?file={quote(name)}")
    assert answer.body == GOOD[name]
    assert answer.headers["content-type"] == "application/octet-stream"
    assert answer.headers["content-disposition"] == (
        'attachment; filename="nodes_gpu-0102_kernel.log"'
    )
    assert answer.headers["x-content-type-options"] == "nosniff"
