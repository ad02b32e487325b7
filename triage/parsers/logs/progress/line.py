"""The numbers of one line of progress, by the words before and behind them.

A line is split at its numbers. What lies between is the same in every line of a form, so
that each text is understood once and remembered.

    >>> read_values("step: 40  loss:  4.1231  grad_norm:  1.2  tps: 3,201")
    ('step', {'step': 40.0, 'loss': 4.1231, 'grad_norm': 1.2, 'tokens_per_s': 3201.0})
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from triage.domain.patterns import compile_re
from triage.parsers.logs.progress.series import Quantity
from triage.parsers.logs.progress.words import EVALUATED, NAMES, RANKED_STEPS, UNITS

# A number as trainers print it: 1,234 and 2.3E-04, nan and inf. A sign stays in the text before.
# It begins with its first character, so that the search skips from one to the next.
_NUMBER: Final = compile_re(
    r"([0-9nNiI](?<![A-Za-z0-9_.].)(?:(?<=\d)(?:\d{0,2}(?:,\d{3})+(?:\.\d+)?|\d{0,17}(?:\.\d{0,20})?)"
    r"(?:[eE][-+]?\d{1,4})?(?![0-9_]|\.\d|[A-Za-z]+\d)"
    r"|(?<=[nN])[aA][nN](?![A-Za-z0-9_]| iter)|(?<=[iI])(?:nf|NF)(?:inity)?(?![A-Za-z0-9_])))"
)
_SIGNED: Final = frozenset(" :='\"[(")
_MAX_NUMBERS: Final = 80
_MAX_CHARACTERS: Final = 2000
# The name of a number is what stands behind the last of these.
_BEFORE_NAME: Final = compile_re(
    r"[|,;{}()\[\]<>\t]|  +|(?:^|\s)[-–](?=\s)|:(?=[A-Za-z])|[\w)\]%]: (?=.*\w)"
)
_AROUND_NAME: Final = " \t:='\"[]({-–>~@#\\"
_UNIT_IN_NAME: Final = compile_re(
    r"[ _/]?[(\[]?\b(?:in )?(ms|milliseconds|msec|s|sec|secs|seconds|us)[)\]]?$"
)
_UNIT_BEHIND: Final = compile_re(r"\s?([A-Za-zµ]+(?:/[A-Za-z]+){0,2})(?![\w]|\s{0,2}[:=])")
_RATE_BEHIND: Final = compile_re(r"(?:[kKMB] ?)?(?:it|step|tok|token|tokens|samples?)/s(?:ec)?$")
_SPACES: Final = compile_re(r"[\s_-]+")
# `Epoch 0:  93%|####| 16633/95232 [5:43:21<25:20,  0.90it/s, v_num=0, train_loss=3.4]`
_BAR: Final = compile_re(
    r"(?P<head>[^|\r]{0,120})\|[^|\r]{0,200}\|\s*(?P<step>\d{1,12})/(?P<total>\d{1,12}) "
    r"\[(?P<elapsed>(?:\d{1,3} days?, )?[\d:.]{1,20})<[^,\]]{1,24}, *(?P<rate>[\d.]{1,12}|\?) ?"
    r"(?P<unit>\w{1,12}/s|s/\w{1,12})(?P<rest>[^\]]*)\]"
)
# What a bar counts if it is no training: shards, files, examples of a data set.
_TRAINING_BAR: Final = compile_re(r"epoch|train|step|iter|loss|fit|batch|update", re.IGNORECASE)
_OTHER_BAR: Final = compile_re(
    r"eval|valid|test|predict|shard|download|load|map|filter|tokeni|split|fetch|process|sav|sanity"
    r"|generat|upload|copy|captur|compil|warm|cach|index|build|pack|quant|merg|convert|prefetch",
    re.IGNORECASE,
)
_BAR_EPOCH: Final = compile_re(r"epoch:?\s{0,3}\[?(\d{1,6})", re.IGNORECASE)


class _Meaning(NamedTuple):
    """What a number is: its quantity, the factor to the unit, and the name it was given."""

    quantity: Quantity | None
    factor: float
    name: str
    training: bool = True


_NOTHING: Final = _Meaning(None, 1.0, "")


def read_values(text: str) -> tuple[str, Mapping[Quantity, float]]:
    """(the word of the step, the numbers) of a line; no numbers where it tells none."""
    text = text[:_MAX_CHARACTERS]
    found: dict[Quantity, float] = {}
    counter = ""
    if "<" in text and "|" in text:
        bar = _BAR.search(text)
        if bar is not None:
            found, counter = _read_bar(bar)
            text = bar["head"] + " " + bar["rest"]
            if not found:
                return "", {}
            found |= {
                key: value for key, value in _read_numbers(text)[1].items() if key not in found
            }
            return _drop_bad_counts(counter, found)
    return _drop_bad_counts(*_read_numbers(text))


def _drop_bad_counts(
    counter: str, values: dict[Quantity, float]
) -> tuple[str, Mapping[Quantity, float]]:
    """The same without counts that count nothing: ``nan``, ``inf``, or beyond exact numbers."""
    bad = [one for one in _COUNTS if one in values and not abs(values[one]) <= _LARGEST_COUNT]
    for one in bad:
        del values[one]
    return "" if Quantity.STEP in bad else counter, values


def is_step(counter: str, values: Mapping[Quantity, float]) -> bool:
    """Whether numbers tell a step of training: a count with something measured, or a loss."""
    if Quantity.STEP in values:
        if any(one in values for one in _MEASURED):
            return True
        return counter in _COUNTED and Quantity.TOTAL in values
    return any(one in values for one in _ALONE)


_COUNTS: Final = frozenset({Quantity.STEP, Quantity.EPOCH, Quantity.BATCH, Quantity.TOTAL})
# Beyond it a float is not every whole number.
_LARGEST_COUNT: Final = 2.0**53
_MEASURED: Final = frozenset(Quantity) - _COUNTS - {Quantity.ELAPSED_S}
# `[batch=12/1000]:` says no more in its line.
_COUNTED: Final = frozenset({"batch", "iteration", "iter", "bar"})
_ALONE: Final = (
    Quantity.LOSS,
    Quantity.STEP_S,
    Quantity.COMPUTE_S,
    Quantity.STEPS_PER_S,
    Quantity.TOKENS_PER_S,
    Quantity.SAMPLES_PER_S,
    Quantity.TFLOPS,
    Quantity.GRAD_NORM,
)


def _read_bar(bar: "re.Match[str]") -> tuple[dict[Quantity, float], str]:
    """What a progress bar counts; nothing of one that counts no steps of training."""
    head = bar["head"].rpartition("\r")[2]
    if _OTHER_BAR.search(head) and not re.search(r"train|epoch", head, re.IGNORECASE):
        return {}, ""
    words = head.rpartition("]: ")[2].strip(" 0123456789%:|")
    if words and not _TRAINING_BAR.search(words + bar["rest"]):
        return {}, ""
    found = {
        Quantity.STEP: float(bar["step"]),
        Quantity.TOTAL: float(bar["total"]),
        Quantity.ELAPSED_S: _parse_clock_s(bar["elapsed"]),
    }
    if bar["rate"] != "?" and (rate := _number(bar["rate"])) > 0:
        found[Quantity.STEP_S] = rate if bar["unit"].startswith("s/") else 1 / rate
    epoch = _BAR_EPOCH.search(head)
    if epoch is not None:
        found[Quantity.EPOCH] = float(epoch[1])
    return found, "bar"


def _parse_clock_s(text: str) -> float:
    """Seconds of ``1:02:03`` and ``2 days, 1:02:03``."""
    days, _, rest = text.rpartition(" ") if "day" in text else ("", "", text)
    total = 0.0
    for part in rest.split(":"):
        total = total * 60 + _number(part)
    return total + (86_400 * _number(days.split(" ")[0]) if days else 0.0)


def _number(text: str) -> float:
    """The number that a text is; 0 for what only looks like one."""
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return 0.0


class _Slot(NamedTuple):
    """A number of a line that is wanted: its place, what it is, and its factor."""

    at: int
    quantity: Quantity
    factor: float


class _Plan(NamedTuple):
    """Which numbers of a line are wanted. The total counts where the numbers at ``twice`` agree:
    a line may count within an epoch, and over all of them.
    """

    counter: str
    slots: tuple[_Slot, ...]
    twice: tuple[int, int] | None


def _read_numbers(text: str) -> tuple[str, dict[Quantity, float]]:
    """The counter and the numbers of a line that is no bar."""
    parts = _NUMBER.split(text, _MAX_NUMBERS)
    if len(parts) < 3:
        return "", {}
    plan = _make_plan(tuple(parts[::2]))
    found: dict[Quantity, float] = {}
    for at, quantity, factor in plan.slots:
        value = _number(parts[at]) * factor
        found[quantity] = found[quantity] + value if quantity in found else value
    if plan.twice is not None and (
        Quantity.EPOCH in found or parts[plan.twice[0]] != parts[plan.twice[1]]
    ):
        found.pop(Quantity.TOTAL, None)
    if Quantity.COMPUTE_S in found and "(ms)" in text:  # `timers (ms) | forward-compute: 1199.0`
        found[Quantity.COMPUTE_S] /= 1000
    return plan.counter, found


@lru_cache(maxsize=1 << 12)
def _make_plan(texts: tuple[str, ...]) -> _Plan:
    """What the numbers between ``texts`` are; of two of one quantity the first counts."""
    slots: dict[Quantity, list[_Slot]] = {}
    counter, counted = "", 0
    twice: tuple[int, int] | None = None
    last: Quantity | None = None
    vague: set[Quantity] = set()
    for index in range(len(texts) - 1):
        before, behind = texts[index], texts[index + 1]
        meaning = _find_meaning(before[-120:], behind[:40], last)
        last = meaning.quantity
        if last is None:
            continue
        factor = meaning.factor
        if before.endswith("-") and before[-2:-1] in _SIGNED:
            factor = -factor
        slot = _Slot(2 * index + 1, last, factor)
        if last is Quantity.STEP:
            if counter and _rate_counter(meaning.name) >= _rate_counter(counter):
                last = None  # the total behind it belongs to a count that is not taken
                continue
            if counter:
                twice = counted, slot.at
            counter, counted = meaning.name, slot.at
            slots[Quantity.STEP] = [slot]
        elif last is Quantity.COMPUTE_S:
            slots.setdefault(last, []).append(slot)
        else:
            slots.setdefault(last, [slot])
            if meaning.name in _VAGUE:
                vague.add(last)
    if not counter and Quantity.LOSS not in slots:
        slots = {key: some for key, some in slots.items() if key not in vague}
    return _Plan(counter, tuple(slot for some in slots.values() for slot in some), twice)


# Words that mean a step's time or norm only in a line of a step.
_VAGUE: Final = frozenset(
    {"time", "seconds", "dt", "duration", "took", "data", "norm", "time/batch", "ms", "skipped",
     "throughput", "ups", "sps", "batch size"}
)  # fmt: skip
_OTHER_LOSS: Final = compile_re(r"\b(?:packet|data|power|link|frame|signal|carrier|pkt)s? loss$")


def _rate_counter(name: str) -> int:
    return RANKED_STEPS.index(name) if name in RANKED_STEPS else len(RANKED_STEPS)


@lru_cache(maxsize=1 << 14)
def _find_meaning(before: str, behind: str, last: Quantity | None) -> _Meaning:
    """What the number between two texts is, behind a number that was ``last``."""
    joint = before.strip(" \t")
    if joint in ("/", "of", "out of") and last is Quantity.STEP:
        return _Meaning(Quantity.TOTAL, 1.0, "")
    name = _name_before(before)
    if not name and last is Quantity.EPOCH and behind.lstrip().startswith("/"):
        return _Meaning(Quantity.STEP, 1.0, "step")  # `Epoch [1][50/1749]`
    unit = ""
    if (found := _UNIT_BEHIND.match(behind)) is not None:
        unit = found[1].lower()
        if _RATE_BEHIND.fullmatch(unit) or unit in NAMES or unit.split("/", 1)[0] in ("s", "ms"):
            rate = _match_unit(unit)
            if rate is not None:
                return rate
    if not name and unit == "ms":  # `| loss: 2.12 | 812.2 ms`
        return _Meaning(Quantity.STEP_S, 1e-3, "ms")
    plain, inner = name, 1.0
    if (inside := _UNIT_IN_NAME.search(name)) is not None and inside.start() > 0:
        plain, inner = name[: inside.start()].strip(" (["), UNITS[inside[1]]
    # `tokens per s` and `s/it` are names, and no names with a unit.
    whole = _match_name(name) if name in NAMES or plain == name else None
    meant = whole or _match_name(plain) or _match_name(name)
    if meant is None:
        return _NOTHING
    quantity, usual = meant
    # A loss of the training itself is measured beside nothing.
    training = not EVALUATED.intersection(re.split(r"[ /.]", name))
    if quantity is Quantity.LOSS and (
        not training or behind.startswith("%") or _OTHER_LOSS.search(name)
    ):
        return _NOTHING
    factor = 1.0
    if quantity in _SECONDS:
        factor = inner if whole is None else 1.0
        if factor == 1.0 and unit in _SECOND_UNITS:
            factor = UNITS[unit]
    elif quantity in _RATES and unit in _COUNT_UNITS:
        factor = UNITS[unit]
    return _Meaning(quantity, factor, usual, training)


_SECONDS: Final = (Quantity.STEP_S, Quantity.DATA_S, Quantity.COMPUTE_S)
_RATES: Final = (Quantity.TOKENS_PER_S, Quantity.SAMPLES_PER_S)
_SECOND_UNITS: Final = frozenset({"ms", "msec", "us", "s", "sec", "min"})
_COUNT_UNITS: Final = frozenset({"k", "m", "b", "g"})


def _match_unit(unit: str) -> _Meaning | None:
    """A number whose unit says what it is: ``1.9it/s``, ``400000 tok/s``, ``3ms/step``."""
    if unit in ("s/it", "s/step", "s/iter", "sec/step"):
        return _Meaning(Quantity.STEP_S, 1.0, unit)
    if unit in ("ms/step", "ms/it", "ms/iter"):
        return _Meaning(Quantity.STEP_S, 1e-3, unit)
    quantity = NAMES.get(unit)
    if quantity in (
        Quantity.STEPS_PER_S,
        Quantity.SAMPLES_PER_S,
        Quantity.TOKENS_PER_S,
        Quantity.TFLOPS,
    ):
        return _Meaning(quantity, 1.0, unit)
    return None


def _name_before(text: str) -> str:
    """The name that stands before a number, with plain spaces and in lower case."""
    kept = text.rstrip(" \t:='\"[(-")
    ends = [found.end() for found in _BEFORE_NAME.finditer(kept)]
    name = kept[ends[-1] :] if ends else kept
    if kept.endswith((")", "]")):  # `elapsed time per iteration (ms)`
        opened = max(kept.rfind("("), kept.rfind("["))
        outer = kept[:opened].rstrip()
        ends = [found.end() for found in _BEFORE_NAME.finditer(outer)]
        name = (outer[ends[-1] :] if ends else outer) + " " + kept[opened:]
    return _SPACES.sub(" ", name.strip(_AROUND_NAME)).lower()


def _match_name(name: str) -> tuple[Quantity, str] | None:
    """The quantity of a name, and its usual name: whole, by its last part, by its last words."""
    if not name or len(name) > 80:
        return None
    if name in NAMES:
        return NAMES[name], name
    last = name.rsplit("/", 1)[-1]
    if last in NAMES:
        return NAMES[last], last
    if last.endswith("loss") or "loss/" in name:
        return Quantity.LOSS, "loss"
    words = name.split(" ")
    for count in (4, 3, 2, 1):
        usual = " ".join(words[-count:])
        if len(words) > count and usual in NAMES:
            return NAMES[usual], usual
    return None
