"""A file of telemetry is known by its first bytes, and a log is never taken for one."""

import pytest

from triage.formats.registry import identify_telemetry
from triage.parsers.telemetry.samples import Form


def form_of(data: bytes) -> Form | None:
    row = identify_telemetry(data)
    return None if row is None else row.form


DCGM = (
    "# HELP DCGM_FI_DEV_GPU_TEMP GPU temperature (in C).\n# TYPE DCGM_FI_DEV_GPU_TEMP gauge\n"
    'DCGM_FI_DEV_GPU_TEMP{gpu="0",Hostname="n3"} 61\n'
)
CLAIMED = [
    pytest.param(DCGM, Form.EXPOSITION, id="dcgm-exporter"),
    pytest.param(f"# at 2026-11-21T03:04:15Z\n{DCGM}", Form.EXPOSITION, id="with-a-time"),
    pytest.param("DCGM_FI_DEV_SM_CLOCK 1980 1795143855000\n", Form.EXPOSITION, id="no-labels"),
    pytest.param("# TYPE go_gc_duration_seconds summary\ngo_goroutines 7\n", Form.EXPOSITION,
                 id="a-scrape-of-something-else"),
    pytest.param("timestamp, index, power.draw [W]\n", Form.TABLE, id="nvidia-smi"),
    pytest.param("index, temperature.gpu\n0, 61\n", Form.TABLE, id="nvidia-smi-without-a-time"),
    pytest.param("at,node,gpu,metric,value\n2026-11-21T03:04:15Z,n3,0,gpu_temp_c,61\n", Form.TABLE,
                 id="long"),
    pytest.param("# exported by us\nat;node;power_w\n1795143855;n3;690\n", Form.TABLE,
                 id="semicolons-behind-a-comment"),
    pytest.param('{"status":"success","data":{"resultType":"matrix","result":[{"metric":{}}]}}',
                 Form.QUERY_RESULT, id="query-range"),
    pytest.param('{\n  "status": "success",\n  "data": {\n    "resultType": "vector",\n "result": ['
                 '{"metric": {"__name__": "x"}, "value": [1, "2"]}]}}', Form.QUERY_RESULT,
                 id="pretty-printed"),
]  # fmt: skip
NOT_CLAIMED = [
    pytest.param("", id="empty"),
    pytest.param("step 12 loss 2.31\nstep 13 loss 2.30\n", id="a-training-log"),
    pytest.param("loss 2.31\nloss 2.30\n", id="words-and-numbers"),
    pytest.param(f"{DCGM}Traceback (most recent call last):\n", id="a-scrape-inside-a-job-log"),
    pytest.param("[rank3]: DCGM_FI_DEV_GPU_TEMP 61\n", id="a-prefix"),
    pytest.param("2026-11-21 03:04:15, 0, 61, 690 W\n", id="a-table-without-a-first-line"),
    pytest.param("step,loss,value\n1,2.3,4\n", id="a-table-of-losses"),
    pytest.param("The gpu, power_w and more were read\n", id="a-sentence-with-commas"),
    pytest.param('{"status":"success","data":{"resultType":"matrix","result":[]}}',
                 id="an-answer-without-series"),
    pytest.param('{"message":"NCCL WARN","status":"failed"}\n', id="a-json-logger"),
    pytest.param("<6>[ 12.3] NVRM: Xid (PCI:0000:1b:00): 79\n", id="a-kernel-log"),
    pytest.param("n3 kernel: NVRM: GPU at PCI:0000:1b:00: GPU-1\n", id="syslog"),
]  # fmt: skip


@pytest.mark.parametrize(("text", "form"), CLAIMED)
def test_claims(text: str, form: Form) -> None:
    assert form_of(text.encode("latin-1")) is form


@pytest.mark.parametrize("text", NOT_CLAIMED)
def test_does_not_claim(text: str) -> None:
    assert form_of(text.encode()) is None


def test_a_scrape_that_is_cut_within_a_line_is_claimed() -> None:
    text = DCGM * 400

    assert form_of(text.encode()[: (16 << 10) + 7]) is Form.EXPOSITION
