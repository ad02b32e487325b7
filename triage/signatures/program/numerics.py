"""Numbers gone wrong: NaN, spikes, loss scales, replicas that differ, Megatron's reruns.

After the gradients are reduced every rank shows a NaN; only a check before the
reduction names a rank. Text cannot tell a diverging model from corruption by
hardware: that takes one rank, and a result that another GPU does not repeat.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame
from triage.domain.patterns import compile_re
from triage.signatures.load import load
from triage.signatures.severity import NOISE, ROOT
from triage.signatures.signature import Reading

# A scale that keeps falling below this is no warm-up: the gradients overflow whatever it is.
_SMALL_SCALE = 1.0
# From one printed norm to the next; clipping and warm-up move it far less.
_NORM_JUMP = 50.0


def rerun(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """What running the step again says.

    The first rerun is on the same GPU: another result is a fault that comes and
    goes. The second is on another GPU: another result there is a fault that stays.
    """
    text = match["verdict"].lower()
    second = match["turn"].lower() == "second"
    if "not " not in text and "different" not in text:
        # The same on the same GPU is the model's, most often; on another GPU it certainly is.
        return Reading(weak=not second, blame=Blame.NOBODY)
    # A number that is none is no matter of tolerance.
    sure = second or FAULTY.search(match.string, match.end()) is not None
    return Reading(category=Category.SDC, also=(Category.NUMERICAL, Category.GPU), weak=not sure)


FAULTY = compile_re(
    r"Possible (?:transient|persistent) error|\b(?:initial result ?= ?|\()-?(?:nan|inf)\b",
    re.IGNORECASE,
)


def loss_scale(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Noise while the scale is being found, a sign of divergence when it has run out."""
    scale = float(match["scale"])
    fields = {"loss_scale": match["scale"]}
    if scale >= _SMALL_SCALE:
        return Reading(role=NOISE, fields=fields)
    return Reading(
        role=ROOT, category=Category.NUMERICAL, also=(Category.SDC,), weak=True, fields=fields
    )


def skipped_step(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """A finite norm that is called a spike is a threshold set too low."""
    norm = match["norm"].lower()
    if norm in ("nan", "inf", "-inf"):
        return Reading(
            category=Category.NUMERICAL, also=(Category.SDC,), fields={"grad_norm": norm}
        )
    if float(norm) > 1e3:
        return Reading(
            category=Category.NUMERICAL, also=(Category.SDC,), fields={"grad_norm": norm}
        )
    return Reading(
        category=Category.DEPENDENCY, also=(Category.NUMERICAL,), fields={"grad_norm": norm}
    )


_GRAD_NORM = compile_re(
    r"grad[ _]norm['\"]?\s?[:=]\s?['\"]?"
    r"(\d{1,12}(?:\.\d{1,12})?(?:e[+-]?\d{1,3})?)",
    re.IGNORECASE,
)


def norm_jump(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """The norm of the next step beside this one's; None while it moves as it should."""
    norm = float(match["norm"])
    for line in after:
        one = _GRAD_NORM.search(line)
        if one is None:
            continue
        if norm > 0 and float(one[1]) > _NORM_JUMP * norm:
            return Reading(fields={"grad_norm": match["norm"], "next_grad_norm": one[1]})
        return None
    return None


# "found inf in gradients, skipping step, loss scale 32768 -> 16384": so a scaler finds its scale.
_SCALED = compile_re(
    r"\b(?:skip\w*|ignor\w*)\b.{0,40}\b(?:step|iteration|update|batch|gradient)"
    r"|\b(?:loss|grad\w*)[ _-]scal",
    re.IGNORECASE,
)


def found(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Noise where the step is left out for it: mixed precision does so every day."""
    if _SCALED.search(match.string, match.end()) and "loss" not in match[0].lower():
        return Reading(role=NOISE, category=Category.NONE)
    return Reading()


SIGNATURES = load(
    __name__,
    rank_nan=lambda _match, _after: Reading(fields={"before_reduction": "1"}),
)
