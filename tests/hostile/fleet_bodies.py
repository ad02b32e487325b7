"""Bodies for the routes that feed the fleet, made to hurt: each with the request around it.

Everything here has to end as a success or as a problem document that says where and why; a
body that holds good rows beside bad ones is taken as far as it is good.
"""

import gzip
import random
from collections.abc import Iterator
from functools import cache

import zstandard

from tests.hostile.fleet_body import ENDED, NOW, RAW, FleetBody, body
from tests.hostile.fleet_checks import checks
from tests.hostile.fleet_heavy import heavy
from tests.hostile.fleet_imports import hooks, imports
from tests.hostile.fleet_telemetry import telemetry


@cache
def fleet_bodies() -> list[FleetBody]:
    """All of them, light ones first."""
    found = [*of_any_kind(), *packed(), *checks(), *telemetry(), *imports(), *hooks()]
    found += heavy()
    return sorted(found, key=lambda one: one.heavy)


def of_any_kind() -> Iterator[FleetBody]:
    """What is sent to every route that takes a file."""
    chance = random.Random(8)
    csv = f"at,node,gpu_temp_c\n{NOW:%Y-%m-%dT%H:%M:%SZ},n0,61\n"
    whole = {
        "empty": b"",
        "nul": bytes(5000),
        "ff": b"\xff" * 5000,
        "random": chance.randbytes(9000),
        "line-feeds": b"\n" * 100_000,
        "braces": b"{" * 100_000,
        "brackets": b"[" * 100_000,
        "utf-16": csv.encode("utf-16"),
        "utf-16-cut": csv.encode("utf-16")[:-1],
        "utf-32": csv.encode("utf-32"),
        "bom": b"\xef\xbb\xbf" * 9 + csv.encode(),
        "latin-1": csv.replace("n0", "né").encode("latin-1"),
        "half-utf-16": csv.encode() + csv.encode("utf-16-le"),
        "carriage-returns": csv.replace("\n", "\r").encode(),
        "quote-never-closed": csv.encode() + b'"' + b"x" * 70_000,
        "json-number": b"1" * 100_000,
        "json-exponent": b"1e" + b"9" * 5000,
        "json-cut": b'{"status":"success","data":{"resultType":"matrix","result":[{"metric":',
        "tar": bytes(257) + b"ustar" + bytes(2000),
        "zip": b"PK\x03\x04" + bytes(2000),
        "elf": b"\x7fELF" + bytes(2000),
        "pickle": b"\x80\x04\x95" + b"\xff" * 8 + b"c",
    }
    for route in RAW:
        for name, data in whole.items():
            yield body(name, route, data)


def packed() -> Iterator[FleetBody]:
    """Packed bodies that are cut, damaged, doubled, or grow."""
    text = b"x" * 5000
    zipped, squeezed = gzip.compress(text), zstandard.ZstdCompressor().compress(text)
    parts = {
        "gzip-cut": ("gzip", zipped[:-9]),
        "gzip-damaged": ("gzip", zipped[:-8] + b"damaged!"),
        "gzip-empty": ("gzip", b""),
        "gzip-twice": ("gzip", gzip.compress(gzip.compress(zipped))),
        "gzip-not": ("gzip", text),
        "zstd-cut": ("zstd", squeezed[:-5]),
        "zstd-not": ("zstd", text),
        "both": ("gzip, zstd", zipped),
        "brotli": ("br", text),
        "odd": ("\xe9" * 300, text),
        "zstd-window": ("zstd", b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00"),
    }
    for route in RAW:
        for name, (coding, data) in parts.items():
            yield body(name, route, data, headers={"Content-Encoding": coding})
    yield body("gzip", ENDED, gzip.compress(b"{}"), headers={"Content-Encoding": "gzip"})
