"""Who else tells of an incident: daemons of a node, its board controller, the scheduler.

Most of what they say is harmless; a scenario adds what it means by ``Story.log_board``,
``Story.log_cluster`` and ``Story.log_controller``.
"""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from simulator.incidents.envelopes import iso, syslog, wall
from simulator.incidents.story import ClusterEvent, Story
from simulator.incidents.world import SECOND, Node

_DAY: Final = 86_400 * SECOND

_Words = tuple[tuple[str, str], ...]
DAEMONS: Final[dict[str, _Words]] = {
    "": (
        ("sshd", "Connection closed by authenticating user root 10.20.{m}.7 port {n} [preauth]"),
        ("sshd", "error: kex_exchange_identification: Connection closed by remote host"),
        ("sshd", "pam_unix(sshd:session): session closed for user svc_monitor"),
        ("sudo", "pam_unix(sudo:auth): authentication failure; logname= uid=1000 euid=0 "
                 "tty=/dev/pts/0 ruser=alice rhost=  user=alice"),
        ("CRON", "(root) CMD (test -x /usr/sbin/anacron || run-parts --report /etc/cron.hourly)"),
        ("systemd", "session-{n}.scope: Deactivated successfully."),
        ("systemd", "apt-daily.service: Main process exited, code=killed, status=15/TERM"),
        ("systemd", "Started Daily apt download activities."),
        ("systemd", "fwupd-refresh.service: Failed with result 'exit-code'."),
        ("systemd-logind", "New session {n} of user ubuntu."),
        ("systemd-resolved", "Using degraded feature set UDP instead of UDP+EDNS0 for DNS server "
                             "10.20.0.53."),
        ("systemd-timesyncd", "Timed out waiting for reply from 91.189.91.157:123 "
                              "(ntp.ubuntu.com)."),
        ("chronyd", "System clock wrong by 0.001204 seconds"),
        ("chronyd", "Can't synchronise: no selectable sources"),
        ("ntpd", "kernel reports TIME_ERROR: 0x41: Clock Unsynchronized"),
        ("smartd", "Device: /dev/nvme1n1, number of Error Log entries increased from 12 to 13"),
        ("rsyslogd", "action 'action-1-builtin:omfwd' suspended (module 'builtin:omfwd'), retry 0. "
                     "There should be messages before this one giving the reason for suspension."),
        ("multipathd", "sda: failed to get udev uid: No data available"),
        ("irqbalance", "Cannot change IRQ {m} affinity: Operation not permitted"),
        ("rasdaemon", "rasdaemon: Recording memory_failure_event events"),
        ("snapd", "storehelpers.go:769: cannot refresh: snap has no updates available: \"core22\""),
        ("nvidia-persistenced", "PID file unlocked."),
        ("nvidia-persistenced", "device 0000:18:00.0 - persistence mode enabled."),
        ("nvidia-fabricmanager", "Successfully configured all the available NVSwitches to route "
                                 "GPU NVLink traffic."),
    ),
    "slurm": (
        ("slurmd", "launch task StepId={n}.0 request from UID:10021 GID:10021 HOST:10.20.0.{m} "
                   "PORT:{n}"),
        ("slurmd", "task/affinity: lllp_distribution: JobId={n} manual binding: "
                   "mask_cpu,one_thread"),
        ("slurmd", "error: Domain socket directory /var/spool/slurmd/d-sock: No such file or "
                   "directory"),
        ("slurmstepd", "done with step [{n}.extern] slurmd_rc [0x0] job_rc [0x0]"),
        ("slurmd", "epilog for job {n} ran for {m} seconds"),
        ("munged", "Processing time-out 1 client(s)"),
    ),
    "kubernetes": (
        ("kubelet", "I{g} {n} kubelet.go:2431] \"SyncLoop (PLEG): event for pod\""
                    " pod=\"monitoring/dcgm-exporter-8xk2p\" "
                    "event={{\"Type\":\"ContainerStarted\"}}"),
        ("kubelet", "E{g} {n} pod_workers.go:1298] \"Error syncing pod, skipping\""
                    " err=\"failed to \\\"StartContainer\\\" for \\\"shipper\\\" with "
                    "CrashLoopBackOff\" pod=\"monitoring/log-shipper-8xk2p\""),
        ("kubelet", "W{g} {n} manager.go:1169] Failed to process watch event "
                    "{{EventType:0 Name:/kubepods/burstable}}: task not found"),
        ("kubelet", "E{g} {n} kubelet_volumes.go:263] \"There were many similar "
                    "errors. Turn up verbosity to see them.\" err=\"orphaned pod found, but failed "
                    "to rmdir() volume\" numErrs=1"),
        ("kube-proxy", "W{g} {n} reflector.go:442] watch of *v1.Service ended "
                       "with: too old resource version"),
    ),
    "containerd": (
        ("containerd", "time=\"{z}\" level=warning msg=\"cleaning up after shim "
                       "disconnected\" id={n:08x} namespace=k8s.io"),
        ("containerd", "time=\"{z}\" level=error msg=\"ExecSync for \\\"{n:x}\\\" "
                       "failed\" error=\"rpc error: code = DeadlineExceeded desc = context deadline"
                       " exceeded\""),
    ),
    "crio": (
        ("crio", "time=\"{z}\" level=info msg=\"Stopped container {n:08x}: "
                 "monitoring/exporter\""),
        ("crio", "time=\"{z}\" level=warning msg=\"Allowed annotations are "
                 "specified for workload []\""),
    ),
    "docker": (
        ("dockerd", "time=\"{z}\" level=info msg=\"ignoring event\" "
                    "container={n:08x} module=libcontainerd namespace=moby topic=/tasks/delete"),
        ("systemd", "docker-{n:012x}.scope: Deactivated successfully."),
        ("systemd", "run-docker-runtime\\x2drunc-moby-{n:x}.mount: Deactivated successfully."),
    ),
    "enroot": (("enroot", "[INFO] Extracting squashfs filesystem..."),),
    "singularity": (("apptainer", "INFO:    Converting SIF file to temporary sandbox..."),),
    "dcgm": (
        ("nv-hostengine", "DCGM initialized"),
        ("dcgm-exporter", "time=\"{z}\" level=warning msg=\"Skipping line "
                          "'DCGM_FI_PROF_GR_ENGINE_ACTIVE': metric not enabled\""),
    ),
    "npd": (
        ("node-problem-detector", "I{g} 1 log_monitor.go:160] New status "
                                  "generated: &{{Source:kernel-monitor Events:[] Conditions:[]}}"),
        ("node-problem-detector", "W{g} 1 plugin.go:203] Error in running plugin "
                                  "\"./config/plugin/check_ntp.sh\": exit status 2"),
    ),
    "nhc": (
        ("nhc", "Running check:  \"check_fs_used /tmp 97%\""),
        ("nhc", "Node Health Check completed successfully (3s)."),
    ),
    "none": (),
}  # fmt: skip


