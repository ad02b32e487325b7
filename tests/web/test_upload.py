"""Uploading from a page: the form with and without its script, and what is refused."""

import io
import tarfile

import pytest

from tests.api.service import Answer, Service
from tests.services.whole_jobs import tar_of
from tests.web.site import GOOD, Reading, Visit, analyse
from triage.services.tokens import create_token

BOUNDARY = "x7"


def form(fields: dict[str, str], files: dict[str, bytes]) -> bytes:
    found = b""
    for name, value in fields.items():
        found += part(f'name="{name}"', value.encode())
    for name, data in files.items():
        found += part(f'name="files"; filename="{name}"', data)
    return found + f"--{BOUNDARY}--\r\n".encode()


def part(about: str, content: bytes) -> bytes:
    head = f"--{BOUNDARY}\r\nContent-Disposition: form-data; {about}\r\n\r\n"
    return head.encode() + content + b"\r\n"


def upload(visit: Visit, files: dict[str, bytes], **fields: str) -> Answer:
    sent = {"word": visit.word(), "job_id": "", **fields}
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    return visit.service.call(
        "POST", "/upload", form(sent, files), token=None, headers=visit.headers(headers)
    )


def answered(visit: Visit, where: str) -> str:
    analyse(visit.service)
    return visit.read(where).words


@pytest.fixture
def visit(opened: Service) -> Visit:
    return Visit(opened)


def test_a_folder_sent_by_the_plain_form_is_answered_at_once(visit: Visit) -> None:
    answer = upload(visit, {f"drill/{name}": data for name, data in GOOD.items()}, job_id="plain")
    assert answer.status == 303
    words = answered(visit, answer.headers["location"])
    assert "GPU has fallen off the bus" in words
    assert "this page follows" not in words
    found = visit.service.get("/v1/incidents?job_id=plain", token=None).json()["items"]
    assert [one["state"] for one in found] == ["ready"]
    assert found[0]["verdict"]["cordon"] == ["gpu-0102"]


@pytest.mark.parametrize("name", ["drill.tar", "drill.tar.gz", "without-a-suffix"])
def test_a_tar_is_taken_apart(visit: Visit, name: str) -> None:
    data = tar_of(GOOD)
    if name.endswith("gz"):
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as tar:
            for one, content in GOOD.items():
                info = tarfile.TarInfo(one)
                info.size = len(content)
                tar.addfile(info, io.BytesIO(content))
        data = packed.getvalue()
    answer = upload(visit, {name: data}, job_id=f"tar {name}")
    assert answer.status == 303
    assert "GPU has fallen off the bus" in answered(visit, answer.headers["location"])


def test_the_script_sends_one_tar_and_is_told_where_to_go(visit: Visit) -> None:
    answer = visit.service.call(
        "POST", "/upload/bundle?job_id=script", tar_of(GOOD), token=None,
        headers={"X-Triage-Word": visit.word()},
    )  # fmt: skip
    assert answer.status == 200
    told = answer.json()
    assert told["num_files"] == len(GOOD)
    assert told["refused"] == []
    assert "GPU has fallen off the bus" in answered(visit, told["incident"])


def test_the_cluster_is_taken_from_the_form_and_from_the_script(visit: Visit) -> None:
    by_form = upload(visit, {"a.log": b"[1.0] x\n"}, job_id="two", cluster=" east ")
    by_script = visit.service.call(
        "POST", "/upload/bundle?job_id=two&cluster=west", tar_of(GOOD), token=None,
        headers={"X-Triage-Word": visit.word()},
    )  # fmt: skip
    assert (by_form.status, by_script.status) == (303, 200)
    found = visit.service.get("/v1/incidents?job_id=two", token=None).json()["items"]
    assert sorted(one["cluster"] for one in found) == ["east", "west"]
    refused = upload(visit, {"a.log": b"[1.0] x\n"}, cluster="e" * 300)
    assert refused.status == 422
    assert "the cluster: " in Reading(refused.body.decode()).words
    assert visit.read("/upload?cluster=east").all("input", name="cluster")[0]["value"] == "east"


