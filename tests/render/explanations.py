"""Explanations built by hand, as ``triage.analysis.explain`` would give them."""

from dataclasses import replace

from tests.render import answers
from triage.analysis.explain import ExplainedPlace, Explanation, Term, Trial
from triage.analysis.facts.stop import Stop
from triage.analysis.joining.hangs_on import Dependence, Outcome, Source
from triage.domain.category import Category
from triage.domain.report import Missing

START_NS = int(answers.AT.timestamp()) * 1_000_000_000


def weighed():
    """The incident of ``answers.logged``: a GPU on n3, an adapter on n5."""
    answer = answers.logged()
    fallen, slow = answer.suspects
    return Explanation(
        verdict=answer.verdict,
        node="n3",
        from_dumps=False,
        stop=Stop(START_NS, START_NS + 600_000_000_000, known=True, trouble=True, job_seen=True),
        start_known="the watchdogs: when they gave up, less the time that they had waited",
        end_known="as job.json says",
        bias=-2.25,
        places=(
            ExplainedPlace(
                "n3",
                (27,),
                Category.GPU,
                shared=False,
                belief=0.96,
                log_odds=4.25,
                ahead=5.5,
                parts=(
                    Term("kernel_at", "its kernel log says so at the time of the stop", 4.0),
                    Term("gpu_part", "a part of a GPU", 3.0),
                    Term("no_dumps", "there are no dumps to hold it against", -0.5),
                ),
                because=fallen.because,
            ),
            ExplainedPlace(
                "n5",
                (),
                Category.NIC,
                shared=False,
                belief=0.12,
                log_odds=-1.25,
                ahead=-5.5,
                parts=(Term("kernel_before", "its kernel log says so, an hour before", 1.0),),
                because=slow.because,
            ),
            ExplainedPlace(
                None,
                (),
                Category.STORAGE,
                shared=True,
                belief=0.02,
                log_odds=-4.0,
                ahead=-8.25,
                parts=(),
                because=(),
            ),
        ),
        trials=(
            Trial(
                "nodes/n3/kernel.log",
                "n5",
                replace(answer.verdict, category=Category.NIC, confidence=0.61),
            ),
            Trial("job.log", "n3", replace(answer.verdict, confidence=0.8)),
            Trial(None, "n3", answer.verdict),
        ),
        missing=Missing(kernel_logs_of=("n7",), dumps=True, places=True),
        hangs_on=(
            Dependence(
                Source.DUMPS, Outcome.STANDS, "n3", (27,), convicts=True, verdict=answer.verdict
            ),
            Dependence(
                Source.KERNEL_LOGS,
                Outcome.FALLS,
                None,
                (),
                convicts=False,
                verdict=replace(answer.verdict, category=Category.NCCL_TIMEOUT, confidence=0.7),
            ),
            Dependence(
                Source.NODE_LOGS,
                Outcome.FALLS,
                "n5",
                (),
                convicts=False,
                verdict=replace(answer.verdict, category=Category.NIC, confidence=0.61),
            ),
            Dependence(
                Source.ROOT_WORDS,
                Outcome.PLACE_STANDS,
                "n3",
                (27,),
                convicts=True,
                verdict=replace(answer.verdict, category=Category.HOST_STALL, confidence=0.9),
            ),
        ),
    )


def empty():
    """A healthy job: nothing was weighed."""
    return replace(
        weighed(),
        verdict=answers.healthy().verdict,
        node=None,
        from_dumps=True,
        stop=Stop(None, None, known=False, trouble=False, job_seen=True),
        start_known="nothing says when",
        end_known="nothing says when",
        places=(),
        trials=(),
        missing=Missing(),
        hangs_on=(),
    )


def hostile():
    """Every text that comes from the input is an attack."""
    whole = weighed()
    bad = answers.HOSTILE
    cordon = (bad,)
    place = replace(whole.places[0], node=bad, because=answers.hostile().suspects[0].because)
    return replace(
        whole,
        verdict=replace(whole.verdict, summary=bad, cordon=cordon),
        node=bad,
        start_known=bad,
        end_known=bad,
        places=(place,) * 12,
        trials=(Trial(bad, bad, whole.verdict), Trial(bad * 50, None, whole.verdict)),
        hangs_on=(replace(whole.hangs_on[2], node=bad), replace(whole.hangs_on[2], node=bad * 50)),
        missing=Missing(kernel_logs_of=(bad,), dumps_of=tuple(range(0, 4000, 2))),
    )