def source_files(story: Story) -> Iterator[tuple[str, str, bool]]:
    """Path, text and whether it tells the cause, of every further source of this incident."""
    chance = story.world.chance("sources")
    if chance.random() < 0.3:
        full = chance.random() < 0.4
        name = chance.choice(("syslog", "messages", "system.log"))
        for node in story.world.nodes[:64]:
            yield f"nodes/{node.name}/{name}", _daemons(story, node, chance, full=full), False
    if story.board or chance.random() < 0.15:
        yield from _boards(story, chance)
    scheduler = story.world.software.scheduler
    if scheduler == "kubernetes" and (story.events or chance.random() < 0.3):
        yield _cluster(story, chance)
    if scheduler == "slurm" and (story.controller or chance.random() < 0.15):
        yield _controller(story, chance)


def _daemons(story: Story, node: Node, chance: random.Random, *, full: bool) -> str:
    """What a node's daemons wrote over the last two days; a dead node says no more."""
    software = story.world.software
    words = [
        line
        for key in ("", software.scheduler, software.runtime, software.agent)
        for line in DAEMONS.get(key, ())
    ]
    end = story.fault_ns if node.index in story.silent_nodes else story.end_ns
    since = max(node.boot_ns, end - 2 * _DAY)
    pids = {who: chance.randrange(800, 9000) for who, _ in words}
    pids["systemd"] = 1
    rows = []
    for at in sorted(since + int((end - since) * chance.random()) for _ in range(24)):
        who, text = chance.choice(words)
        stamp = iso(node, at) if full else syslog(node, at)
        said = text.format(
            n=chance.randrange(90_000),
            m=chance.randrange(1, 60),
            g=f"{wall(node, at):%m%d %H:%M:%S}.123456",
            z=_utc(at + node.skew_ns, "%Y-%m-%dT%H:%M:%SZ"),
        )
        rows.append(f"{stamp} {node.name} {who}[{pids[who]}]: {said}")
    return "\n".join(rows) + "\n"


