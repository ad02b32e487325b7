"""Bodies that stand as examples in the OpenAPI description, by the name of their shape."""

from typing import Any, Final

EXAMPLES: Final[dict[str, dict[str, Any]]] = {
    "JobFailed": {
        "job": {
            "job_id": "4711", "cluster": "a", "failed_at": "2026-11-21T03:14:15Z",
            "nodes": ["n0", "n1"], "gpus_per_node": 8, "expected_artifacts": 20,
        },
        "slurm": {
            "source": "slurm", "job_id": 4711, "nodelist": "gpu[001-128,130]",
            "exit_code": "1:0",
        },
    },
    "JobEnded": {
        "job": {
            "job_id": "4711", "cluster": "a", "started_at": "2026-11-21T01:00:00Z",
            "ended_at": "2026-11-21T03:14:15Z", "state": "COMPLETED",
            "nodes": ["n0", "n1"], "gpus_per_node": 8,
        },
        "slurm": {
            "source": "slurm", "job_id": 4711, "nodelist": "gpu[001-128,130]",
            "SLURM_JOB_START_TIME": "1795222800", "exit_code": "0:0",
            "gpus_per_node": 8,
        },
    },
    "Alerts": {
        "xid": {
            "version": "4",
            "alerts": [
                {
                    "status": "firing", "fingerprint": "c0ffee0000000001",
                    "startsAt": "2026-11-21T03:14:00Z",
                    "labels": {
                        "alertname": "GpuXid", "node": "n3", "xid": "79",
                        "pci_bus_id": "0000:5d:00.0",
                    },
                    "annotations": {"summary": "GPU has fallen off the bus"},
                }
            ],
        }
    },
    "CloudEvent": {
        "health": {
            "specversion": "1.0", "id": "5c1f", "source": "nvsentinel://a/healthevents",
            "type": "com.nvidia.nvsentinel.health.v1",
            "data": {
                "healthEvent": {
                    "nodeName": "n3", "checkName": "SysLogsXIDError", "errorCode": ["79"],
                    "isFatal": True, "isHealthy": False,
                    "message": "GPU has fallen off the bus",
                    "generatedTimestamp": "2026-11-21T03:14:00Z",
                    "entitiesImpacted": [{"entityType": "PCI", "entityValue": "0000:5d:00.0"}],
                }
            },
        }
    },
    "NewResolution": {"cable": {"category": "network", "node": "n3", "note": "cable replaced"}},
    "NewAction": {"drain": {"verb": "drain", "node": "n3"}},
    "HaltRequest": {"why": {"reason": "maintenance of the scheduler"}},
    "SubscriptionRequest": {
        "generic": {"kind": "generic", "url": "https://hooks.example.com/triage"}
    },
    "RotateRequest": {"a week for both": {"old_valid_s": 604_800}},
}  # fmt: skip
