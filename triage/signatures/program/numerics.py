"""Numbers gone wrong: NaN, spikes, loss scales, replicas that differ, Megatron's reruns.

After the gradients are reduced every rank shows a NaN; only a check before the
reduction names a rank. Text cannot tell a diverging model from corruption by
hardware: that takes one rank, and a result that another GPU does not repeat.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind
from triage.signatures.family import NOISE, ROOT, Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

MEGATRON = "Megatron-LM: rerun_state_machine.py"

# A scale that keeps falling below this is no warm-up: the gradients overflow whatever it is.
SMALL_SCALE = 1.0
# From one printed norm to the next; clipping and warm-up move it far less.
NORM_JUMP = 50.0


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


FAULTY = re.compile(
    r"Possible (?:transient|persistent) error|\b(?:initial result ?= ?|\()-?(?:nan|inf)\b",
    re.IGNORECASE,
)


def loss_scale(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Noise while the scale is being found, a sign of divergence when it has run out."""
    scale = float(match["scale"])
    fields = {"loss_scale": match["scale"]}
    if scale >= SMALL_SCALE:
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


GRAD_NORM = re.compile(
    r"grad[ _]norm['\"]?\s?[:=]\s?['\"]?"
    r"(\d{1,12}(?:\.\d{1,12})?(?:e[+-]?\d{1,3})?)",
    re.IGNORECASE,
)


def norm_jump(match: re.Match[str], after: Sequence[str]) -> Reading | None:
    """The norm of the next step beside this one's; None while it moves as it should."""
    norm = float(match["norm"])
    for line in after:
        one = GRAD_NORM.search(line)
        if one is None:
            continue
        if norm > 0 and float(one[1]) > NORM_JUMP * norm:
            return Reading(fields={"grad_norm": match["norm"], "next_grad_norm": one[1]})
        return None
    return None


# "found inf in gradients, skipping step, loss scale 32768 -> 16384": so a scaler finds its scale.
SCALED = re.compile(
    r"\b(?:skip\w*|ignor\w*)\b.{0,40}\b(?:step|update|batch|gradient)|\b(?:loss|grad\w*)[ _-]scal",
    re.IGNORECASE,
)


def found(match: re.Match[str], _after: Sequence[str]) -> Reading:
    """Noise where the step is left out for it: mixed precision does so every day."""
    if SCALED.search(match.string, match.end()) and "loss" not in match[0].lower():
        return Reading(role=NOISE, category=Category.NONE)
    return Reading()


NUMERICS = Family("numerics", Kind.NUMERICS, category=Category.NUMERICAL)

