"""One example of each format, as the program prints it; every new format has one here."""

import json
from pathlib import Path

from tests.formats.health import agents, samples
from tests.formats.health.fabric import links
from tests.formats.live.examples import LIVE_EXAMPLES
from tests.support.checkers import samples as checker_samples

__all__ = ["EXAMPLES", "FILE_NAMES"]

# The few that are told by their name too.
FILE_NAMES = {"host_name": "hostname"}

PRINTED = {(one.tool, one.path.stem): one.data.decode() for one in checker_samples()}


def printed(tool: str, name: str) -> str:
    """What a sample of a checker holds."""
    return PRINTED[tool, name]


XID = "NVRM: Xid (PCI:0000:4c:00): 79, GPU has fallen off the bus."
JOB = "[rank3]: step 12 loss 2.31\n[rank3]: step 13 loss 2.30\n"
DUMP = '{"version": "2.10", "pg_config": {}, "entries": []}'
CHECKERS = Path(__file__).parents[1] / "data" / "checkers"


def checker(name: str) -> str:
    """A sample of a public checker."""
    return (CHECKERS / name).read_text()


EXAMPLES = {
    "flight_recorder": DUMP,
    "parquet": "PAR1\x15\x04\x15",
    "query_result": '{"status":"success","data":{"resultType":"matrix","result":[{"metric":{}}]}}',
    "exposition": '# TYPE DCGM_FI_DEV_GPU_TEMP gauge\nDCGM_FI_DEV_GPU_TEMP{gpu="0"} 61\n',
    "table": "timestamp, index, temperature.gpu\n2026/11/20 03:04:15.500, 0, 61\n",
    "process_list": '{"schema": "triage.processes/1", "node": "n3", "missing": [5]}\n',
    **LIVE_EXAMPLES,
    "nvidia_bug_report": "_" * 44 + "\n\nStart of NVIDIA bug report log file.  Please include\n",
    "nvidia_smi_q": samples.smi({}),
    "nvidia_smi_xml": samples.SMI_XML,
    "nvidia_smi_nvlink": "GPU 5: NVIDIA H200 (UUID: GPU-6b1f0c25-54a1-9d0e-77aa-0c5f3e1b2a95)\n"
    "\t Link 11: Recovery Errors: 2\n",
    "dcgm_mndiag": agents.mndiag((1, 5, "Fail", [])),
    "dcgm_diag": samples.dcgm3(),
    "dcgm_diag_table": checker("dcgmi-diag/fail-v4-memory.txt"),
    "dcgm_health": agents.health_table(),
    "dcgm_health_json": agents.health_json(),
    "dcgm_dmon": checker("dcgmi-dmon/fail-double-bit.txt"),
    "dcgm_nvlink": agents.nvlink_status(gpu0="UUU", gpu3="UDU"),
    "nvsentinel": json.dumps(agents.health_event()),
    "gpud": agents.gpud_state(reason="XID 79 detected on PCI:0000:6d:00"),
    "gpud_scan": "scanning the host (GOOS linux)\n",
    "sichek_json": checker("sichek/fail-nvlink.json"),
    "sichek": checker("sichek/fail-sram.txt"),
    "gcm_records": checker("gcm/fail-record.json"),
    "gcm": checker("gcm/fail-nagios.txt"),
    "superbench": checker("superbench/fail-results.jsonl"),
    "node_health_check": checker("azure-nhc/fail-ecc.txt"),
    "gpu_burn": checker("gpu-burn/fail-faulty.txt"),
    "nvbandwidth": checker("nvbandwidth/fail-ecc.txt"),
    "nvbandwidth_json": checker("nvbandwidth/fail-v0.8.json"),
    "amd_smi": '[{"gpu": 5, "ecc": {"total_uncorrectable_count": 1}}]',
    "amd_cper": '{"error_severity": "FATAL", "signature": "CPER", "record_id": "5:1"}',
    "amd_cper_table": "timestamp            gpu_id  severity  file_name      list of afids\n"
    "2026/03/14 02:41:03  5       fatal     fatal-1.cper   17\n",
    "amd_smi_text": checker("amd-smi/fail-metric-ecc.txt"),
    "rocm_smi": checker("rocm-smi/fail-ras.txt"),
    "rocm_smi_json": checker("rocm-smi/fail-json-umc.json"),
    "rvs": checker("rvs/fail-gst.txt"),
    "ibstat": samples.ibstat(mlx5_0=("Active", "LinkUp", 400)),
    "ibstatus": printed("ibstatus", "pass-two-ports"),
    "ibv_devinfo": printed("ibv_devinfo", "pass-two-ports"),
    "rdma_link": printed("rdma_link", "pass-roce"),
    "ib_counters": samples.perfquery(),
    "mlxlink": links.mlxlink(),
    "mlxlink_json": links.mlxlink_json(),
    "ibdiagnet_log": links.diagnet_log("-E- Link: leaf7/U1/P21<-->n3/U1/P1 - Unexpected speed"),
    "ibdiagnet_tables": links.db_csv(("0xa", 1, 6)),
    "ibdiagnet_net_dump": links.net_dump((21, "ACT", "n3 mlx5_3")),
    "iblinkinfo": links.link_info(),
    "perftest": printed("ib_write_bw", "pass-bandwidth"),
    "ethtool": printed("ethtool", "pass-link"),
    "ethtool_statistics": printed("ethtool", "pass-statistics"),
    "ethtool_module": printed("ethtool", "pass-module"),
    "nvme_smart": printed("nvme", "pass-smart-log"),
    "nvme_smart_json": printed("nvme", "pass-smart-log-json"),
    "nvme_error_log": printed("nvme", "warn-error-log-of-the-medium"),
    "nvme_list": printed("nvme", "pass-list"),
    "smartctl": printed("smartctl", "pass-nvme"),
    "smartctl_json": printed("smartctl", "pass-json-nvme"),
    "ipmi_sensors": printed("ipmitool", "pass-sensor"),
    "ipmi_chassis": printed("ipmitool", "pass-chassis-status"),
    "redfish": printed("redfish", "pass-thermal"),
    "dmidecode": printed("dmidecode", "pass-memory"),
    "lspci": printed("lspci", "pass-all"),
    "edac_util": printed("edac_util", "pass-verbose"),
    "ras_mc_ctl": printed("ras_mc_ctl", "pass-summary"),
    "mcelog_client": printed("mcelog_client", "warn-corrected"),
    "memtester": printed("memtester", "pass-one-loop"),
    "stress_ng": printed("stress_ng", "pass-run"),
    "sinfo_reasons": samples.SINFO,
    "scontrol_node": samples.SCONTROL,
    "imbue_host_checks": samples.IMBUE,
    "host_checks_json": samples.HOST_JSON,
    "nccl_tests_json": checker("nccl-tests/fail-json-wrong.json"),
    "rccl_tests_json": checker("rccl-tests/fail-json-rows-wrong.json"),
    "nccl_tests": samples.nccl("n3"),
    "host_checks": samples.HOST_PLAIN,
    "host_name": "gpu-17\n",
    "journal_verbose": "Sat 2026-02-28 18:27:22.299621 UTC [s=8d8a31c7;i=194cb8a;b=8d8a31c7]\n"
    f"    PRIORITY=3\n    _TRANSPORT=kernel\n    _HOSTNAME=n3\n    MESSAGE={XID}\n",
    "journal_export": f"__REALTIME_TIMESTAMP=1772303242299621\n_HOSTNAME=n3\nMESSAGE={XID}\n\n",
    "journal_json_pretty": '{\n\t"__REALTIME_TIMESTAMP" : "1772303242299621",\n'
    f'\t"_HOSTNAME" : "n3",\n\t"MESSAGE" : "{XID}"\n}}\n',
    "json_document": json.dumps(
        {"apiVersion": "v1", "kind": "List", "items": [{"kind": "Event", "message": "x"}]}
    ),
    "block_list": "Record:      1\nDate/Time:   03/14/2026 02:39:12\nDescription: Fan 4 failed.\n",
    "event_table": "Date,Sensor Name,Event\n03/14/2026 02:39:12,FAN4,Lower Critical going low\n",
    "sel_verbose": printed("ipmitool_sel", "fail-verbose"),
    "sel_list": "2,03/14/2026,02:39:11 UTC,Power Supply PSU3,Power Supply AC lost,Asserted\n",
    "log": JOB,
}
