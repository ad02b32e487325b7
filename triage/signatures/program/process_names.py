"""Whose process a name is: a job's, a service of the node, or nobody knows.

A kernel prints the first 15 characters of a thread's name. Training runs in Python,
and names its threads after itself; services and desktops are known by their own names.
"""

import re
from enum import StrEnum

from triage.domain.patterns import compile_re


class Whose(StrEnum):
    """What a process is to a job."""

    JOB = "job"
    SERVICE = "service"
    UNKNOWN = "unknown"


_JOB = compile_re(
    r"(?:python|pypy|pt_|pin_memory|torch|rank[\d_-]|rank$|train|pretrain|finetune|sft|rlhf|megatron"
    r"|nemo|deepspeed|accelerate|lightning|nccl|rccl|gloo|cuda|dali|mpi|orted|prted|hydra_|ray::"
    r"|raylet|vllm|sglang|jax|xla|tensorflow|fairseq|mosaic|composer|dataloader|data_worker|elastic"
    r"|autograd|all_reduce|alltoall|sendrecv|reduce_scatter|bench|worker\d)",
    re.IGNORECASE,
)
_SERVICE = compile_re(
    r"(?:systemd|\(sd-|\(udev|udev|init$|dbus|polkit|NetworkManager|network|wpa_|ModemManager|avahi"
    r"|cups|snap|apt|dpkg|unattended|packagekit|PK-|dnf|yum|rpm|cron|anacron|atd$|rsyslog|syslog"
    r"|in:im|journal|auditd?$|chronyd?|ntpd?$|sshd|login|agetty|sudo$|su$|bash$|sh$|dash$|zsh$|fish$"
    r"|tmux|screen$|vim?$|nvim|emacs|less$|top$|htop$|btop|nvtop|glances|lspci|lshw|dmidecode|smart"
    r"|ipmi|bmc|irqbalance|tuned|thermald|acpid|mcelog|rasdaemon|abrt|whoopsie|apport|kerneloops"
    r"|gnome|gjs|gsd-|gdm|gvfs|kde|kwin|plasma|kded|ksmserver|kscreen|sddm|lightdm|Xorg|Xwayland|Xvfb"
    r"|x11|xfce|xfdesktop|mate-|cinnamon|nautilus|dolphin|thunar|caja|nemo-desktop|tracker|baloo"
    r"|evolution|goa-|ibus|fcitx|pulse|pipewire|wireplumber|rtkit|bluetooth|obex|colord|fwupd|geoclue"
    r"|firefox|Web Content|WebKit|Isolated|[cC]hrom|DedicatedWorker"
    r"|Service ?Worker|pool-|pool$|brave|opera|vivaldi|msedge|ThreadPoolForeg|Compositor|GPU"
    r" ?Process|electron|code$|code-|slack|discord|spotify|teams|zoom|thunderbird|libreoff|soffice"
    r"|steam|wine|vlc|mpv|obs$|gimp|blender|docker|containerd|runc|crio|podman|conmon|kubelet"
    r"|kube-|calico|cilium|flannel|coredns|etcd|node_exporter|prometheus|grafana|telegraf|collectd"
    r"|fluent|filebeat|metricbeat|vector$|promtail|otel|datadog|agent$|zabbix|nagios|nrpe|check_mk"
    r"|puppet|chef|salt|ansible|cloud-init|amazon-ssm|ssm-|google_|waagent|hv_|vmtoolsd|qemu|libvirt"
    r"|virt|kvm|postgres|mysqld?|mariadb|redis|mongod?$|nginx|apache|httpd|haproxy|java$|node$|npm$"
    r"|php|perl$|ruby|cc1|gcc|g\+\+|ld$|clang|rustc|cargo|make$|cmake|ninja|git$|rsync|slurm|munge|pbs_"
    r"|sssd|nslcd|nscd|rpc\.|rpcbind|gss|automount|lvm|dmeventd|multipathd|iscsid|zed$|tlp$|upower"
    r"|geany|gedit|kate$|nano$|tumbler|udisks|blueman|snmpd|nmbd|smbd|winbind|dhc|ntpdate|fail2ban"
    r"|updatedb|fstrim|logrotate|mandb|man-db|falcon|auto-?mount|osquery|wazuh|ossec|crowdstrike|nessus|qualys|clam"
    r"|ollama|dcgm|nvidia-|nv-host|gpud$|jupyter-lab$|VBox|teamviewer|anydesk|rustdesk|x11vnc|Xvnc|xrdp)",
)

# Services whose words are about jobs: schedulers, container runtimes, agents that watch GPUs.
_SERVES_JOBS = compile_re(
    r"(?:slurm|srun|sbatch|salloc|munge|pbs_|qmaster|sge_|lsf|mbatchd|sbatchd|htcondor|condor_|flux"
    r"|kubelet|kube-|k3s|docker|containerd|runc|crio|podman|conmon|enroot|pyxis|singularity|apptainer"
    r"|supervis|launch|mpi|orted|prted|hydra_|ray|raylet|torchrun|elastic|nvidia|nv-|dcgm|gpud|gpu"
    r"|node-problem|fabricmanager|opensm|rdma|ib|mlnx|rocm|amd|habana|efa|lustre|lnet|mmfs|beegfs|weka"
    r"|ceph|nfs|bash$|sh$|cloud-init|amazon|google|waagent|agent|systemd-logind|systemd-shutdown"
    r"|systemd-coredump|abrt|mcelog|rasdaemon|smartd|ipmi|bmc|oom|earlyoom)",
    re.IGNORECASE,
)


def is_job_service(name: str) -> bool:
    """Whether a service of this name writes about jobs and the parts they run on.

    >>> serves_jobs("slurmstepd"), serves_jobs("snapd")
    (True, False)
    """
    return _SERVES_JOBS.match(name.strip()) is not None


def classify_owner(name: str) -> Whose:
    """The job's where the name looks like a program that trains, a service's where it is known."""
    plain = name.strip()
    if _JOB.match(plain):
        return Whose.JOB
    if _SERVICE.match(plain):
        return Whose.SERVICE
    return Whose.UNKNOWN
