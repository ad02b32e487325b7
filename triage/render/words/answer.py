"""Answer: the phrases about an answer that terminal, page and notebook share."""

from collections.abc import Callable, Iterator

from triage.domain.category import LLAMA3_ROW, Category
from triage.domain.counts import count
from triage.domain.report import Coverage, Victims
from triage.render.words.ranges import condense, condense_names

__all__ = ["cause", "coverage_facts", "victims_text"]


def cause(category: Category) -> str:
    """``gpu_hbm (HBM3 memory)``: the category and its row of the Llama 3 table, if it has one."""
    row = LLAMA3_ROW[category]
    return f"{category} ({row})" if row else str(category)


def victims_text(
    victims: Victims, *, max_chars: int, clean: Callable[[str], str] | None = None
) -> str:
    """``3 ranks: 0-2; 1 node: n1``; an empty text where nobody waits.

    ``max_chars`` bounds each of the two lists; ``clean`` is applied to each node's name.
    """
    parts = []
    if victims.ranks:
        ranks = condense(victims.ranks, max_chars=max_chars)
        parts.append(f"{count(len(victims.ranks), 'rank')}: {ranks}")
    if victims.nodes:
        names = map(clean, victims.nodes) if clean else victims.nodes
        nodes = condense_names(names, max_chars=max_chars)
        parts.append(f"{count(len(victims.nodes), 'node')}: {nodes}")
    return "; ".join(parts)


def coverage_facts(coverage: Coverage, *, max_chars: int) -> Iterator[tuple[str, str]]:
    """(what, how much) of what was read; ``max_chars`` bounds the list of ranks."""
    of_all = "" if coverage.ranks_expected is None else f" of {coverage.ranks_expected:,}"
    some = bool(coverage.dumps_read or of_all)
    yield "dumps read", f"{coverage.dumps_read:,}{of_all}" if some else "none"
    if coverage.ranks_without_dump:
        yield "ranks without dump", condense(coverage.ranks_without_dump, max_chars=max_chars)
    if coverage.lines_read:
        missed = f"{coverage.lines_not_understood:,} not understood"
        yield "log lines read", f"{coverage.lines_read:,}, {missed}"
