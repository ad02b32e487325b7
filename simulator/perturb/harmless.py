"""What machines print that has nothing to do with a job which failed on another node.

Sentences of kernels, daemons and users' processes with holes for names and numbers.
``(program, text)``; the program is None where the kernel itself prints.
"""

import random
import re
from typing import Final

Sentence = tuple[str | None, str]

# Processes that are not the job's.
STRANGERS: Final[tuple[Sentence, ...]] = (
    (None, "{app}[{pid}]: segfault at {n} ip 00007f{hex6}a0 sp 00007ffc{hex6} error 4 in "
           "lib{word}.so.6[7f{hex6}000+195000]"),
    (None, "traps: {app}[{pid}] trap invalid opcode ip:55{hex6} sp:7ffd{hex6} error:0 in {app}"),
    (None, "{app}[{pid}]: vm86 mode not supported on 64 bit kernel"),
    (None, 'warning: process `{app}\' used the deprecated sysctl system call with 1.23.'),
    (None, "Memory cgroup out of memory: Killed process {pid} ({app}) total-vm:{n}kB, "
           "anon-rss:{n}kB, file-rss:0kB, shmem-rss:0kB, UID:{n} pgtables:{n}kB oom_score_adj:0"),
    ("systemd-coredump", "Process {pid} ({app}) of user {n} dumped core."),
    ("sshd", "error: kex_exchange_identification: Connection closed by remote host"),
    ("sshd", "pam_unix(sshd:session): session closed for user {user}"),
    ("CRON", "({user}) CMD (test -x /usr/sbin/{word} && /usr/sbin/{word} --nightly)"),
    ("sudo", "{user} : TTY=pts/{d} ; PWD=/home/{user} ; USER=root ; COMMAND=/usr/bin/{word}"),
)  # fmt: skip

DAEMONS: Final[tuple[Sentence, ...]] = (
    ("systemd", "{word}.service: Main process exited, code=exited, status={d}/FAILURE"),
    ("systemd", "{word}.service: Failed with result 'exit-code'."),
    ("systemd", "Failed to start {word} cleanup of temporary files."),
    ("systemd", "Started Session {n} of user {user}."),
    ("chronyd", "Source 10.{d}.{d}.{d} replaced with 10.{d}.{d}.{d} ({word})"),
    ("dbus-daemon", "[system] Activation via systemd failed for unit '{word}.service': "
                    "Unit {word}.service not found."),
    ("snapd", "autorefresh.go:{n}: Cannot prepare auto-refresh change: Post "
              '"https://api.{word}.example/v2/snaps/refresh": context deadline exceeded'),
    ("rsyslogd", "action 'action-{d}-builtin:omfwd' suspended (module 'builtin:omfwd'), retry 0."),
    ("containerd", 'time="now" level=warning msg="cleanup warnings" error="{word} not found"'),
    ("node_exporter", 'level=error msg="collector failed" name={word} err="no data"'),
    (None, "systemd-journald[{pid}]: Failed to set ACL on /var/log/journal/{hex6}: "
           "Operation not supported"),
    (None, "audit: type=1400 apparmor=\"DENIED\" operation=\"open\" profile=\"snap.{word}\" "
           "name=\"/proc/{pid}/mounts\" pid={pid} comm=\"{app}\""),
    (None, "perf: interrupt took too long ({n} > {n}), lowering "
           "kernel.perf_event_max_sample_rate to 25000"),
    (None, "veth{hex6}: renamed from eth0"),
    (None, "cgroup: fork rejected by pids controller in /user.slice/user-{n}.slice"),
    (None, "usb {d}-{d}: device descriptor read/64, error -71"),
    (None, "ACPI Error: No handler for Region [POWR] ({hex6}) [IPMI] (20210730/evregion-130)"),
    (None, "nfs: Deprecated parameter '{word}'"),
)  # fmt: skip

# The machine itself says that it was corrected.
MENDED: Final[tuple[Sentence, ...]] = (
    (None, "EDAC MC{d}: 1 CE memory read error on CPU_SrcID#{d}_MC#{d}_Chan#{d}_DIMM#{d} "
           "(channel:{d} slot:{d} page:0x{hex6} offset:0x{n} grain:32 syndrome:0x0)"),
    (None, "mce: [Hardware Error]: Machine check events logged"),
    (None, "{{{n}}}[Hardware Error]: It has been corrected by h/w and requires no further action"),
    (None, "pcieport 0000:{bus}:01.0: AER: Correctable error message received from "
           "0000:{bus}:00.0"),
    (None, "pcieport 0000:{bus}:01.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, "
           "(Receiver ID)"),
    (None, "CPU{d}: Core temperature above threshold, cpu clock throttled "
           "(total events = {n})"),
    (None, "CPU{d}: Core temperature/speed normal"),
)  # fmt: skip

