"""Own signatures over HTTP: uploaded, shown, removed."""

from tests.api.service import Service
from tests.services.signatures.test_own_in_service import OTHER, OWN

BASE = "/v1/signatures"


def test_a_file_is_uploaded_shown_and_removed(service: Service) -> None:
    kept = service.post(f"{BASE}/board", OTHER, token="admin")
    assert (kept.status, kept.json()["num_signatures"]) == (200, 1)
    assert [one["name"] for one in service.get(BASE, token="admin").json()["items"]] == ["board"]
    shown = service.get(f"{BASE}/board", token="admin").json()
    assert shown["body"] == OTHER.decode()
    assert service.call("DELETE", f"{BASE}/board", None, token="admin").status == 204
    assert service.get(f"{BASE}/board", token="admin").status == 404


def test_faults_are_a_problem_document_with_lines(service: Service) -> None:
    got = service.post(f"{BASE}/board", OWN.replace(b'"io_board"', b'"riser"'), token="admin")
    assert got.status == 422
    (fault,) = got.json()["errors"]
    assert fault["pointer"] == "#/4"
    assert fault["message"].startswith("line 4: category 'riser' is none of")
    assert service.post(f"{BASE}/board", b"#" * 300_000, token="admin").status == 413
    assert service.post(f"{BASE}/board", b"\xff\x00", token="admin").status == 422