# What a board notes, in each vendor's words: sensor and text; ``{k}`` is a number.
BOARD_WORDS: Final[dict[str, dict[str, tuple[tuple[str, str], ...]]]] = {
    "power": {
        "ipmitool": (("Power Supply PSU{k}", "Power Supply AC lost"),
                     ("Power Supply #0x4{k}", "Failure detected")),
        "racadm": (("PSU.Slot.{k}", "The power input for power supply {k} is lost."),
                   ("PSU.Slot.{k}", "Power supply {k} failed.")),
        "ilo": (("Power", "System Power Supply: Input Power Loss or Unplugged Power Cord, Verify "
                          "Power Supply Input (Power Supply {k})"),
                ("Power", "System Power Supply: General Failure (Power Supply {k})")),
        "supermicro": (("PS{k} Status", "Power Supply Failure Detected"),
                       ("PS{k} Status", "Power Supply Input Lost (AC/DC)")),
        "redfish": (("PSU{k}", "Power supply PSU{k} power good failed."),
                    ("PSU{k}", "PSU{k} sensor crossed a critical low threshold going low. "
                               "Reading=0 Threshold=180.")),
    },
    "fan": {
        "ipmitool": (("Fan FAN{k}_F", "Lower Non-recoverable going low"),
                     ("Fan #0x4{k}", "Lower Critical going low")),
        "racadm": (("Fan.Embedded.{k}", "Fan {k} RPM is less than the lower critical threshold."),),
        "ilo": (("Fan", "System Fan Failure (Fan {k}, Location System)"),),
        "supermicro": (("FAN{k}", "Lower Critical - going low"),),
        "redfish": (("FAN{k}", "FAN{k} sensor crossed a critical low threshold going low. "
                               "Reading=0 Threshold=500."),),
    },
    "quiet": {
        "ipmitool": (("Event Logging Disabled SEL", "Log area reset/cleared"),
                     ("System Event", "Timestamp Clock Sync"), ("OS Boot", "C: boot completed"),
                     ("Physical Security Intrusion", "General Chassis intrusion ()"),
                     ("Watchdog2 IPMI_Watchdog", "Timer expired")),
        "racadm": (("SEL", "Log cleared."), ("OEM", "A problem was detected related to the "
                                                    "previous server boot."),
                   ("Intrusion", "The chassis is closed while the power is off.")),
        "ilo": (("Maintenance", "IML Cleared (iLO 5 user:admin)"),
                ("Maintenance", "Firmware flashed (iLO 5 2.78)")),
        "supermicro": (("EventLog", "Log Area Reset/Cleared"),
                       ("Chassis Intru", "General Chassis Intrusion"),
                       ("OEM", "C: boot completed")),
        "redfish": (("SEL", "The system event log was cleared."),
                    ("Host0", "Host system DC power is on.")),
    },
}  # fmt: skip


