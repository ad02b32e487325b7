"""Samples with values and times that cannot be, as text, JSON and Parquet."""

import io
import json
import random
from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any

from tests.hostile.fleet_body import NOW, NUMBERS, TELEMETRY, YEARS, FleetBody, body, lies, together

GOOD_LINE = 'DCGM_FI_DEV_GPU_TEMP{gpu="0",Hostname="h3"} 61\n'

EXPOSITION = (
    "DCGM_FI_DEV_GPU_TEMP{",
    'DCGM_FI_DEV_GPU_TEMP{gpu="0} 61',
    'X{gpu="\\',
    "DCGM_FI_DEV_GPU_TEMP",
    'DCGM_FI_DEV_GPU_TEMP{gpu="\\x\\"\\n",Hostname="a\\\\"} 61',
    "DCGM_FI_DEV_GPU_TEMP{} {} {}",
    "DCGM_FI_DEV_GPU_TEMP{" + ",".join(f'l{k}="{k}"' for k in range(5000)) + "} 61",
    'DCGM_FI_DEV_GPU_TEMP{gpu="' + "9" * 60_000 + '"} 61',
    "# TYPE " + "x" * 60_000 + " gauge",
    'DCGM_FI_DEV_GPU_TEMP{Hostname="\0\x7f\x85"} 61',
    'DCGM_FI_DEV_GPU_TEMP{Hostname="\ud800"} 61',
    'DCGM_FI_DEV_GPU_TEMP{Hostname="' + "n" * 5000 + '",rack="' + "r" * 5000 + '"} 61',
    'DCGM_FI_DEV_GPU_TEMP{pci_bus_id="zzzz:zz:zz.z",UUID="GPU"} 61',
    "# at yesterday",
    "# at 9" * 99,
    "# at 0001-01-01T00:00:00Z\n" + GOOD_LINE,
    "# at 9999-12-31T23:59:59Z\n" + GOOD_LINE,
)

VALUES = (
    "",
    "[]",
    "[1]",
    "[[1]]",
    '[1,2,"3"]',
    "[,]",
    '[1,"2"],',
    '[1,"2"]]],"values":[[1,"2"]',
    "[null,null]",
    '["a","b"]',
    '[1,"2\\u0000"]',
    "[" * 5000,
    "]" * 5000,
    '[1,"2"],' * 5000,
    "nan,nan",
    "[NaN,NaN],[Infinity,-Infinity]",
    '[1e400,"1"]',
    "[-1e18,1e18]",
)


def telemetry() -> Iterator[FleetBody]:
    seconds = int(NOW.timestamp())
    stamps = (
        "",
        "0",
        "-1",
        "1",
        str(seconds),
        f"{seconds}000",
        "1e18",
        "9" * 18,
        "9" * 19,
        "9" * 40,
        "-" + "9" * 18,
        "62135596800",
        "253402300799",
        "10000000000",
        "99999999999",
        "-9223372036854775808",
    )
    rows = [
        f'DCGM_FI_DEV_GPU_TEMP{{gpu="{k}",Hostname="h1"}} {number or "1"} {stamp}'.rstrip()
        for number in NUMBERS
        for k, stamp in enumerate(stamps)
    ]
    yield from together("exposition", TELEMETRY, rows, size=16)
    for k, line in enumerate(EXPOSITION):
        yield body(f"line-{k}", TELEMETRY, f"# at {NOW:%Y-%m-%dT%H:%M:%SZ}\n{GOOD_LINE}{line}\n")
    for metric in (
        "DCGM_FI_DEV_CLOCK_THROTTLE_REASONS",
        "DCGM_FI_DEV_GPU_TEMP",
        "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL",
        "step_time_s",
    ):
        pairs = [[one or "0", number] for one in stamps for number in NUMBERS]
        for bare in (False, True):
            values = ",".join(
                f"[{at},{number or 0}]" if bare else f'[{at},"{number}"]' for at, number in pairs
            )
            yield body(f"query-{metric}-{bare}", TELEMETRY, query_result(metric, values))
        for k, values in enumerate(VALUES):
            yield body(f"values-{metric}-{k}", TELEMETRY, query_result(metric, values))
        good = {
            "status": "success",
            "data": {
                "resultType": "matrix",
                "result": [
                    {
                        "metric": {"__name__": metric, "gpu": "0", "Hostname": "h1"},
                        "values": [[seconds - 30, "61"], [seconds, "62"]],
                    }
                ],
            },
        }
        for where, value in lies(good):
            yield body(f"lies-{metric}-{where}", TELEMETRY, json.dumps(value))
    cells = [
        *YEARS,
        f"{NOW:%Y-%m-%dT%H:%M:%SZ}",
        "2026-02-30T00:00:00Z",
        "24:00",
        *stamps,
        *NUMBERS,
    ]
    for column in ("gpu_temp_c", "throttle_reasons", "ecc_dbe_volatile_total", "power_w"):
        for at in cells:
            lines = [f"at,node,gpu,{column}"]
            lines += [f"{at},h2,0,{number}" for number in NUMBERS]
            lines += [f"{NOW - timedelta(minutes=1):%Y-%m-%dT%H:%M:%SZ},h2,0,5"]
            yield body(f"csv-{column}-{at[:20]}", TELEMETRY, "\n".join(lines))
    yield body(
        "csv-twice-named", TELEMETRY, f"at,at,node,node,gpu_temp_c,gpu_temp_c\n{NOW},1,2,3,4,5"
    )
    yield body(
        "csv-ragged", TELEMETRY, "at,node,gpu_temp_c\n" + ",".join(["1"] * 5000) + "\n1\n,,,\n"
    )
    yield body("csv-many-delimiters", TELEMETRY, "at;node|gpu_temp_c\ttime\n;;;||||\t\t\n" * 99)


