"""Inventories of parts: long and wide tables, placeholders, what is no inventory, hostile rows."""

import io

import pytest

from triage.domain.hardware import HardwareKind, normalize_identity
from triage.errors import UnknownFormat
from triage.fleet.domain.exposure import PartSeen
from triage.fleet.parsers.read import read_exposure
from triage.fleet.parsers.rows import Unread

GPU = "GPU-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14"


def rows(text: str) -> list[object]:
    found = read_exposure(io.BytesIO(text.encode()))
    assert found.format == "hardware"
    return list(found.rows)


def parts(text: str) -> list[tuple[str, str, str, str]]:
    return [
        (row.node, str(row.part.kind), row.part.identity, row.part.slot)
        for row in rows(text)
        if isinstance(row, PartSeen)
    ]


def test_a_long_table_says_kind_identity_slot_and_time() -> None:
    [row] = rows(
        f"node,kind,identity,slot,seen_at\nn12,gpu,{GPU},00000000:5D:00.0,2026-03-04T10:00Z\n"
    )
    assert isinstance(row, PartSeen)
    assert (row.part.slot, row.first_at, row.last_at) == ("0000:5d:00", row.last_at, row.first_at)
    assert f"{row.first_at:%d.%m.%Y %H}" == "04.03.2026 10"


@pytest.mark.parametrize("kind", ["gpu_board", "GPU board", "gpu_serial"])
def test_a_kind_is_taken_without_case_and_blanks(kind: str) -> None:
    found = parts(f"node,slot,kind,identity\nn12,3,{kind},1655023014410\n")
    assert found == [("n12", "gpu_board", "1655023014410", "3")]


@pytest.mark.parametrize("header", ["node,slot,gpu_serial", "node,rack,gpu0_uuid", "node,nic_guid"])
def test_a_table_of_identities_without_kinds_is_no_inventory(header: str) -> None:
    with pytest.raises(UnknownFormat, match="node, kind and identity"):
        read_exposure(io.BytesIO(f"{header}\nn12,3,1655023014410\n".encode()))


@pytest.mark.parametrize(
    "header",
    ["node,generation,rack", "node,batch,cage,slot,role", "node,from,to,reason"],
)
def test_other_tables_are_none_of_these(header: str) -> None:
    line = ",".join(["n1", *(["2026-01-01"] * header.count(","))])
    assert read_exposure(io.BytesIO(f"{header}\n{line}\n".encode())).format != "hardware"


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "N/A", "[N/A]", "Not Specified", "To be filled by O.E.M.", "None",
        "Default string",
        "0", "0000000000000", "0x0000000000000000", "ffffffffffffffff", "XXXXXXXX", "123456789",
        "0123456789", "System Serial Number", "Unknown", "........", "Not Available", "1",
        "x" * 65, "J30\x0009X4K", "J30\n09X4K", "J3009é4K",
        "'; drop table node; --", "<b>J3009</b>", "AB",
    ],
)  # fmt: skip
def test_a_placeholder_is_no_identity(text: str) -> None:
    for kind in HardwareKind:
        assert normalize_identity(kind, text) is None


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("gpu", GPU.lower(), GPU),
        ("gpu", "MIG-8a1f0c52-9d3e-4b7a-8f16-2c5d7e9a0b14", None),
        ("gpu", "GPU-00000000-0000-0000-0000-000000000000", None),
        ("nic", "b8ce:f603:00aa:bbcc", "b8cef60300aabbcc"),
        ("nic", "MT2344FT11902", "MT2344FT11902"),
        ("chassis", " j3009x4k ", "J3009X4K"),
        ("board", ".J3009X4K.CN74751.", "J3009X4K.CN74751"),
        ("gpu_board", "1655023014410", "1655023014410"),
    ],
)
def test_one_identity_has_one_spelling(kind: str, text: str, expected: str | None) -> None:
    assert normalize_identity(HardwareKind(kind), text) == expected


def test_a_bad_row_stops_no_other() -> None:
    found = rows(
        "node,kind,identity\n"
        f"n1,toaster,{GPU}\n"
        f"n1,gpu,{'G' * 3000}\n"
        f"n1\x1b,gpu,{GPU}\n"
        "n1,gpu\n"
        f"n2,gpu,{GPU}\n"
        "n3,chassis,Not Specified\n"
    )
    assert [row.line for row in found if isinstance(row, Unread)] == [2, 3, 4, 5]
    assert [row.node for row in found if isinstance(row, PartSeen)] == ["n2"]