def _boards(story: Story, chance: random.Random) -> Iterator[tuple[str, str, bool]]:
    """The event lists of some boards: that of each node that has something to say, and others."""
    form, name = BOARD_FORMS[story.world.software.controller]
    quiet = BOARD_WORDS["quiet"][story.world.software.controller]
    guilty = {event.node for event in story.board}
    for node in story.world.nodes[:64]:
        if node.index not in guilty and chance.random() < 0.5:
            continue
        own = [event for event in story.board if event.node == node.index]
        rows = [
            (story.fault_ns - int(_DAY * chance.uniform(2, 200)), *chance.choice(quiet), "Ok")
            for _ in range(chance.randrange(1, 5))
        ]
        for event in own:
            sensor, text = chance.choice(BOARD_WORDS[event.what][story.world.software.controller])
            k = event.number
            rows.append((event.at_ns, sensor.format(k=k), text.format(k=k), event.severity))
        yield f"nodes/{node.name}/{name}", form(sorted(rows)), any(one.root for one in own)


_Rows = Sequence[tuple[int, str, str, str]]


def _utc(at_ns: int, form: str) -> str:
    return datetime.fromtimestamp(at_ns // SECOND, UTC).strftime(form)


def _ipmitool(rows: _Rows) -> str:
    """``_ipmitool sel elist``."""
    return "".join(
        f"{place:4x} | {_utc(at, '%m/%d/%Y')} | {_utc(at, '%H:%M:%S')} UTC | {sensor} | {text} | "
        "Asserted\n"
        for place, (at, sensor, text, _) in enumerate(rows, 1)
    )


def _racadm(rows: _Rows) -> str:
    """``_racadm getsel``."""
    return "".join(
        f"Record:      {place}\nDate/Time:   {_utc(at, '%m/%d/%Y %H:%M:%S')}\nSource:      system\n"
        f"Severity:    {severity}\nDescription: {text}\n{'-' * 79}\n"
        for place, (at, _, text, severity) in enumerate(rows, 1)
    )


def _ilo(rows: _Rows) -> str:
    """An integrated management log."""
    head = "Severity,Class,Last Update,Initial Update,Count,Description\n"
    return head + "".join(
        f"{'Informational' if severity == 'Ok' else severity},{sensor},"
        f'{_utc(at, "%m/%d/%Y %H:%M")},{_utc(at, "%m/%d/%Y %H:%M")},1,"{text}"\n'
        for at, sensor, text, severity in rows
    )


def _supermicro(rows: _Rows) -> str:
    """A health event log."""
    head = "Event ID,Time Stamp,Sensor Name,Sensor Type,Description\n"
    return head + "".join(
        f"{place},{_utc(at, '%Y/%m/%d %H:%M:%S')},{sensor},"
        f"{sensor.split()[0].rstrip('0123456789')},"
        f"{text} - Assertion\n"
        for place, (at, sensor, text, _) in enumerate(rows, 1)
    )


def _redfish(rows: _Rows) -> str:
    """A log service's entries."""
    members = [
        {
            "@odata.id": f"/redfish/v1/Systems/system/LogServices/EventLog/Entries/{place}",
            "Id": str(place),
            "Created": _utc(at, "%Y-%m-%dT%H:%M:%S+00:00"),
            "EntryType": "Event",
            "Severity": "OK" if severity == "Ok" else severity,
            "Message": text,
            "MessageArgs": [sensor],
            "Resolved": False,
        }
        for place, (at, sensor, text, severity) in enumerate(rows, 1)
    ]
    kind = "#LogEntryCollection.LogEntryCollection"
    value = {"@odata.type": kind, "Members": members, "Members@odata.count": len(members)}
    return json.dumps(value, indent=1) + "\n"


BOARD_FORMS: Final[dict[str, tuple[Callable[[_Rows], str], str]]] = {
    "ipmitool": (_ipmitool, "sel.txt"),
    "racadm": (_racadm, "racadm_getsel.txt"),
    "ilo": (_ilo, "iml.csv"),
    "supermicro": (_supermicro, "health-event-log.csv"),
    "redfish": (_redfish, "redfish-log.json"),
}


# Kubernetes on any day: seconds after the fault, kind, object, reason, text.
_ANY_DAY: Final = (
    (-2990, "Normal", "pod/{job}-worker-0", "Pulled",
     'Container image "registry.local/train:26.02" already present on machine'),
    (-2400, "Warning", "pod/log-shipper-8xk2p", "BackOff",
     "Back-off restarting failed container shipper in pod log-shipper-8xk2p"),
    (-1900, "Warning", "pod/kube-state-metrics-0", "Unhealthy",
     "Readiness probe failed: HTTP probe failed with statuscode: 503"),
    (-800, "Warning", "node/infra-07", "FreeDiskSpaceFailed",
     "Failed to garbage collect required amount of images."),
    (-3000, "Normal", "pod/{job}-worker-0", "Scheduled",
     "Successfully assigned train/{job}-worker-0 to {node}"),
)  # fmt: skip


def _cluster(story: Story, chance: random.Random) -> tuple[str, str, bool]:
    """``kubectl get events`` of the job and its cluster, as JSON."""
    names = {"job": f"train-{story.world.job_id}", "node": story.world.nodes[0].name}
    rows = [
        ClusterEvent(
            story.at(at), kind, reason, about.format(**names), text.format(**names), root=False
        )
        for at, kind, about, reason, text in _ANY_DAY
        if chance.random() < 0.7
    ]
    events = sorted([*rows, *story.events], key=lambda event: event.at_ns)
    value = {"apiVersion": "v1", "items": [_as_json(event) for event in events], "kind": "List"}
    text = json.dumps(value, indent=1) + "\n"
    return "k8s-events.json", text, any(event.root for event in story.events)


def _as_json(event: ClusterEvent) -> dict[str, object]:
    sort, _, name = event.about.partition("/")
    stamp = _utc(event.at_ns, "%Y-%m-%dT%H:%M:%SZ")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "type": event.kind,
        "reason": event.reason,
        "message": event.text,
        "count": 1,
        "firstTimestamp": stamp,
        "lastTimestamp": stamp,
        "involvedObject": {"kind": sort.capitalize(), "name": name},
        "source": {"component": "node-controller" if sort == "node" else "kubelet"},
    }