NUMERICS.root(
    "rerun_unexpected",
    r"Unexpected result (?P<value>\S{1,40}) on rank (?P<rank>\d{1,7}) at iteration"
    r" #(?P<iteration>\d{1,12})",
    literals=("unexpected result ",),
    matches=(
        "ERROR:megatron.core.rerun_state_machine:Unexpected result nan on rank 3 at iteration #3"
        " invocation #2 (message='found NaN in local grad norm')",
    ),
    near_misses=("unexpected result type of the hook",),
    source=MEGATRON,
    also=(Category.SDC,),
    blame=Blame.NOBODY,  # who is to blame is what the reruns find out
    each=True,
)
NUMERICS.root(
    "rerun_verdict",
    r"(?:Rank (?P<rank>\d{1,7}), node (?P<node>[\w.-]{1,128}), device (?P<cuda_device>\d{1,3}),"
    r" iteration #(?P<iteration>\d{1,12}): )?(?P<turn>First|Second) rerun: "
    r"(?P<verdict>(?:unexpected )?result is (?:(?:not )?(?:reproducible|the same)|different))",
    literals=("first rerun: ", "second rerun: "),
    matches=(
        "Rank 3, node n4, device 3, iteration #9: First rerun: unexpected result is reproducible"
        " within the tolerance (nan = nan). Need to rerun on a different GPU",
        "Rank 3, node n4, device 3, iteration #9: First rerun: unexpected result is not"
        " reproducible within the tolerance (7.1 != 2.2)",
        "Rank 3, node n4, device 3, iteration #9: Second rerun: unexpected result is not"
        " reproducible on a different GPU",
        "Rank 3, node n4, device 3, iteration #9: Second rerun: result is different on a different"
        " GPU (nan != 0.5)",
    ),
    near_misses=("First rerun: starting",),
    source=MEGATRON,
    also=(Category.SDC,),
    each=True,
    read=rerun,
)
NUMERICS.root(
    "rerun_hardware",
    r"(?:Rank (?P<rank>\d{1,7}), node (?P<node>[\w.-]{1,128}), device (?P<cuda_device>\d{1,3})"
    r".{0,80}?)?Possible (?P<what>transient|persistent) error\b",
    literals=("possible transient error", "possible persistent error"),
    matches=("Rank 3, node n4, device 3, iteration #9: Possible persistent error!",),
    near_misses=("possible transient errors are retried",),
    source=MEGATRON,
    category=Category.SDC,
    also=(Category.NUMERICAL, Category.GPU),
    each=True,
)
NUMERICS.root(
    "rerun_correct",
    r"(?:Rank (?P<rank>\d{1,7}), node (?P<node>[\w.-]{1,128}), device (?P<cuda_device>\d{1,3})"
    r".{0,80}?)?Correct result \(but possible Application error\)",
    literals=("correct result (but possible application error)",),
    matches=(
        "Rank 3, node n4, device 3, iteration #9: Correct result (but possible Application error)"
        " (found NaN)",
    ),
    near_misses=("correct result (but late)",),
    source=MEGATRON,
    blame=Blame.NOBODY,
    each=True,
)
NUMERICS.root(
    "rank_nan",
    r"(?:Rank (?P<rank>\d{1,7}): )?found (?:NaN|Inf)(?:/Inf)? in (?:local|param)"
    r"(?:.{0,160}?Device: (?P<cuda_device>\d{1,3}), node: (?P<node>[\w.-]{1,128}))?",
    literals=("found nan in local", "found inf in local", "found nan in param"),
    matches=(
        "AssertionError: Rank 11: found NaN in local grad norm in backward pass before"
        " data-parallel communication collective. Device: 3, node: n9",
        "found NaN in local forward loss calculation. Device: 2, node: n4",
        "found Inf in local grad norm for bucket #3 in backward pass",
    ),
    near_misses=("found none in local grads",),
    source="Megatron-LM: distributed/param_and_grad_buffer.py",
    category=Category.SDC,
    also=(Category.NUMERICAL, Category.GPU),
    weak=True,
    each=True,
    read=lambda _match, _after: Reading(fields={"before_reduction": "1"}),
)
NUMERICS.root(
    "nan_found",
    r"(?i)\b(?:found (?:nan|inf)s?(?:/inf)?|nans? (?:detected|encountered)) in"
    r" (?:the )?(?:loss|grad|gradient|output|logits|activation|weight|forward|backward)",
    literals=("found nan in", "found inf in", "nan detected in", "nan encountered in"),
    matches=(
        "AssertionError: Rank 7: found NaN in loss, iteration 6718",
        "RuntimeError: NaN detected in gradients of layer 3",
        "ValueError: NaN encountered in the loss at step 12",
    ),
    near_misses=("checked: no NaN found in loss", "found nan in column 3 of labels.csv"),
    source="frameworks' own checks after the reduction",
    read=found,
)
NUMERICS.root(
    "replica_mismatch",
    r"gradients are inconsistent between workers|hashes (?:not matching across|do not match across)"
    r"|(?:param\w*|weight\w*|replica\w*|gradient\w*|tensor) checksums? (?:mismatch|differ)"
    r"|checksum mismatch (?:across|between|on) (?:replicas|ranks|rank)"
    r"|parameters are not identical across|[Ss]ilent data corruption (?:detected|found|on)"
    r"|SDC detected",
    literals=(
        "inconsistent between workers",
        "parameter hashes not matching",
        "hashes do not match across",
        "checksum mismatch",
        "checksums differ",
        "parameters are not identical across",
        "silent data corruption",
        "sdc detected",
    ),
    matches=(
        "FloatingPointError: Fatal error: gradients are inconsistent between workers. Try a legacy"
        " reduction.",
        "AssertionError: Parameter hashes not matching across DP replicas",
    ),
    near_misses=("checksum mismatch of the archive", "silent data corruption checks are on"),
    source="fairseq, Megatron-LM: checks across replicas",
    category=Category.SDC,
    also=(Category.NUMERICAL, Category.SOFTWARE_FRAMEWORK),
    weak=True,
    each=True,
)
NUMERICS.root(
    "diverged",
    r"already at minimum - cannot decrease|Minimum loss scale reached"
    r"|returned nan values in its \d{1,3}\w\w output|[Ll]oss is (?:nan|inf), stopping"
    r"|gradients from `parameters` is non-finite|probability tensor contains either"
    r"|returned in `training_step` is nan|NaN or Inf found in input tensor"
    r"|[Dd]etected nan and/or inf values|NaN (?:detected|encountered) in (?:the )?"
    r"(?:loss|grad\w*|param\w*|weights?|activation\w*|output)"
    r"|[Ll]oss (?:became|has become) nan|(?:loss|training) diverged|non-finite loss"
    r"|(?:detected|found) (?:loss )?divergence|\b(?:NaN|Inf(?:inity)?)(?:s| or (?:NaN|Inf)s?)? in "
    r"(?:the )?(?:global )?(?:loss|grad\w*|param\w*|weights?)\b|\bgrad\w*s? contain(?:s|ed)? "
    r"(?:nan|inf)|not finite: (?:loss|grad\w*)|(?:loss|grad[ _]norm) is not finite"
    r"|\bloss spiked? (?:at|detected|from|of|by|in)\b|\bloss has spiked",
    literals=(
        "already at minimum - cannot decrease",
        "minimum loss scale reached",
        "nan values in its",
        "loss is nan, stopping",
        "loss is inf, stopping",
        "gradients from `parameters` is non-finite",
        "probability tensor contains either",
        "returned in `training_step` is nan",
        "nan or inf found in input tensor",
        "detected nan and/or inf values",
        "nan detected in",
        "nan encountered in",
        "loss became nan",
        "loss has become nan",
        "loss diverged",
        "training diverged",
        "non-finite loss",
        "detected divergence",
        "detected loss divergence",
        "nan in loss",
        "nan in the loss",
        "nan in grad",
        "nan in the grad",
        "nan in param",
        "nan in weight",
        "inf in grad",
        "contain nan",
        "contains nan",
        "contain inf",
        "is not finite",
        "detected infinity or nan",
        "loss spike",
        "loss has spiked",
    ),
    matches=(
        "Exception: Current loss scale already at minimum - cannot decrease scale anymore.",
        "RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.",
        "Loss is nan, stopping training",
        "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
        "RuntimeError: NaN in loss, all data-parallel replicas agree",
        "Gradients contain NaN, the update is skipped",
        "Detected divergence: loss 11.3 is above three times its mean",
        "loss spike at step 400: 2.1 -> 11.8, grad norm 341",
    ),
    near_misses=("NaN detected in 0 samples of the file list",),
    source="DeepSpeed, fairseq, PyTorch, Lightning",
    also=(Category.SDC,),
)
NUMERICS.root(
    "skipped_step",
    r"spiky gradient \(norm=(?P<norm>-?(?:nan|inf|\d{1,12}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?))\)",
    literals=("spiky gradient",),
    matches=("Step 17: detected nan/inf/spiky gradient (norm=2.17); skipping optimizer step.",),
    near_misses=("spiky gradients are skipped",),
    source="trainers that skip steps by the norm",
    weak=True,
    read=skipped_step,
)
NUMERICS.noise(
    "loss_scale",
    r"(?:reducing loss scale to|loss scale: [\d.e+-]{1,24}, reducing to) (?P<scale>"
    r"\d{1,20}(?:\.\d{1,30})?(?:e[+-]?\d{1,3})?)",
    literals=("reducing loss scale to", "attempted loss scale:"),
    matches=(
        "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 1.5e-05",
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to"
        " 32768",
    ),
    near_misses=("loss scale 65536",),
    source="Apex, DeepSpeed: dynamic loss scaling",
    read=loss_scale,
    category=None,
)
NUMERICS.root(
    "nan_printed",
    r"(?<!best_)(?<!best )(?<!min_)(?<!best-)"
    r"(?:loss\w{0,20}|grad[ _]?norm)['\"]?(?:\s?[:=]\s{0,4}| is | )['\"]?-?(?P<value>nan|inf)"
    r"(?![\w-])",
    literals=tuple(
        f"{name}{mark}{value}"
        for name, marks in (
            ("loss", (": ", "=", "': ", '": ', " = ", " ", " is ", ":", "': '", " : ")),
            ("norm", (": ", "=", "': ", '": ', " = ", " is ", ":", "': '", " : ")),
        )
        for mark in marks
        for value in ("nan", "inf", "-inf")
    ),
    matches=(
        " iteration 12/ 100 | lm loss: NAN | loss scale: 1.0 | grad norm: 3.1 | number of nan"
        " iterations: 0 |",
        "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.1}",
        "step: 40  loss: nan  grad_norm: nan  tps: 900",
    ),
    near_misses=(
        "| number of skipped iterations: 0 | number of nan iterations: 0 |",
        "loss infrastructure ready",
        "best_loss: inf",
    ),
    source="progress lines of any trainer",
    also=(Category.SDC,),
    blame=Blame.NOBODY,
    weak=True,
)
NUMERICS.root(
    "norm_jump",
    r"grad[ _]norm['\"]?: ['\"]?(?P<norm>\d{1,12}(?:\.\d{1,12})?(?:e[+-]?\d{1,3})?)",
    literals=("grad norm: ", "grad_norm: ", "grad_norm': "),
    matches=("step: 7  loss: 2.1  grad_norm: 0.5\nstep: 8  loss: 2.2  grad_norm: 91.0",),
    near_misses=("step: 7  loss: 2.1  grad_norm: 0.5\nstep: 8  loss: 2.1  grad_norm: 0.7",),
    source="progress lines of any trainer",
    also=(Category.SDC,),
    blame=Blame.NOBODY,
    weak=True,
    context=2,
    read=norm_jump,
)

SIGNATURES = NUMERICS.signatures()