# Of days ago, and the node has run jobs since.
OLD: Final[tuple[Sentence, ...]] = (
    (None, "mlx5_core 0000:{bus}:00.0 ens{d}np0: Link down"),
    (None, "mlx5_core 0000:{bus}:00.0 ens{d}np0: Link up"),
    (None, "nfs: server {word}-{d} not responding, still trying"),
    (None, "nfs: server {word}-{d} OK"),
    (None, "NVRM: Xid (PCI:0000:{bus}:00): 31, pid={pid}, name={app}, Ch 0000000{d}, intr "
           "00000000. MMU Fault: ENGINE GRAPHICS GPCCLIENT_T1_{d} faulted @ 0x7f{hex6}. "
           "Fault is of type FAULT_PDE ACCESS_TYPE_VIRT_READ"),
    (None, "INFO: task {app}:{pid} blocked for more than 120 seconds."),
)  # fmt: skip

# Of an orderly or forced end, on a node like any other.
TEARDOWN: Final[tuple[Sentence, ...]] = (
    (None, "mlx5_core 0000:{bus}:00.0: mlx5_cmd_out_err:{n}:(pid {pid}): DESTROY_{WORD}"
           "(0x{hex3}) op_mod(0x0) failed, status bad resource state(0x9), syndrome "
           "(0x{hex6}), err(-22)"),
    (None, "mlx5_core 0000:{bus}:00.0: mlx5_cmd_check:{n}:(pid {pid}): DEALLOC_{WORD}(0x{hex3}) "
           "op_mod(0x0) failed, status bad parameter(0x3), syndrome (0x{hex6})"),
    (None, "infiniband mlx5_{d}: destroy_{word}:{n}:(pid {pid}): failed to destroy {word} "
           "0x{hex3}, still in use"),
    (None, "nvidia-uvm: {word} channel {n} torn down with {d} pending faults dropped"),
    (None, "nvidia-peermem {word}_put_pages: release of 0x7f{hex6} after invalidation"),
    (None, "NVRM: {word}: client 0x{hex6} freed {d} objects at process exit (pid {pid})"),
    (None, "{app}[{pid}]: exited on signal 9"),
    (None, "cgroup: memory: killing tasks of /slurm/uid_{n}/job_{n}/step_0"),
    (None, "docker0: port {d}(veth{hex6}) entered disabled state"),
    (None, "overlayfs: unmount of /run/{word}/{hex6} busy, lazily detached"),
    ("systemd", "job-{n}.scope: Killing process {pid} ({app}) with signal SIGKILL."),
    ("systemd", "job-{n}.scope: Failed with result 'timeout'."),
    ("containerd", 'time="now" level=error msg="failed to handle container TaskExit event" '
                   'error="failed to stop container: context deadline exceeded"'),
    ("kubelet", 'E{n} pod_workers.go:{n}] "Error syncing pod, skipping" err="failed to '
                '\\"KillContainer\\" for \\"{word}\\""'),
)  # fmt: skip

_APPS: Final = (
    "jupyter-lab", "chrome", "Xorg", "gnome-shell", "rsession", "matlab", "ffmpeg", "node",
    "backup-agent", "clamd", "vim", "indexer",
)  # fmt: skip
_USERS: Final = ("alice", "ops", "svc-backup", "mkoch", "ubuntu", "student7")
_WORDS: Final = (
    "fwupd", "collector", "mlocate", "auditbeat", "mirror", "vault", "ledger", "thumb", "relay",
    "quota", "archive", "pool", "cursor", "anchor", "lease",
)  # fmt: skip
_HOLE: Final = re.compile(r"\{(pid|n|d|bus|app|user|word|WORD|hex3|hex6)\}")


def filled(text: str, rng: random.Random) -> str:
    """The sentence with names and numbers in its holes."""

    def one(match: "re.Match[str]") -> str:
        match match[1]:
            case "pid":
                return str(rng.randrange(2_000, 4_000_000))
            case "n":
                return str(rng.randrange(100, 99_999))
            case "d":
                return str(rng.randrange(1, 9))
            case "bus":
                return f"{rng.randrange(16, 240):02x}"
            case "hex3":
                return f"{rng.randrange(16**3):03x}"
            case "hex6":
                return f"{rng.randrange(16**6):06x}"
            case "app":
                return rng.choice(_APPS)
            case "user":
                return rng.choice(_USERS)
            case word:
                found = rng.choice(_WORDS)
                return found.upper() if word == "WORD" else found

    return _HOLE.sub(one, text).replace("{{", "{").replace("}}", "}")