# slurmctld on any day: seconds after the fault, text; ``{n}`` and ``{m}`` are ids of other jobs.
_ANY_DAY_OF_SLURM: Final = (
    (-9000, "sched: Allocate JobId={job} NodeList={nodes} #CPUs=1536 Partition=gpu"),
    (-5200, "_job_complete: JobId={n} WEXITSTATUS 0"),
    (-4100, "error: Node cn-0911 has low real_memory size (1031000 < 2063000)"),
    (-2900, "error: slurm_receive_msgs: [[login2]:51234] failed: Zero Bytes were transmitted "
            "or received"),
    (-1800, "Warning: Note very large processing time from _slurmctld_background: usec=3187654 "
            "began=01:10:02.114"),
    (-700, "_slurm_rpc_submit_batch_job: JobId={m} InitPrio=5772 usec=1032"),
)  # fmt: skip


def _controller(story: Story, chance: random.Random) -> tuple[str, str, bool]:
    """slurmctld.log: lines of any day, and what it says of this job."""
    world = story.world
    names = {
        "job": world.job_id,
        "nodes": ",".join(node.name for node in world.nodes[:16]),
        "n": chance.randrange(10**4, 10**6),
        "m": chance.randrange(10**4, 10**6),
    }
    rows = [
        (story.at(at), text.format(**names))
        for at, text in _ANY_DAY_OF_SLURM
        if chance.random() < 0.8
    ]
    rows += [(at, text) for at, text, _ in story.controller]
    zone_s = world.nodes[0].zone_s
    lines = [
        f"[{_utc(at + zone_s * SECOND, '%Y-%m-%dT%H:%M:%S')}.{at % SECOND // 1_000_000:03d}] {text}"
        for at, text in sorted(rows)
    ]
    return "slurmctld.log", "\n".join(lines) + "\n", any(root for *_, root in story.controller)
