"""Numbers gone wrong: NaN, spikes, loss scales, replicas that differ, Megatron's reruns.

After the gradients are reduced every rank shows a NaN; only a check before the
reduction names a rank. Text cannot tell a diverging model from corruption by
hardware: that takes one rank, and a result that another GPU does not repeat.
"""

import re
from collections.abc import Sequence

from triage.domain.category import Category
from triage.domain.evidence import Blame, Kind
from triage.signatures.job_line import NOISE, ROOT, Family
from triage.signatures.signature import Reading

__all__ = ["SIGNATURES"]

NUMERICS = Family("numerics", Kind.NUMERICS)
NUMERICAL = Category.NUMERICAL
SDC = Category.SDC
MEGATRON = "Megatron-LM: rerun_state_machine.py"

# A scale that keeps falling below this is no warm-up: the gradients overflow whatever it is.
SMALL_SCALE = 1.0
# From one printed norm to the next; clipping and warm-up move it far less.
NORM_JUMP = 50.0


def rerun(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """What running the step again says.

    The first rerun is on the same GPU: another result is a fault that comes and
    goes. The second is on another GPU: another result there is a fault that stays.
    """
    text = found["verdict"].lower()
    second = found["turn"].lower() == "second"
    if "not " not in text and "different" not in text:
        # The same on the same GPU is the model's, most often; on another GPU it certainly is.
        return Reading(weak=not second, blame=Blame.NOBODY)
    # A number that is none is no matter of tolerance.
    sure = second or FAULTY.search(found.string, found.end()) is not None
    return Reading(category=SDC, also=(NUMERICAL, Category.GPU), weak=not sure)


FAULTY = re.compile(
    r"Possible (?:transient|persistent) error|\b(?:initial result ?= ?|\()-?(?:nan|inf)\b",
    re.IGNORECASE,
)


def loss_scale(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """Noise while the scale is being found, a sign of divergence when it has run out."""
    scale = float(found["scale"])
    fields = {"loss_scale": found["scale"]}
    if scale >= SMALL_SCALE:
        return Reading(role=NOISE, fields=fields)
    return Reading(role=ROOT, category=NUMERICAL, also=(SDC,), weak=True, fields=fields)


def skipped_step(found: re.Match[str], _after: Sequence[str]) -> Reading:
    """A finite norm that is called a spike is a threshold set too low."""
    norm = found["norm"].lower()
    if norm in ("nan", "inf", "-inf"):
        return Reading(category=NUMERICAL, also=(SDC,), fields={"grad_norm": norm})
    if float(norm) > 1e3:
        return Reading(category=NUMERICAL, also=(SDC,), fields={"grad_norm": norm})
    return Reading(category=Category.DEPENDENCY, also=(NUMERICAL,), fields={"grad_norm": norm})


GRAD_NORM = re.compile(
    r"grad[ _]norm['\"]?\s?[:=]\s?['\"]?"
    r"(\d{1,12}(?:\.\d{1,12})?(?:e[+-]?\d{1,3})?)",
    re.IGNORECASE,
)


def norm_jump(found: re.Match[str], after: Sequence[str]) -> Reading | None:
    """The norm of the next step beside this one's; None while it moves as it should."""
    norm = float(found["norm"])
    for line in after:
        one = GRAD_NORM.search(line)
        if one is None:
            continue
        if norm > 0 and float(one[1]) > NORM_JUMP * norm:
            return Reading(fields={"grad_norm": found["norm"], "next_grad_norm": one[1]})
        return None
    return None


NUMERICS.add(
    "rerun_unexpected",
    ROOT,
    ("unexpected result ",),
    r"Unexpected result (?P<value>\S{1,40}) on rank (?P<rank>\d{1,7}) at iteration"
    r" #(?P<iteration>\d{1,12})",
    (
        "ERROR:megatron.core.rerun_state_machine:Unexpected result nan on rank 3 at iteration #3"
        " invocation #2 (message='found NaN in local grad norm')",
    ),
    ("unexpected result type of the hook",),
    MEGATRON,
    category=NUMERICAL,
    also=(SDC,),
    blame=Blame.NOBODY,  # who is to blame is what the reruns find out
    each=True,
)
NUMERICS.add(
    "rerun_verdict",
    ROOT,
    ("first rerun: ", "second rerun: "),
    r"(?:Rank (?P<rank>\d{1,7}), node (?P<node>[\w.-]{1,128}), device (?P<cuda_device>\d{1,3}),"
    r" iteration #(?P<iteration>\d{1,12}): )?(?P<turn>First|Second) rerun: "
    r"(?P<verdict>(?:unexpected )?result is (?:(?:not )?(?:reproducible|the same)|different))",
    (
        "Rank 3, node n4, device 3, iteration #9: First rerun: unexpected result is reproducible"
        " within the tolerance (nan = nan). Need to rerun on a different GPU",
        "Rank 3, node n4, device 3, iteration #9: First rerun: unexpected result is not"
        " reproducible within the tolerance (7.1 != 2.2)",
        "Rank 3, node n4, device 3, iteration #9: Second rerun: unexpected result is not"
        " reproducible on a different GPU",
        "Rank 3, node n4, device 3, iteration #9: Second rerun: result is different on a different"
        " GPU (nan != 0.5)",
    ),
    ("First rerun: starting",),
    MEGATRON,
    category=NUMERICAL,
    also=(SDC,),
    each=True,
    read=rerun,
)
NUMERICS.add(
    "rerun_hardware",
    ROOT,
    ("possible transient error", "possible persistent error"),
    r"(?:Rank (?P<rank>\d{1,7}), node (?P<node>[\w.-]{1,128}), device (?P<cuda_device>\d{1,3})"
    r".{0,80}?)?Possible (?P<what>transient|persistent) error\b",
    ("Rank 3, node n4, device 3, iteration #9: Possible persistent error!",),
    ("possible transient errors are retried",),
    MEGATRON,
    category=SDC,
    also=(NUMERICAL, Category.GPU),
    each=True,
)
NUMERICS.add(
    "rerun_correct",
    ROOT,
    ("correct result (but possible application error)",),
    r"(?:Rank (?P<rank>\d{1,7}), node (?P<node>[\w.-]{1,128}), device (?P<cuda_device>\d{1,3})"
    r".{0,80}?)?Correct result \(but possible Application error\)",
    (
        "Rank 3, node n4, device 3, iteration #9: Correct result (but possible Application error)"
        " (found NaN)",
    ),
    ("correct result (but late)",),
    MEGATRON,
    category=NUMERICAL,
    blame=Blame.NOBODY,
    each=True,
)
NUMERICS.add(
    "rank_nan",
    ROOT,
    ("found nan in local", "found inf in local", "found nan in param"),
    r"(?:Rank (?P<rank>\d{1,7}): )?found (?:NaN|Inf)(?:/Inf)? in (?:local|param)"
    r"(?:.{0,160}?Device: (?P<cuda_device>\d{1,3}), node: (?P<node>[\w.-]{1,128}))?",
    (
        "AssertionError: Rank 11: found NaN in local grad norm in backward pass before"
        " data-parallel communication collective. Device: 3, node: n9",
        "found NaN in local forward loss calculation. Device: 2, node: n4",
        "found Inf in local grad norm for bucket #3 in backward pass",
    ),
    ("found none in local grads",),
    "Megatron-LM: distributed/param_and_grad_buffer.py",
    category=SDC,
    also=(NUMERICAL, Category.GPU),
    weak=True,
    each=True,
    read=lambda _found, _after: Reading(fields={"before_reduction": "1"}),
)
NUMERICS.add(
    "nan_found",
    ROOT,
    ("found nan in", "found inf in", "nan detected in", "nan encountered in"),
    r"(?i)\b(?:found (?:nan|inf)s?(?:/inf)?|nans? (?:detected|encountered)) in"
    r" (?:the )?(?:loss|grad|gradient|output|logits|activation|weight|forward|backward)",
    (
        "AssertionError: Rank 7: found NaN in loss, iteration 6718",
        "RuntimeError: NaN detected in gradients of layer 3",
        "ValueError: NaN encountered in the loss at step 12",
    ),
    ("checked: no NaN found in loss", "found nan in column 3 of labels.csv"),
    "frameworks' own checks after the reduction",
    category=NUMERICAL,
)
NUMERICS.add(
    "replica_mismatch",
    ROOT,
    (
        "inconsistent between workers",
        "parameter hashes not matching",
        "hashes do not match across",
        "checksum mismatch",
        "checksums differ",
        "parameters are not identical across",
        "silent data corruption",
        "sdc detected",
    ),
    r"gradients are inconsistent between workers|hashes (?:not matching across|do not match across)"
    r"|(?:param\w*|weight\w*|replica\w*|gradient\w*|tensor) checksums? (?:mismatch|differ)"
    r"|checksum mismatch (?:across|between|on) (?:replicas|ranks|rank)"
    r"|parameters are not identical across|[Ss]ilent data corruption (?:detected|found|on)"
    r"|SDC detected",
    (
        "FloatingPointError: Fatal error: gradients are inconsistent between workers. Try a legacy"
        " reduction.",
        "AssertionError: Parameter hashes not matching across DP replicas",
    ),
    ("checksum mismatch of the archive", "silent data corruption checks are on"),
    "fairseq, Megatron-LM: checks across replicas",
    category=SDC,
    also=(NUMERICAL, Category.SOFTWARE_FRAMEWORK),
    weak=True,
    each=True,
)
NUMERICS.add(
    "diverged",
    ROOT,
    (
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
    (
        "Exception: Current loss scale already at minimum - cannot decrease scale anymore.",
        "RuntimeError: Function 'MulBackward0' returned nan values in its 0th output.",
        "Loss is nan, stopping training",
        "RuntimeError: probability tensor contains either `inf`, `nan` or element < 0",
        "RuntimeError: NaN in loss, all data-parallel replicas agree",
        "Gradients contain NaN, the update is skipped",
        "Detected divergence: loss 11.3 is above three times its mean",
        "loss spike at step 400: 2.1 -> 11.8, grad norm 341",
    ),
    ("NaN detected in 0 samples of the file list",),
    "DeepSpeed, fairseq, PyTorch, Lightning",
    category=NUMERICAL,
    also=(SDC,),
)
NUMERICS.add(
    "skipped_step",
    ROOT,
    ("spiky gradient",),
    r"spiky gradient \(norm=(?P<norm>-?(?:nan|inf|\d{1,12}(?:\.\d{1,20})?(?:e[+-]?\d{1,3})?))\)",
    ("Step 17: detected nan/inf/spiky gradient (norm=2.17); skipping optimizer step.",),
    ("spiky gradients are skipped",),
    "trainers that skip steps by the norm",
    category=NUMERICAL,
    weak=True,
    read=skipped_step,
)
NUMERICS.add(
    "loss_scale",
    NOISE,
    ("reducing loss scale to", "attempted loss scale:"),
    r"(?:reducing loss scale to|loss scale: [\d.e+-]{1,24}, reducing to) (?P<scale>"
    r"\d{1,20}(?:\.\d{1,30})?(?:e[+-]?\d{1,3})?)",
    (
        "Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 1.5e-05",
        "[deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to"
        " 32768",
    ),
    ("loss scale 65536",),
    "Apex, DeepSpeed: dynamic loss scaling",
    read=loss_scale,
)
NUMERICS.add(
    "nan_printed",
    ROOT,
    tuple(
        f"{name}{mark}{value}"
        for name, marks in (
            ("loss", (": ", "=", "': ", '": ', " = ", " ", " is ", ":", "': '", " : ")),
            ("norm", (": ", "=", "': ", '": ', " = ", " is ", ":", "': '", " : ")),
        )
        for mark in marks
        for value in ("nan", "inf", "-inf")
    ),
    r"(?<!best_)(?<!best )(?<!min_)(?<!best-)"
    r"(?:loss\w{0,20}|grad[ _]?norm)['\"]?(?:\s?[:=]\s{0,4}| is | )['\"]?-?(?P<value>nan|inf)"
    r"(?![\w-])",
    (
        " iteration 12/ 100 | lm loss: NAN | loss scale: 1.0 | grad norm: 3.1 | number of nan"
        " iterations: 0 |",
        "{'loss': 0.0, 'grad_norm': nan, 'learning_rate': 1e-05, 'epoch': 0.1}",
        "step: 40  loss: nan  grad_norm: nan  tps: 900",
    ),
    (
        "| number of skipped iterations: 0 | number of nan iterations: 0 |",
        "loss infrastructure ready",
        "best_loss: inf",
    ),
    "progress lines of any trainer",
    category=NUMERICAL,
    also=(SDC,),
    blame=Blame.NOBODY,
    weak=True,
)
NUMERICS.add(
    "norm_jump",
    ROOT,
    ("grad norm: ", "grad_norm: ", "grad_norm': "),
    r"grad[ _]norm['\"]?: ['\"]?(?P<norm>\d{1,12}(?:\.\d{1,12})?(?:e[+-]?\d{1,3})?)",
    ("step: 7  loss: 2.1  grad_norm: 0.5\nstep: 8  loss: 2.2  grad_norm: 91.0",),
    ("step: 7  loss: 2.1  grad_norm: 0.5\nstep: 8  loss: 2.1  grad_norm: 0.7",),
    "progress lines of any trainer",
    category=NUMERICAL,
    also=(SDC,),
    blame=Blame.NOBODY,
    weak=True,
    context=2,
    read=norm_jump,
)

SIGNATURES = NUMERICS.signatures()
