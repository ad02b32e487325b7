"""What healthy kernels print while a node boots, in words that alarm: known, and noise.

Firmware that leaves tables half filled, bridges without room for windows that nobody
uses, slots and ports with nothing in them, protections that name the weakness they are
for. An unknown line of a boot matches nothing here; a fault does not either.
"""

from triage.domain.category import Category
from triage.domain.evidence import Kind, Trait
from triage.signatures.family import Family
from triage.signatures.signature import Scope

__all__ = ["SIGNATURES"]


BOOT = Family(
    "chatter",
    Kind.KERNEL,
    traits=(Trait.TEARDOWN,),
    category=Category.NONE,
    scope=Scope.ANY,
    as_one=True,
    quiet=True,
)

BOOT.noise(
    "firmware_bug",
    r"\[Firmware (?:Bug|Warn|Info)\]:?",
    literals=("[firmware bug]", "[firmware warn]", "[firmware info]"),
    matches=(
        "[Firmware Bug]: the BIOS has corrupted hw-PMU resources (MSR 38d is 330)",
        "ACPI: [Firmware Bug]: BIOS _OSI(Linux) query ignored",
        "[Firmware Warn]: GHES: Poll interval is 0 for generic hardware error source: 1, disabled.",
    ),
    near_misses=("firmware bug of the week",),
    source="Linux: FW_BUG, FW_WARN and FW_INFO in front of many messages",
)
BOOT.noise(
    "acpi",
    r"\bACPI (?:BIOS )?(?:Error|Warning|Exception)(?: \(bug\))?: "
    r"|\b_OSC(?:: (?:platform does not support|not requesting control|OS now controls)| failed \()"
    r"|_OSC evaluation for CPUs failed|FADT declares the system doesn't support PCIe ASPM"
    r"|Early table checksum verification (?:dis|en)abled|System wakeup (?:dis|en)abled by ACPI"
    r"|\bACPI: EC: |fail to add MMCONFIG information|\bACPI: LAPIC(?:_NMI)? \("
    r"|PCCT header not found|SPCR table not found|ACPI: Resource conflict"
    r"|failed to read out thermal zone \(",
    literals=(
        "acpi error: ",
        "acpi bios error",
        "acpi warning: ",
        "acpi bios warning",
        "acpi exception: ",
        "_osc failed",
        "_osc: platform does not support",
        "_osc: not requesting control",
        "_osc: os now controls",
        "evaluation for cpus failed",
        "fadt declares the system doesn't support pcie aspm",
        "early table checksum verification",
        "system wakeup disabled by acpi",
        "acpi: ec: ",
        "fail to add mmconfig information",
        "acpi: lapic",
        "pcct header not found",
        "spcr table not found",
        "acpi device not found",
        "acpi: resource conflict",
        "acpi: interrupt link",
        "failed to read out thermal zone",
    ),
    matches=(
        "ACPI BIOS Error (bug): Could not resolve symbol [\\_SB.PC00.LPC0.HEC.TSD0], AE_NOT_FOUND"
        " (20230331/psargs-330)",
        "ACPI Error: AE_NOT_FOUND, Evaluating _PRS (20210730/pci_link-178)",
        "acpi PNP0A08:06: _OSC: platform does not support [SHPCHotplug AER]",
        "ACPI FADT declares the system doesn't support PCIe ASPM, so disable it",
    ),
    near_misses=(
        "ACPI: \\_SB_.PCI0: notify",
        "thermal thermal_zone0: critical temperature reached (108 C)",
    ),
    source="Linux: drivers/acpi",
)
BOOT.noise(
    "pci_windows",
    r"\bBAR \d{1,2}: (?:no space for|failed to assign|can't (?:claim|assign))|can't claim BAR \d"
    r"|bridge window \[[^\]\n]{1,60}\]: (?:failed to assign|can't assign)|can't assign; no space"
    r"|\]: (?:failed to assign|no compatible bridge window)|\] could not be reserved"
    r"|[Cc]annot allocate resource for (?:EISA|mainboard)|Expanded resource .{1,60} due to conflict"
    r"|Using host bridge windows from ACPI|disabling ASPM on pre-1\.1"
    r"|can't disable ASPM; OS doesn't have ASPM control|PME# (?:does not work|disabled)"
    r"|PCI: CLS mismatch|Some PCI device resources are unassigned"
    r"|bridge configuration invalid \(\[bus [^\n]{1,30}\), reconfiguring"
    r"|Max Payload Size set to \d{1,4}.{0,20}not set up, use BIOS default",
    literals=(
        "bar 0: no space",
        ": no space for [",
        ": failed to assign [",
        "can't claim bar",
        "can't assign; no space",
        "can't assign io (size",
        "]: failed to assign",
        "]: assigned to efifb",
        "no compatible bridge window",
        "could not be reserved",
        "cannot allocate resource for",
        "expanded resource",
        "using host bridge windows from acpi",
        "not set up, use bios default",
        "disabling aspm on pre-1.1",
        "can't disable aspm; os doesn't have aspm control",
        "pme# does not work",
        "pme# disabled",
        "cls mismatch",
        "some pci device resources are unassigned",
        "bridge configuration invalid, reconfiguring",
        "ignoring bar",
        "invalid bar",
        "[bug]: bar",
        "pcie bw",
    ),
    matches=(
        "pci 0000:98:05.0: BAR 13: no space for [io  size 0x1000]",
        "pci 0000:98:05.0: BAR 13: failed to assign [io  size 0x1000]",
        "pcieport 0000:00:01.0: bridge window [io  size 0x1000]: failed to assign",
        "pci 0000:9a:00.0: VF BAR 2 [mem size 0x2000000000 64bit pref]: can't assign; no space",
        "pci 0000:00:1f.5: can't claim BAR 0 [mem 0xfe010000-0xfe010fff]: no compatible bridge"
        " window",
        "system 00:04: [mem 0xfed20000-0xfed7ffff] could not be reserved",
    ),
    near_misses=(
        "NVRM: This PCI I/O region assigned to your NVIDIA device is invalid:",
        "pcieport 0000:5c:01.0: AER: can't recover (no error_detected callback)",
    ),
    source="Linux: drivers/pci/setup-bus, probe, quirks; drivers/pnp",
)
BOOT.noise(
    "pci_services",
    r"(?:AER|DPC): enabled with IRQ|DPC: error containment capabilities|PME: Signaling with IRQ"
    r"|pciehp: Slot #\S{1,8} AttnBtn|Gb/s available PCIe bandwidth \(|enabling device \([0-9a-f]{4}"
    r"|\bvgaarb: ",
    literals=(
        "aer: enabled with irq",
        "dpc: enabled with irq",
        "dpc: error containment capabilities",
        "pme: signaling with irq",
        "hotplug+ surprise",
        "hotplug- surprise",
        "attnbtn",
        "bus mastering",
        "enabling device (",
        "available pcie bandwidth (",
        "gb/s available pcie bandwidth (",
        "vgaarb: ",
    ),
    matches=(
        "pcieport 0000:16:00.0: AER: enabled with IRQ 34",
        "pcieport 0000:3a:00.0: pciehp: Slot #2 AttnBtn- PwrCtrl- MRL- HotPlug+ Surprise+",
        "mlx5_core 0000:1a:00.0: 504.112 Gb/s available PCIe bandwidth (32.0 GT/s PCIe x16 link)",
    ),
    near_misses=(
        "pcieport 0000:3a:00.0: pciehp: Slot(2): Link Down",
        "pci 0000:5d:00.0: 126.016 Gb/s available PCIe bandwidth, limited by 16.0 GT/s PCIe x8",
    ),
    source="Linux: drivers/pci/pcie",
)
BOOT.noise(
    "empty_port",
    r"\bata\d{1,3}(?:\.\d\d)?: SATA link (?:down|up)\b|Unable to find any System Interface\(s\)",
    literals=(
        "sata link down (sstatus",
        "sata link up",
        "unable to find any system interface",
        "ata bus",
    ),
    matches=(
        "ata5: SATA link down (SStatus 4 SControl 300)",
        "ata1: SATA link up 6.0 Gbps (SStatus 133 SControl 300)",
        "ipmi_si: Unable to find any System Interface(s)",
    ),
    near_misses=("ata5: hard resetting link", "ata5.00: exception Emask 0x0 SAct 0x4000"),
    source="Linux: drivers/ata, drivers/char/ipmi",
)
BOOT.noise(
    "edac_start",
    r"EDAC MC: Ver|EDAC (?:MC|PCI|DEVICE)\d{0,3}: (?:Giving out device|Removed device)"
    r"|EDAC amd64: (?:F\w{2,8} detected|Node \d{1,3}: DRAM ECC|MCT channel|using x\d|Error: F\d not"
    r" found|ECC disabled|Forcing ECC|MC: |\s)|EDAC (?:i10nm|sbridge|skx|ie31200|pnd2|igen6)\w*: "
    r"(?:No |Seeking|Couldn't find|Failed to register|ECC |v\d|Can't)"
    r"|Correctable Errors collector initialized|In-kernel MCE decoding enabled"
    r"|Error Record Serialization Table|HEST: (?:Table parsing|Enabling Firmware First)"
    r"|GHES: (?:APEI firmware first mode|Failed to enable APEI)|BERT: No ",
    literals=(
        "edac mc: ver",
        ": giving out device to",
        "edac amd64: ",
        "edac i10nm: no ",
        "edac sbridge: ",
        "edac skx: ",
        "edac ie31200",
        "edac pnd2",
        "edac igen6",
        "removed device",
        "correctable errors collector initialized",
        "dram ecc disabled",
        "dram ecc enabled",
        "in-kernel mce decoding enabled",
        "error record serialization table",
        "hest: table parsing",
        "hest: enabling firmware first",
        "ghes: apei firmware first mode",
        "ghes: failed to enable apei",
        "einj: ",
        "bert: no ",
    ),
    matches=(
        "EDAC MC0: Giving out device to module skx_edac controller Skylake Socket#0 IMC#0: DEV"
        " 0000:64:0a.0 (INTERRUPT)",
        "EDAC MC: Ver: 3.0.0",
        "EDAC amd64: ECC disabled in the BIOS or no ECC capability, module will not load.",
        "EDAC sbridge: Couldn't find mci handler",
        "RAS: Correctable Errors collector initialized.",
    ),
    near_misses=(
        "EDAC MC0: 1 UE memory scrubbing error on P0_DIMM_C1 (channel:2 slot:0 page:0x99)",
        "EDAC sbridge MC1: HANDLING MCE MEMORY ERROR",
    ),
    source="Linux: drivers/edac, drivers/ras, drivers/acpi/apei",
    kind=Kind.MEMORY,
)
BOOT.noise(
    "mitigations",
    r"CPU bug present and SMT on, data leak possible|\b(?:Spectre V\d|Meltdown|L1TF|MDS|TAA|SRBDS"
    r"|MMIO Stale Data|Speculative (?:Store Bypass|Return Stack Overflow)|Retbleed|RETBleed|GDS"
    r"|Register File Data Sampling|RFDS|ITS|TSA|VMSCAPE)\b[^\n]{0,40}: "
    r"|SGX disabled by BIOS|\bsgx: |[Ss]ecure ?boot (?:disabled|mode disabled|could not)"
    r"|split lock detection: #|x86/split lock detection",
    literals=(
        "cpu bug present and smt on",
        "data leak possible",
        ": mitigation: ",
        ": vulnerable",
        "speculative store bypass",
        "speculative return stack overflow",
        "spectre v",
        "srbds: ",
        "register file data sampling",
        "sgx disabled by bios",
        "sgx: ",
        "secure boot disabled",
        "secure boot could not be determined",
        "secureboot mode disabled",
        "split lock detection",
        "x86/tme",
    ),
    matches=(
        "MDS CPU bug present and SMT on, data leak possible. See https://www.kernel.org/doc/html/x",
        "Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on, data leaks possible",
        "x86/cpu: SGX disabled by BIOS.",
        "Speculative Return Stack Overflow: WARNING: See https://kernel.org/x for mitigation",
    ),
    near_misses=("the leak is possible: vulnerable", "RETBleed is a paper"),
    source="Linux: arch/x86/kernel/cpu/bugs",
    kind=Kind.CPU,
)
BOOT.noise(
    "iommu",
    r"iommu: (?:Default domain type|DMA domain TLB invalidation policy)"
    r"|\bDMAR(?:-IR)?: (?:Host address width|DRHD base|RMRR base|ATSR|RHSA|IOAPIC|HPET|Enabled"
    r"|Queued invalidation|x2apic is disabled|No ATSR|dmar\d|Intel\(R\)|\[Firmware)"
    r"|AMD-Vi: (?:AMD IOMMUv2|Extended features|Found IOMMU|Interrupt remapping|Virtual APIC|ivrs)"
    r"|AMD IOMMUv2 functionality not available|Skip IOMMU disabling|Adding to iommu group",
    literals=(
        "default domain type: ",
        "tlb invalidation policy",
        "dmar: ",
        "dmar-ir: ",
        "amd-vi: ",
        "amd iommuv2 functionality",
        "adding to iommu group",
        "skip iommu disabling",
        "queued invalidation will be enabled",
    ),
    matches=(
        "iommu: Default domain type: Translated",
        "DMAR-IR: x2apic is disabled because BIOS sets x2apic opt out bit.",
        "AMD-Vi: AMD IOMMUv2 functionality not available on this system - This is not a bug.",
        "mlx5_core 0000:1a:00.0: Adding to iommu group 33",
    ),
    near_misses=("DMAR: [DMA Read NO_PASID] Request device [1a:00.0] fault addr 0xe0000000",),
    source="Linux: drivers/iommu",
)
BOOT.noise(
    "clocks",
    r"HPET dysfunctional|TSC deadline timer (?:enabled|available)|Fast TSC calibration failed"
    r"|Calibrating delay loop|Unable to locate Rio Grande table"
    r"|Perf NMI watchdog permanently disabled|NMI watchdog: (?:[Dd]isabled|[Ee]nabled|Shutting)"
    r"|PEBS disabled due to CPU errata|MTRR default type|MTRRs disabled, skipping PAT"
    r"|Disabled fast string operations|Disabling non-boot CPUs|smpboot: CPU \d{1,5} is now offline",
    literals=(
        "hpet dysfunctional",
        "tsc deadline timer",
        "fast tsc calibration failed",
        "calibrating delay loop",
        "unable to locate rio grande",
        "perf nmi watchdog permanently disabled",
        "nmi watchdog: disabled (cpu",
        "nmi watchdog: enabled",
        "nmi watchdog: shutting down hard lockup",
        "pebs disabled due to cpu errata",
        "smp alternatives",
        "mtrr default type",
        "mtrrs disabled, skipping pat",
        "disabled fast string operations",
        "disabling non-boot cpus",
        "is now offline",
        "acpi pm-timer",
        "refined tsc clocksource",
    ),
    matches=(
        "hpet: HPET dysfunctional in PC10. Force disabled.",
        "NMI watchdog: Perf NMI watchdog permanently disabled",
        "smpboot: CPU 1 is now offline",
    ),
    near_misses=(
        "NMI watchdog: BUG: soft lockup - CPU#3 stuck for 23s! [python3:88123]",
        "megaraid_sas 0000:01:00.0: 3412 (721s/0x0002/FATAL) - VD 00/0 is now OFFLINE",
    ),
    source="Linux: arch/x86/kernel, kernel/watchdog",
    kind=Kind.CPU,
)
BOOT.noise(
    "security_start",
    r"initializing netlink (?:subsys|socket)|SELinux:\s+Disabled at runtime"
    r"|the above unknown classes and permissions|\bYama: |\bevm: security|\bima: |LSM: initializing"
    r"|Collecting audit messages is (?:dis|en)abled|CONFIG_IMA_DISABLE_HTABLE is disabled"
    r"|unlabeled traffic allowed by default|Problem loading (?:in-kernel )?X\.509"
    r"|Couldn't get size: 0x8000|Unknown kernel command line parameters",
    literals=(
        "initializing netlink subsys",
        "initializing netlink socket",
        "disabled at runtime",
        "yama: ",
        "evm: security",
        "ima: ",
        "collecting audit messages is",
        "lsm: initializing",
        "ima_disable_htable is disabled",
        "unlabeled traffic allowed by default",
        "problem loading in-kernel x.509",
        "problem loading x.509",
        "couldn't get size: 0x800000000000000e",
        "unknown kernel command line parameters",
        "loaded x.509 cert",
    ),
    matches=(
        "audit: initializing netlink subsys (disabled)",
        "integrity: Problem loading X.509 certificate -65",
        "Couldn't get size: 0x800000000000000e",
        'Unknown kernel command line parameters "splash BOOT_IMAGE=/vmlinuz", will be passed to'
        " user space.",
    ),
    near_misses=("optima: a car",),
    source="Linux: security, kernel/audit, init/main",
)
BOOT.noise(
    "taint",
    r"taints kernel|Disabling lock debugging due to kernel taint|inheriting taint"
    r"|tainting kernel",
    literals=(
        "taints kernel",
        "disabling lock debugging due to kernel taint",
        "inheriting taint",
        "tainting kernel",
        "module license",
        "setting taint",
    ),
    matches=(
        "nvidia: module license 'NVIDIA' taints kernel.",
        "Disabling lock debugging due to kernel taint",
        "nvidia_uvm: module uses symbols nvUvmInterfaceDisableAccessCntr from proprietary module"
        " nvidia, inheriting taint.",
    ),
    near_misses=("kernel tainted: the report",),
    source="Linux: kernel/module",
)
BOOT.noise(
    "firmware_files",
    r"Direct firmware load for \S{1,120} failed with error -2|failed to load regulatory\.db"
    r"|[Pp]ossible missing firmware|Falling back to sysfs fallback|\bmicrocode: "
    r"|microcode updated early",
    literals=(
        "direct firmware load for",
        "failed to load regulatory.db",
        "possible missing firmware",
        "falling back to sysfs fallback",
        "microcode: ",
        "microcode updated early",
    ),
    matches=(
        "platform regulatory.0: Direct firmware load for regulatory.db failed with error -2",
        "microcode: Microcode Update Driver: v2.2.",
    ),
    near_misses=(
        "mlx5_core 0000:1a:00.0: Firmware over 120000 MS in pre-initializing state, aborting",
    ),
    source="Linux: drivers/base/firmware_loader",
)
BOOT.noise(
    "nvme_start",
    r"\bnvme (?:nvme\d{1,4}|[0-9a-f]{4}:[0-9a-f:.]{7}): (?:\d{1,4}/\d{1,4}/\d{1,4} default/"
    r"|Shutdown timeout set to|allocated \d{1,6} MiB host memory buffer|missing or invalid SUBNQN"
    r"|globally duplicate IDs for nsid|failed to set APST feature|Ignoring bogus Namespace"
    r"|platform quirk|rescanning namespaces|pci function |using unchecked data buffer)",
    literals=(
        "default/read/poll queues",
        "shutdown timeout set to",
        "mib host memory buffer",
        "missing or invalid subnqn",
        "globally duplicate ids for nsid",
        "failed to set apst feature",
        "ignoring bogus namespace identifiers",
        "platform quirk: setting simple suspend",
        "rescanning namespaces",
        "pci function 0",
        "using unchecked data buffer",
        "allocated queue depth",
    ),
    matches=(
        "nvme nvme0: 63/0/0 default/read/poll queues",
        "nvme nvme0: Shutdown timeout set to 8 seconds",
        "nvme nvme0: missing or invalid SUBNQN field.",
        "nvme nvme0: failed to set APST feature (2)",
        "nvme nvme0: pci function 0000:01:00.0",
    ),
    near_misses=(
        "nvme nvme0: I/O 12 QID 4 timeout, aborting",
        "nvme nvme0: Identify Controller failed (-4)",
    ),
    source="Linux: drivers/nvme/host",
    kind=Kind.STORAGE,
)
BOOT.noise(
    "arrays_start",
    r"\bmd/raid\d{1,2}:md\w{1,20}: active with (\d{1,4}) out of \1 (?:mirrors|devices)"
    r"|detected capacity change from|Write cache: (?:dis|en)abled"
    r"|Volume was not properly unmounted|EXT4-fs \([^)\n]{1,40}\): (?:recovery complete"
    r"|INFO: recovery required|write access will be enabled|orphan cleanup|\d{1,6} orphan"
    r"|(?:re-)?mounted)|XFS \([^)\n]{1,40}\): (?:Ending clean mount|Starting recovery"
    r"|Ending recovery|Mounting V\d)",
    literals=(
        "active with ",
        "detected capacity change from",
        "write cache: disabled",
        "volume was not properly unmounted",
        "recovery complete",
        "recovery required on readonly filesystem",
        "write access will be enabled during recovery",
        "orphan cleanup on readonly fs",
        "re-mounted",
        "mounted filesystem",
        "ending clean mount",
        "starting recovery (logdev",
        "ending recovery (logdev",
    ),
    matches=(
        "md/raid1:md0: active with 2 out of 2 mirrors",
        "md0: detected capacity change from 0 to 1999844147200",
        "EXT4-fs (sda2): re-mounted. Opts: errors=remount-ro",
        "EXT4-fs (nvme0n1p2): recovery complete",
        "XFS (dm-0): Ending clean mount",
    ),
    near_misses=(
        "EXT4-fs (nvme7n1p2): Remounting filesystem read-only",
        "md/raid1:md0: active with 1 out of 2 mirrors",
        "XFS (nvme7n1): log I/O error -5",
    ),
    source="Linux: drivers/md, fs/ext4, fs/xfs, drivers/scsi/sd",
    kind=Kind.STORAGE,
)
BOOT.noise(
    "link_ready",
    r"ADDRCONF\(NETDEV_(?:UP|CHANGE)\)|link (?:becomes|is not) ready"
    r"|filtering via arp/ip/ip6tables is no longer|Bridge firewalling registered"
    r"|: renamed from \w|Interrupt Throttling Rate",
    literals=(
        "addrconf(netdev_",
        "link becomes ready",
        "link is not ready",
        "filtering via arp/ip/ip6tables",
        "bridge firewalling registered",
        "802.1q vlan support",
        "renamed from ",
        "sfp module inserted",
        "interrupt throttling rate",
    ),
    matches=(
        "IPv6: ADDRCONF(NETDEV_CHANGE): enp9s0: link becomes ready",
        "IPv6: ADDRCONF(NETDEV_UP): eth1: link is not ready",
        "mlx5_core 0000:1a:00.0 enp26s0np0: renamed from eth4",
    ),
    near_misses=("mlx5_core 0000:1a:00.0 enp26s0np0: Link down",),
    source="Linux: net/ipv6, net/bridge, net/core",
    kind=Kind.LINK,
)
BOOT.noise(
    "platform",
    r"Hibernation image not present|PM: Image not found \(code -22\)|EDD information not available"
    r"|SPD Write Disable is set|cache line size of 64 is not supported"
    r"|We don't know the algorithms for LPM|for low memory corruption|clk: Disabling unused clocks"
    r"|cgroup_disable=memory|Resource conflict\(s\) found affecting"
    r"|Cannot enumerate AMD northbridges|\bkvm: (?:disabled by bios|no hardware support)"
    r"|TPM interrupt not working|No TPM chip found|The BMC does not support"
    r"|you might be running a broken BIOS|random: crng|urandom warning\(s\) missed"
    r"|SSS flag set, parallel bus scan disabled|amdgpu: Topology: Add"
    r"|optional (?:ras|securedisplay) ta ucode is not available|\bintel_pstate: "
    r"|IRQ sharing disabled",
    literals=(
        "hibernation image not present",
        "image not found (code -22)",
        "edd information not available",
        "spd write disable is set",
        "cache line size of 64 is not supported",
        "we don't know the algorithms for lpm",
        "scanning for low memory corruption",
        "for low memory corruption",
        "clk: disabling unused clocks",
        "cgroup_disable=memory",
        "resource conflict(s) found affecting",
        "cannot enumerate amd northbridges",
        "kvm: disabled by bios",
        "kvm: no hardware support",
        "tpm interrupt not working",
        "no tpm chip found",
        "does not support clearing the recv irq bit",
        "bmc does not support",
        "you might be running a broken bios",
        "random: crng",
        "urandom warning(s) missed",
        "sss flag set, parallel bus scan disabled",
        "amdgpu: topology: add",
        "optional ras ta ucode is not available",
        "optional securedisplay ta ucode is not available",
        "intel_pstate: ",
        "irq sharing disabled",
        "wmi_bus",
        "pnp0c14",
    ),
    matches=(
        "PM: Hibernation image not present or could not be loaded.",
        "ipmi_si IPI0001:00: The BMC does not support clearing the recv irq bit, compensating, but"
        " the BMC needs to be fixed.",
        "amdgpu 0000:c6:00.0: amdgpu: RAS: optional ras ta ucode is not available",
    ),
    near_misses=("amdgpu 0000:c3:00.0: amdgpu: GPU reset(4) failed",),
    source="Linux: kernel/power, drivers/i2c, drivers/usb, drivers/char/ipmi, drivers/gpu/drm/amd",
)
BOOT.noise(
    "gpu_driver",
    r"\bnouveau(?: [0-9a-f:.]{7,12})?: (?:\S{1,24}: )?(?:detected PR support|NVIDIA \w{2,12}"
    r"|unknown chipset|bios: |fb: |mmu: |VRAM|GART|TMDS|DCB|MM: |DRM: )"
    r"|\[drm\] Initialized |(?:Unregistered the )?Nvlink Core, major device number"
    r"|Unloaded the UVM driver|nvidia-peermem: module loaded"
    r"|nvidia-persistenced(?:\[\d{1,9}\])?: (?:Started|Verbose|PID file|device [0-9a-f:.]{7,20} -"
    r" persistence mode|Local RPC services|Shutdown|Received signal|Socket closed|The daemon)"
    r"|nv_mem_client_init: registered|[Uu]nloading NVIDIA UNIX|kbifCacheVFInfo_\w{2,10}: Unable to"
    r" read NV_PF0|Unable to read EDID|NVIDIA probe routine was not called for"
    r"|\[nvidia-drm\] \[GPU ID 0x[0-9a-f]{8}\] (?:Loading|Unloading) driver",
    literals=(
        "nouveau: ",
        "nouveau 0",
        "nvidia_drm",
        "nvidia-drm",
        "[drm] initialized",
        "gsp firmware is loaded",
        "nvidia-uvm: unloaded",
        "unregistered nvlink core",
        "unloaded the uvm driver",
        "nvidia-peermem: module loaded",
        "nvidia-persistenced: ",
        "persistence mode",
        "nvidia device nodes",
        "nv_mem_client_init: registered",
        "unloading nvidia unix",
        "kbifcachevfinfo",
        "unable to read edid",
        "no longer supported in this driver",
        "nvidia_modeset: ",
        "the nvidia probe routine was not called",
        "conflicts with the nvidia",
    ),
    matches=(
        "nvidia-nvlink: Unregistered Nvlink Core, major device number 234",
        "nvidia-uvm: Unloaded the UVM driver.",
        "nvidia-persistenced[1822]: device 0000:1b:00.0 - persistence mode enabled.",
        "NVRM: GPU1 kbifCacheVFInfo_GB100: Unable to read NV_PF0_INITIAL_AND_TOTAL_VFS",
        "[drm] Initialized nvidia-drm 0.0.0 20160202 for 0000:1b:00.0 on minor 1",
        "nouveau 0000:04:00.0: unknown chipset (b72000a1)",
    ),
    near_misses=(
        "NVRM: GPU 0000:1b:00.0: GPU has fallen off the bus.",
        "NVRM: The NVIDIA probe routine failed for 1 device(s).",
        "nvidia-persistenced[1822]: Failed to open /dev/nvidia3",
    ),
    source="NVIDIA driver start and end; Linux: drivers/gpu/drm/nouveau",
    kind=Kind.GPU,
)

SIGNATURES = BOOT.signatures()
