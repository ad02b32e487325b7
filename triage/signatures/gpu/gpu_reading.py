"""One monitor's line about one GPU: whose it is, how hot and fast, and why it is slowed down.

Monitors print such lines into job logs and system logs in as many forms as there are sites:
keys and values, JSON, rows of ``nvidia-smi --format=csv,noheader`` whose columns nobody names.
A line is one only where it names a GPU and says two things of it that are measured together, or
one and why the clocks are lowered. The line alone says that the clocks are lowered for heat or by
the power brake; whether the GPU is slower than its peers is judged where all lines lie beside each
other. A power cap in force is how busy GPUs work.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from triage.domain.category import Category
from triage.domain.patterns import compile_re
from triage.domain.toml_tables import read_toml
from triage.signatures.pci import normalize_bus_id
from triage.signatures.signature import Reading

# Where GPUs of data centres begin to slow themselves down; at work they stay far below.
HOT_C: Final = 85
# What no sensor of a GPU says; numbers beyond are something else.
_TEMPERATURES: Final = (5, 131)
_POWERS: Final = (5.0, 3000.0)
_CLOCKS: Final = (50.0, 5000.0)

# "temp=70C", "hw_thermal_slowdown=Not Active", '"gpu": 3'
_PAIR: Final = compile_re(
    r"""(?<![\w.-])["']?(?P<key>[A-Za-z][\w.]{0,60}(?:\ \[[\w%]{1,8}\])?)["']?
    \ {0,20}[=:]\ {0,4}["'\[]{0,2}
    (?P<value>(?>Not\ Active|[^\s,;"'\[\]{}=]{1,64})(?!=))""",
    re.VERBOSE,
)
_NUMBER: Final = compile_re(r"-?\d{1,9}(?:\.\d{1,9})?")
# "93C", "93 C", "93 degC"; "634.0W"; "868 MHz", "868Mhz"
_DEGREES: Final = compile_re(r"(?<![\w.])(\d{2,3})(?:\.\d)? ?(?:\u00b0|deg ?)?C\b")
_WATTS: Final = compile_re(r"(?<![\w.])(\d{1,4}(?:\.\d{1,3})?) ?W\b")
_MEGAHERTZ: Final = compile_re(r"(?<![\w.])(\d{2,4}) ?MHz\b", re.IGNORECASE)
# "GPU 3", "gpu3:", "GPU[3]", "n12/gpu3", "cuda:3"
_GPU_WORD: Final = compile_re(
    r"(?<![A-Za-z0-9])(?:gpu|cuda:|card|device)[ #_-]{0,2}\[?(\d{1,2})\]?(?![\w.-]*:[0-9a-f]{2}:)",
    re.IGNORECASE,
)
# Who a collector heard it from: "n12: 2026/11/21 03:04:15, 3, ...", "n12 [gpu-mon] ...".
_HOST_FIRST: Final = compile_re(
    r"(?!(?:gpu|cuda|rank|worker|device|card|step|iter|epoch)\W?\d)"
    r"(?P<host>[A-Za-z](?=[\w.-]{0,127}\d)[\w.-]{1,127})"
    r"(?:: (?=[\d{\[|])| (?=[{\[|]|\d{4}[-/]\d\d))",
    re.IGNORECASE,
)
# "2026/11/21 03:04:15.123", and a clock without a day: "[gpu-mon] 06:28:07 host=..."
_DATE: Final = compile_re(
    r"\d{4}[-/]\d\d[-/]\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?"
)
_CLOCK_TIME: Final = compile_re(r"(?<![\d:-])([01]\d|2[0-3]):([0-5]\d):([0-5]\d)(?![\d:])")
_HOST_SLASH: Final = compile_re(r"(?<![\w./-])([A-Za-z][\w.-]{0,127})/gpu\d{1,2}\b", re.IGNORECASE)
_BUS: Final = compile_re(
    r"(?<![0-9A-Fa-f:])(?:[0-9A-Fa-f]{4,8}:)[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}(?:\.[0-7])?(?![0-9A-Fa-f:])"
)
_NO_NAME: Final = compile_re(r"[^a-z0-9]+")

_MEANINGS: Final = {
    key: meaning
    for meaning, keys in read_toml("triage.signatures.gpu", "monitor_keys").items()
    for key in keys
}
# Keys whose value says why clocks are lowered, and those that are one such reason.
_REASON_KEY: Final = compile_re(
    r"(?:clocks?_)?(?:throttle|event|perf|slowdown)(?:_reasons?|_cap|_status)?(?:_active)?"
    r"|throttling|throttled|dcgm_fi_dev_clock_throttle_reasons|dcgm_fi_dev_clocks_event_reasons"
)
_FLAG_KEY: Final = compile_re(
    r"(?:.*_)?(?P<flag>(?:hw|sw)_thermal(?:_slowdown)?|hw_slowdown"
    r"|(?:hw_)?power_brake(?:_slowdown)?|thermal_(?:throttle|throttling|throttled|slowdown))"
)
# The same in a sentence: "HW thermal slowdown active".
_SAID: Final = compile_re(
    r"\b(?P<flag>(?:(?:hw|sw) )?thermal (?:slowdown|throttling))(?: is|:|=)? ?(?:active|engaged)\b",
    re.IGNORECASE,
)
_ON: Final = frozenset({"active", "true", "1", "yes", "on", "asserted", "engaged"})
_HEX_MASK: Final = compile_re(r"0x[0-9a-f]{1,16}")
# Bits of NVML's reasons: hardware slowdown, heat as software and hardware see it, the power brake.
_HW_BIT, _HEAT_BITS, _BRAKE_BIT = 0x8, 0x60, 0x80


@dataclass(slots=True)
class GpuReading:
    """What one line says of one GPU; None where it does not say it.

    ``heat`` and ``brake``: the clocks are lowered for heat, or because the board cuts power;
    ``hardware``: by the hardware itself, for one of both. ``names_reasons`` is whether the line
    speaks of reasons at all. ``at`` is the time that stands among the values, as printed: a date,
    an epoch, or a clock's time of day.
    """

    node: str | None = None
    gpu: str | None = None
    index: int | None = None
    local_rank: int | None = None
    rank: int | None = None
    temp_c: float | None = None
    power_w: float | None = None
    clock_mhz: float | None = None
    names_reasons: bool = False
    heat: bool = False
    brake: bool = False
    hardware: bool = False
    at: str | None = None

    @property
    def hot(self) -> bool:
        """Whether it is as hot as GPUs are when they slow themselves down."""
        return self.temp_c is not None and self.temp_c >= HOT_C

    def reason(self, words: str) -> None:
        """Take in one reason by its name."""
        if "brake" in words:
            self.brake = True
        elif "therm" in words:
            self.heat = True
            self.hardware = self.hardware or words.startswith("hw")
        elif "hw_slowdown" in words:
            self.hardware = True


def parse_gpu_reading(text: str) -> GpuReading | None:
    """What a monitor's line says of one GPU; None for any other line."""
    text = text[:2000]
    reading = GpuReading()
    num_temps = _take_pairs(text, reading)
    if num_temps > 1:
        return None  # several GPUs in one line
    _take_units(text, reading)
    if (said := _SAID.search(text)) is not None:
        reading.names_reasons = True
        reading.reason(said["flag"].lower())
    if reading.gpu is None and (bus := _BUS.search(text)) is not None:
        reading.gpu = normalize_bus_id(bus[0])
    if reading.index is None and (word := _GPU_WORD.search(text)) is not None:
        reading.index = int(word[1])
    if reading.node is None and (host := _HOST_SLASH.search(text)) is not None:
        reading.node = host[1]
    if reading.node is None and (host := _HOST_FIRST.match(text)) is not None:
        reading.node = host["host"]
    if reading.at is None and (date := _DATE.search(text) or _CLOCK_TIME.search(text)) is not None:
        reading.at = date[0]
    if reading.gpu is None and reading.index is None and reading.local_rank is None:
        return None
    measured = [reading.temp_c, reading.power_w, reading.clock_mhz]
    count = sum(one is not None for one in measured)
    if count < 2 and not (count and reading.names_reasons):
        return None
    if reading.hardware and not reading.heat and not reading.brake:
        reading.heat = reading.hot
    return reading


def _take_pairs(text: str, reading: GpuReading) -> int:
    """Fill ``reading`` from keys and values; how many temperatures of a GPU they hold."""
    temps = 0
    for pair in _PAIR.finditer(text):
        # `clocks.current.sm [MHz]` as `clocks_current_sm`
        key = _NO_NAME.sub("_", pair["key"].partition(" [")[0].lower()).strip("_")
        value, meaning = pair["value"], _MEANINGS.get(key)
        match meaning:
            case "node" if reading.node is None:
                reading.node = value if value[0].isalnum() else None
            case "index" if reading.index is None:
                reading.index = _parse_small(value)
                if ":" in value and reading.gpu is None:
                    reading.gpu = normalize_bus_id(value)
            case "local_rank":
                reading.local_rank = _parse_small(value)
            case "rank":
                reading.rank = _parse_small(value)
            case "gpu" if reading.gpu is None:
                reading.gpu = normalize_bus_id(value)
            case "temp_c":
                temps += 1
                reading.temp_c = parse_within(value, *_TEMPERATURES)
            case "clock_mhz" if reading.clock_mhz is None:
                reading.clock_mhz = parse_within(value, *_CLOCKS)
            case "power_w" if reading.power_w is None:
                reading.power_w = parse_within(value, *_POWERS)
            case "at" if reading.at is None:
                reading.at = value
        if meaning is None and (flag := _FLAG_KEY.fullmatch(key)) is not None:
            reading.names_reasons = True
            if value.lower() in _ON:
                reading.reason(flag["flag"])
        elif meaning is None and _REASON_KEY.fullmatch(key):
            reading.names_reasons = True
            _take_reasons(value.lower(), reading)
    return temps


def _take_reasons(value: str, reading: GpuReading) -> None:
    """``hw_thermal_slowdown``, ``HW_THERMAL|HW_SLOWDOWN``, ``0x0000000000000040``."""
    if _HEX_MASK.fullmatch(value):
        mask = int(value, 16)
        reading.hardware = bool(mask & (_HW_BIT | 0x40))
        reading.heat = bool(mask & _HEAT_BITS)
        reading.brake = bool(mask & _BRAKE_BIT)
        return
    for word in re.split(r"[|+/&]", value):
        if not word.startswith(("no", "not")):
            reading.reason(_NO_NAME.sub("_", word))


def _take_units(text: str, reading: GpuReading) -> None:
    """Numbers whose unit alone tells what they are, where no key did; and columns without names."""
    if reading.power_w is None and (watts := _WATTS.search(text)) is not None:
        reading.power_w = parse_within(watts[1], *_POWERS)
    if reading.clock_mhz is None and (clock := _MEGAHERTZ.search(text)) is not None:
        reading.clock_mhz = parse_within(clock[1], *_CLOCKS)
    if reading.temp_c is None and (degrees := _DEGREES.search(text)) is not None:
        reading.temp_c = parse_within(degrees[1], *_TEMPERATURES)
    if reading.temp_c is None and text.count(",") >= 3:
        _take_columns([one.strip() for one in text.split(",")], reading)


def _take_columns(cells: list[str], reading: GpuReading) -> None:
    """A row of ``nvidia-smi --format=csv,noheader``: units stay, names do not.

    The number before the address, or the first of all, is the GPU's; a whole number between 5
    and 130 behind it is its temperature. Of columns that say Active nobody knows which reason
    they are of, so that only a hot GPU's count.
    """
    flags = [one for one in cells if one in ("Active", "Not Active")]
    if reading.power_w is None and reading.clock_mhz is None:
        return
    address = next((k for k, one in enumerate(cells) if _BUS.fullmatch(one)), None)
    whole = [k for k, one in enumerate(cells) if one.isascii() and one.isdecimal()]
    first = next((k for k in whole if len(cells[k]) <= 2), None)
    if address is None and first is None:
        return
    if first is not None and (address is None or first < address):
        reading.index = int(cells[first])
    start = max(-1 if address is None else address, -1 if first is None else first)
    if address is not None and first is not None and first > address:
        start = address
    reading.temp_c = next(
        (
            float(cells[k])
            for k in whole
            if k > start and len(cells[k]) <= 3 and int(cells[k]) in range(*_TEMPERATURES)
        ),
        None,
    )
    if flags:
        reading.names_reasons = True
        reading.hardware = "Active" in flags
        reading.heat = "Active" in flags and reading.hot


def _parse_small(text: str) -> int | None:
    """A number of a GPU or rank; None for anything else."""
    return int(text) if len(text) <= 7 and text.isascii() and text.isdecimal() else None


def parse_within(text: str, low: float, high: float) -> float | None:
    """The number at the beginning of ``text``, where a sensor can say it."""
    number = _NUMBER.match(text)
    value = float(number[0]) if number is not None else None
    return value if value is not None and low <= value < high else None


def _list_fields(sample: GpuReading) -> dict[str, str]:
    fields: dict[str, str] = {} if sample.at is None else {"time": sample.at}
    if sample.node is not None:
        fields["node"] = sample.node
    if sample.gpu is None and sample.index is not None:
        fields["cuda_device"] = str(sample.index)
    if sample.local_rank is not None:
        fields["local_rank"] = str(sample.local_rank)
    if sample.rank is not None:
        fields["of_rank"] = str(sample.rank)
    for name, value in (
        ("temperature_c", sample.temp_c),
        ("clock_mhz", sample.clock_mhz),
        ("power_w", sample.power_w),
    ):
        if value is not None:
            fields[name] = f"{value:g}"
    return fields


def read_slowed(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A GPU that is slowed for heat, or by the power brake; firm where it is hot too."""
    sample = parse_gpu_reading(match.string)
    if sample is None or not (sample.heat or sample.brake):
        return None
    if sample.brake:
        return Reading(
            category=Category.POWER,
            also=(Category.CHASSIS, Category.GPU_THERMAL),
            gpu=sample.gpu,
            weak=not sample.hardware and not sample.heat,
            fields=_list_fields(sample),
        )
    return Reading(gpu=sample.gpu, weak=not sample.hot, fields=_list_fields(sample))


def read_hot(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """A GPU as hot as those that slow down, of which nothing says that it does."""
    sample = parse_gpu_reading(match.string)
    if sample is None or not sample.hot or sample.heat or sample.brake:
        return None
    return Reading(gpu=sample.gpu, fields=_list_fields(sample))


def read_measured(match: re.Match[str], _after: Sequence[str]) -> Reading | None:
    """Any other monitor's line about one GPU."""
    sample = parse_gpu_reading(match.string)
    return None if sample is None else Reading(gpu=sample.gpu, fields=_list_fields(sample))
