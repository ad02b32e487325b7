"""One example of each format, as the program prints it; checks have theirs in their tables."""

import json

from tests.formats.live.examples import LIVE_EXAMPLES
from tests.support.checkers import samples as checker_samples
from triage.formats.registry import CHECKS

# The few that are told by their name too.
FILE_NAMES = {"host_name": "hostname"}

PRINTED = {(one.tool, one.path.stem): one.data.decode() for one in checker_samples()}


def printed(tool: str, name: str) -> str:
    """What a sample of a checker holds."""
    return PRINTED[tool, name]


XID = "NVRM: Xid (PCI:0000:4c:00): 79, GPU has fallen off the bus."
JOB = "[rank3]: step 12 loss 2.31\n[rank3]: step 13 loss 2.30\n"
DUMP = '{"version": "2.10", "pg_config": {}, "entries": []}'
EXAMPLES = {
    "flight_recorder": DUMP,
    "query_result": '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{}}]}}',
    "exposition": '# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu="0"} 61\n',
    "table": "timestamp, index, temperature.gpu\n2026/11/20 03:04:15.500, 0, 61\n",
    "process_list": '{"schema": "triage.processes/1", "node": "n3", "missing": [5]}\n',
    **LIVE_EXAMPLES,
    "host_sections": f"---------------\ngpu-17\n---------------\n[   12.300000] {XID}\n"
    "---------------\ngpu-18\n---------------\n[   12.300000] usb 1-1: reset\n",
    "nvidia_bug_report": "_" * 44 + "\n\nStart of NVIDIA bug report log file.  Please include\n",
    **{row.name: row.example for row in CHECKS},
    "host_name": "gpu-17\n",
    "journal_verbose": "Sat 2026-02-28 18:27:22.299621 UTC [s=8d8a31c7;i=194cb8a;b=8d8a31c7]\n"
    f"    PRIORITY=3\n    _TRANSPORT=kernel\n    _HOSTNAME=n3\n    MESSAGE={XID}\n",
    "journal_export": f"__REALTIME_TIMESTAMP=1772303242299621\n_HOSTNAME=n3\nMESSAGE={XID}\n\n",
    "journal_json_pretty": '{\n\t"__REALTIME_TIMESTAMP" : "1772303242299621",\n'
    f'\t"_HOSTNAME" : "n3",\n\t"MESSAGE" : "{XID}"\n}}\n',
    "json_document": json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [{"kind": "Event", "message": "x"}]}
    ),
    "yaml_document": "apiVersion: v1\nkind: Node\nmetadata:\n  name: gpu-17\n",
    "event_table": "Date,Sensor Name,Event\n03/14/2026 02:39:12,FAN4,Lower Critical going low\n",
    "peer_table": (
        "time,node,compute_s\n2026-03-14T02:39:12Z,gpu-17,5.9\n2026-03-14T02:39:12Z,gpu-18,13.7\n"
        "2026-03-14T02:39:12Z,gpu-19,5.8\n"
    ),
    "name_table": "NAME NODE IP INSTANCE\nllm-0 gpu-17 10.8.3.21 i-014fab79a90\n",
    "pod_description": "Name:         w-1\nNamespace:    ml\nNode:         gpu-17/10.0.0.12\n",
    "sel_verbose": printed("ipmitool_sel", "fail-verbose"),
    "sel_list": "2,03/14/2026,02:39:11 UTC,Power Supply PSU3,Power Supply AC lost,Asserted\n",
    "field_blocks": (
        "Record:      1\nDate/Time:   03/14/2026 02:39:12\nDescription: Fan 4 failed.\n"
    ),
    "notes": "## Fuse of gpu-17\nopened: 2026-03-14 02:39\n\nIts supply smelled burnt.\n",
    "log": JOB,
}
