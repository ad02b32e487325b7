"""``GET /v1/fleet/hardware``: where a part is and was, asked as people spell it."""

import pytest

from tests.api.service import Service

GPU = "GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14"
ROWS = (
    "node,kind,identity,slot,seen_at,cluster\n"
    f"n12,gpu,{GPU},0000:5d:00,2026-11-01T00:00:00Z,parts\n"
    f"m7,gpu,{GPU},0000:5d:00,2026-11-10T00:00:00Z,parts\n"
)


@pytest.fixture(autouse=True)
def told_of_parts(service: Service) -> None:
    assert service.post("/v1/fleet/import", ROWS.encode(), token="ingest").status == 200


def test_the_stays_of_a_part_come_newest_first(service: Service) -> None:
    found = service.get(f"/v1/fleet/hardware?identity={GPU.lower()}", token="read").json()
    assert [(one["node"], one["cluster"], one["slot"]) for one in found["stays"]] == [
        ("m7", "parts", "0000:5d:00"),
        ("n12", "parts", "0000:5d:00"),
    ]
    assert found["more"] is False


def test_the_parts_of_a_node_say_where_else_each_was(service: Service) -> None:
    found = service.get("/v1/fleet/hardware?node=n12&limit=1", token="read").json()
    assert [one["identity"] for one in found["stays"]] == [GPU]
    [part] = service.get("/v1/nodes/n12", token="read").json()["parts"]
    assert [one["node"] for one in part["elsewhere"]] == ["m7"]


@pytest.mark.parametrize("query", ["", "?identity=N/A", "?identity=%25", "?identity=a%27--b"])
def test_what_names_no_part_is_refused_with_its_place(service: Service, query: str) -> None:
    answer = service.get(f"/v1/fleet/hardware{query}", token="read")
    assert answer.status == 422
    assert [one["parameter"] for one in answer.json()["errors"]] == ["identity"]
