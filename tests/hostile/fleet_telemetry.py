"""Samples with values and times that cannot be, as text and JSON."""

import json
from collections.abc import Iterator
from datetime import timedelta

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