def query_result(metric: str, values: str) -> str:
    labels = f'{{"__name__":"{metric}","gpu":"0","Hostname":"h1"}}'
    return (
        '{"status":"success","data":{"resultType":"matrix","result":'
        f'[{{"metric":{labels},"values":[{values}]}}]}}}}'
    )


def parquet() -> Iterator[FleetBody]:
    """Tables in Parquet: cut, damaged, and with values and times that cannot be."""
    import pyarrow as pa

    good = tabled({"at": [NOW] * 9, "node": ["h4"] * 9, "gpu_temp_c": [61.0] * 9})
    for share in (
        4,
        12,
        len(good) // 4,
        len(good) // 2,
        len(good) - 20,
        len(good) - 8,
        len(good) - 1,
    ):
        yield body(f"parquet-cut-{share}", TELEMETRY, good[:share])
    chance = random.Random(5)
    for number in range(60):
        damaged = bytearray(good)
        for _ in range(chance.choice((1, 2, 8, 40))):
            damaged[chance.randrange(4, len(damaged))] = chance.randrange(256)
        yield body(f"parquet-damaged-{number}", TELEMETRY, bytes(damaged))
    yield body("parquet-tail-alone", TELEMETRY, b"PAR1" + b"\xff\xff\xff\x7f" + b"PAR1")
    yield body("parquet-footer-of-0", TELEMETRY, b"PAR1" + bytes(4) + b"PAR1")
    values = [float("nan"), float("inf"), -float("inf"), 1e308, -1e308, 1e-320, -1.0, None, 61.0]
    late = pa.array([-(1 << 52), 1 << 52, 0, -1, 253402300799, -62135596800, 1, None, 5])
    times: dict[str, Any] = {
        "seconds": late,
        "largest": [-(1 << 63), (1 << 63) - 1, *[0] * 7],
        "floats": [*map(float, values[:7]), None, 1e18],
        "text": [*YEARS, "", "x", "2026-13-01", None, "now", f"{NOW.isoformat()}"],
        "booleans": [True] * 9,
        "lists": [[1]] * 9,
        "bytes": [b"\xff\0"] * 9,
        **{f"stamp-{unit}": late.cast(pa.timestamp(unit)) for unit in ("s", "ms", "us", "ns")},
        "nowhere": late.cast(pa.timestamp("ms", "Mars/Olympus")),
        "dates": pa.array([0, -719162, 2932896, 1, 2, 3, 4, None, 20000], pa.int32()).cast(
            pa.date32()
        ),
    }
    for name, at in times.items():
        yield body(
            f"parquet-at-{name}",
            TELEMETRY,
            lambda at=at: tabled({"at": at, "node": ["h4"] * 9, "gpu_temp_c": values}),
        )
    cells: dict[str, Any] = {
        "numbers": list(range(9)),
        "nothing": [None] * 9,
        "bytes": [b"\xff\xfe\0"] * 9,
        "lists": [["a"]] * 9,
        "maps": [{"a": 1}] * 9,
        "long": ["n" * 100_000] * 9,
        "nul": ["\0"] * 9,
        "decimals": pa.array([1] * 9).cast(pa.decimal128(38, 10)),
    }
    for name, found in cells.items():
        for column in ("node", "gpu", "gpu_temp_c"):
            given = {"at": [NOW] * 9, "node": ["h4"] * 9, "gpu_temp_c": [61.0] * 9, column: found}
            yield body(f"parquet-{column}-{name}", TELEMETRY, lambda given=given: tabled(given))
    for metric in values:
        given = {
            "at": [NOW] * 9,
            "metric": ["gpu_temp_c"] * 9,
            "value": [metric] * 9,
            "node": ["h"] * 9,
        }
        yield body(f"parquet-long-{metric}", TELEMETRY, lambda given=given: tabled(given))


def tabled(columns: Mapping[str, Any], **more: Any) -> bytes:
    import pyarrow as pa
    from pyarrow import parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table(dict(columns)), out, **more)
    return out.getvalue()