def test_a_visitor_of_one_cluster_uploads_to_it_alone(service: Service) -> None:
    visit = Visit(service)
    token = create_token(service.ctx, "east", ["ingest"], "test", cluster="east")[1]
    visit.submit("/login", {"token": token})
    (field,) = visit.read("/upload?cluster=west").all("input", name="cluster")
    assert (field["value"], "readonly" in field) == ("east", True)
    there = upload(visit, {"a.log": b"[1.0] x\n"}, job_id="bound")
    other = upload(visit, {"a.log": b"[1.0] x\n"}, job_id="bound", cluster="west")
    assert (there.status, other.status) == (303, 422)
    assert "bound to the cluster" in Reading(other.body.decode()).words
    found = service.get("/v1/incidents?job_id=bound").json()["items"]
    assert [one["cluster"] for one in found] == ["east"]


def test_a_job_without_a_name_gets_one(visit: Visit) -> None:
    answer = upload(visit, {"a.log": b"[1.0] all is well\n"})
    assert "upload-20" in answered(visit, answer.headers["location"])


def test_what_is_refused_is_listed_and_the_rest_goes_on(visit: Visit) -> None:
    files = {"k.log": b"[1.0] all is well\n", "b.tar.gz": b"\x1f\x8b\x08 broken"}
    answer = upload(visit, files, job_id="mixed")
    page = Reading(answer.body.decode())
    assert answer.status == 200
    assert "1 file taken, 1 refused" in page.words
    assert "b.tar.gz" in page.words
    [where] = [link for link in page.links() if link.startswith("/incidents/")]
    assert visit.get(where).status == 200


@pytest.mark.parametrize(
    ("files", "says"),
    [({}, "no file was chosen"), ({"": b""}, "no file was chosen"), ({"a.tar": b""}, "a.tar")],
)
def test_an_upload_without_a_good_file_says_what_to_choose(
    visit: Visit, files: dict[str, bytes], says: str
) -> None:
    answer = upload(visit, files)
    assert answer.status == 422
    assert says in Reading(answer.body.decode()).words


def test_a_form_that_is_not_signed_leaves_nothing(visit: Visit) -> None:
    files = {"k.log": b"[1.0] all is well\n"}
    for word in ("", "wrong"):
        assert upload(visit, files, job_id="foreign", word=word).status == 403
    unsigned = form({"job_id": "foreign"}, files) + b""
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    answer = visit.service.call("POST", "/upload", unsigned, token=None, headers=headers)
    assert answer.status == 403
    bundle = visit.service.call("POST", "/upload/bundle?job_id=foreign", tar_of(files), token=None)
    assert bundle.status == 403
    bundle.problem()
    found = visit.service.get("/v1/incidents?job_id=foreign", token=None).json()
    assert found["items"] == []


def test_a_form_that_breaks_off_is_refused(visit: Visit) -> None:
    whole = form({"word": visit.word(), "job_id": "cut"}, {"k.log": b"[1.0] x\n" * 50})
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}"}
    answer = visit.service.call("POST", "/upload", whole[:-60], token=None, headers=headers)
    assert answer.status == 400
    found = visit.service.get("/v1/incidents?job_id=cut", token=None).json()
    assert found["items"] == []


def test_an_incident_that_somebody_reported_goes_on_waiting(visit: Visit) -> None:
    incident = visit.service.post(
        "/v1/hooks/job-failed", {"job_id": "reported", "expected_artifacts": 5}, token=None
    ).json()["incident"]["id"]
    answer = upload(visit, {"k.log": b"[1.0] all is well\n"}, job_id="reported")
    assert answer.headers["location"] == f"/incidents/{incident}"
    analyse(visit.service)
    found = visit.service.get(f"/v1/incidents/{incident}", token=None).json()
    assert (found["state"], found["num_artifacts"]) == ("collecting", 1)
    assert "1 of 5 files read" in visit.read(f"/incidents/{incident}").words


@pytest.mark.parametrize("name", ["a\u202eb.log", "a\nb.log", "a\x00b.log", "\x1b[31m.log"])
def test_a_name_that_plays_tricks_is_refused_and_shown_as_it_is(visit: Visit, name: str) -> None:
    escaped = name.replace("\n", "%0A")
    answer = upload(visit, {escaped: b"[1.0] x\n", "good.log": b"[1.0] y\n"}, job_id="tricks")
    text = answer.body.decode()
    assert answer.status == 200
    assert "control characters" in text
    assert not [char for char in name if not char.isprintable() and char in text.replace("\n", "")]
