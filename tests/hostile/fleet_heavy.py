"""Bodies that cost: long lines, many columns, many names, what swells."""

import zlib
from collections.abc import Iterator

import zstandard

from tests.formats.health import samples
from tests.hostile.fleet_body import CHECKS, IMPORT, MIB, NOW, RAW, TELEMETRY, FleetBody, body
from tests.hostile.fleet_checks import LOG
from tests.hostile.fleet_imports import TABLES


def grown(line: bytes, num_bytes: int, head: bytes = b"") -> bytes:
    return head + line * (num_bytes // len(line))


def bomb(line: bytes, num_mib: int, coding: str, head: bytes = b"") -> bytes:
    """Much of one line in few bytes."""
    block = grown(line, MIB)
    if coding == "zstd":
        packer = zstandard.ZstdCompressor(level=3).compressobj()
        return b"".join(
            [
                packer.compress(head),
                *(packer.compress(block) for _ in range(num_mib)),
                packer.flush(),
            ]
        )
    zipper = zlib.compressobj(1, wbits=31)
    return b"".join(
        [zipper.compress(head), *(zipper.compress(block) for _ in range(num_mib)), zipper.flush()]
    )


def heavy() -> Iterator[FleetBody]:
    """Those that cost: long lines, many columns, many names, what swells."""
    now = f"{NOW:%Y-%m-%dT%H:%M:%SZ}".encode()
    row = {
        CHECKS: b'{"node":"h9","check":"a","status":"pass"}\n',
        IMPORT: b"1," + now + b",\n",
        TELEMETRY: now + b",h9,61\n",
    }
    head = {
        CHECKS: b"",
        IMPORT: b"job_id,started_at,ended_at\n",
        TELEMETRY: b"at,node,gpu_temp_c\n",
    }
    for route in RAW:
        for coding in ("gzip", "zstd"):
            for name, line, first in (
                ("zeros", bytes(1024), b""),
                ("rows", row[route], head[route]),
            ):
                yield body(
                    f"{coding}-bomb-of-{name}",
                    route,
                    lambda line=line, coding=coding, first=first: bomb(line, 400, coding, first),
                    headers={"Content-Encoding": coding},
                    heavy=True,
                )
                yield body(
                    f"{coding}-bomb-of-{name}-unsaid",
                    route,
                    lambda line=line, coding=coding, first=first: bomb(line, 100, coding, first),
                    heavy=True,
                )
        first = head[route]
        yield body(
            "line-of-100-mb", route, lambda first=first: first + b"x" * (100 * MIB), heavy=True
        )
        yield body(
            "cell-of-100-mb",
            route,
            lambda first=first: first + b'"' + b"x," * (50 * MIB),
            heavy=True,
        )
        yield body(
            "million-columns",
            route,
            lambda first=first: (
                first.rstrip()
                + b","
                + b",".join(b"c%d" % k for k in range(1_000_000))
                + b"\n"
                + b"1," * 1_000_000
            ),
            heavy=True,
        )
        yield body(
            "16-mb-of-line-feeds",
            route,
            lambda first=first: first + b"\n" * (16 * MIB - 99),
            heavy=True,
        )
        for name, piece in (
            ("lists", b"[],"),
            ("objects", b"{},"),
            ("numbers", b"1,"),
            ("texts", b'"a",'),
        ):
            yield body(
                f"15-mb-of-{name}",
                route,
                lambda piece=piece: b"[" + piece * (15 * MIB // len(piece)) + b"1]",
                heavy=True,
            )
    yield from heavy_checks()
    yield from heavy_telemetry(now)
    yield from heavy_imports(now)


def heavy_checks() -> Iterator[FleetBody]:
    size = 15 * MIB
    begin = '{"DCGM GPU Diagnostic":{"test_categories":['
    for name, piece in (
        ("lists", "[],"),
        ("objects", "{},"),
        ("tests", '{"tests":[{"name":"a","results":[{}]}]},'),
    ):
        yield body(
            f"dcgm-of-{name}",
            CHECKS,
            lambda piece=piece: (begin + piece * (size // len(piece)) + "1]}}").encode(),
            heavy=True,
        )
    yield body(
        "dcgm-behind-text",
        CHECKS,
        lambda: b"{" * 9000 + begin.encode() * (size // len(begin)),
        heavy=True,
    )
    for name, text in (
        ("smi", samples.smi({})),
        ("ibstat", samples.ibstat(mlx5_0=("Active", "LinkUp", 400))),
        ("perfquery", samples.perfquery()),
        ("nccl", samples.nccl("n0", "n1")),
    ):
        yield body(
            f"{name}-15-mb", CHECKS, lambda text=text: grown(text.encode(), size), heavy=True
        )
    yield body(
        "nccl-runs",
        CHECKS,
        lambda: b"".join(
            samples.nccl(f"n{k}").encode() for k in range(size // len(samples.nccl("n0")))
        ),
        heavy=True,
    )
    yield body(
        "host-nodes",
        CHECKS,
        lambda: b"".join(
            b'{"node":"n%d","check":"c%d","status":"fail"}\n' % (k, k % 97) for k in range(250_000)
        ),
        heavy=True,
    )
    yield body(
        "xml-15-mb",
        CHECKS,
        lambda: (
            ('<?xml version="1.0"?>' + LOG).encode()
            + b"<gpu><a/></gpu>" * (size // 15)
            + b"</nvidia_smi_log>"
        ),
        heavy=True,
    )


def heavy_telemetry(now: bytes) -> Iterator[FleetBody]:
    at = b"# at " + now + b"\n"
    series = b'DCGM_FI_DEV_GPU_TEMP{gpu="%d",Hostname="h%d"} 61\n'
    for name, gpus, nodes in (
        ("series-of-one-node", 1 << 30, 1),
        ("nodes", 1, 1 << 30),
        ("fleet", 8, 1 << 30),
    ):
        yield body(
            f"million-{name}",
            TELEMETRY,
            lambda gpus=gpus, nodes=nodes: (
                at + b"".join(series % (k % gpus, k // gpus % nodes) for k in range(1_000_000))
            ),
            heavy=True,
        )
    yield body(
        "three-million-series",
        TELEMETRY,
        lambda: at + b"".join(series % (k % 4096, k // 4096) for k in range(3_000_000)),
        heavy=True,
    )
    yield body(
        "labels-of-60-kb",
        TELEMETRY,
        lambda: (
            at
            + b"".join(
                b'DCGM_FI_DEV_GPU_TEMP{gpu="%d",x="%s"} 61\n' % (k, b"y" * 60_000)
                for k in range(2000)
            )
        ),
        heavy=True,
    )
    yield body(
        "names-of-9-kb",
        TELEMETRY,
        lambda: (
            at
            + b"".join(
                b'DCGM_FI_DEV_GPU_TEMP{gpu="%d%s",Hostname="%s"} 61\n'
                % (k, b"z" * 4000, b"y" * 5000)
                for k in range(20_000)
            )
        ),
        heavy=True,
    )
    yield body(
        "hours-of-years",
        TELEMETRY,
        lambda: (
            b"at,node,gpu_temp_c\n"
            + b"".join(
                b"%d,h%d,61\n" % (NOW.timestamp() - 3600 * (k // 50), k % 50)
                for k in range(2_000_000)
            )
        ),
        heavy=True,
    )
    labels = b'{"__name__":"DCGM_FI_DEV_GPU_TEMP","gpu":"%d","Hostname":"h1"}'
    yield body(
        "query-of-empty-series",
        TELEMETRY,
        lambda: (
            b'{"status":"success","data":{"resultType":"matrix","result":['
            + b",".join(b'{"metric":' + labels % k + b',"values":[]}' for k in range(500_000))
            + b"]}}"
        ),
        heavy=True,
    )
    yield body(
        "query-of-a-long-value",
        TELEMETRY,
        lambda: (
            b'{"status":"success","data":{"resultType":"matrix","result":['
            b'{"metric":' + labels % 1 + b',"values":[[1,"' + b"9" * (100 * MIB) + b'"]]}]}}'
        ),
        heavy=True,
    )
    yield body(
        "query-of-commas",
        TELEMETRY,
        lambda: (
            b'{"status":"success","data":{"resultType":"matrix","result":['
            b'{"metric":' + labels % 1 + b',"values":[' + b"," * (60 * MIB) + b"]}]}}"
        ),
        heavy=True,
    )


def heavy_imports(now: bytes) -> Iterator[FleetBody]:
    head = TABLES["csv"].encode() + b"\n"
    yield body(
        "host-lists",
        IMPORT,
        lambda: (
            head
            + b"".join(b'%d,%s,,failed,,8,"n[0-19999]",hostile,\n' % (k, now) for k in range(3000))
        ),
        heavy=True,
    )
    yield body(
        "million-nodes",
        IMPORT,
        lambda: (
            TABLES["inventory"].encode()
            + b"\n"
            + b"".join(b"n%d,H100,r%d,l%d,hostile\n" % (k, k, k) for k in range(400_000))
        ),
        heavy=True,
    )
    yield body(
        "million-clusters",
        IMPORT,
        lambda: (
            TABLES["inventory"].encode()
            + b"\n"
            + b"".join(b"n,H100,r,l,c%d\n" % k for k in range(100_000))
        ),
        heavy=True,
    )
    yield body("bad-rows", IMPORT, lambda: head + b"x\n" * 5_000_000, heavy=True)
    yield body(
        "kubernetes-of-pods",
        IMPORT,
        lambda: (
            b'{"kind":"List","items":['
            + b",".join(b'{"kind":"Pod","metadata":{"name":"p%d"}}' % k for k in range(1_500_000))
            + b"]}"
        ),
        heavy=True,
    )
    yield body(
        "kubernetes-of-lists",
        IMPORT,
        lambda: b'{"kind":"List","items":[' + b"[]," * (30 * MIB) + b"1]}",
        heavy=True,
    )
