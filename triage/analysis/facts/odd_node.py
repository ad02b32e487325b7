"""The odd node out: messages that one node prints about the stop and its peers do not.

Needs no signature: a new driver's words are evidence too. Templates that a log
already held while the job ran well do not count, and neither do those that
many nodes print, those that are known as harmless, and what a node prints in the
first minutes after it came up. What remains is compared node by node with scikit-learn's local
outlier factor; the odd one's own new messages become weak evidence.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from triage.analysis.facts.stop import SECOND, Stop
from triage.domain.evidence import Evidence, EvidenceRole, Kind
from triage.parsers.logs.first_minutes import BANNERS, FIRST_NS
from triage.parsers.logs.logset import LogFile, LogKind, LogSet

# Fewer nodes than this are no crowd to stand out from.
_MIN_NODES: Final = 5
# A template on more nodes than this belongs to the job, not to a node.
_MAX_SHARE: Final = 0.04
_WINDOW_S: Final = 600
_NEIGHBOURS: Final = 5
# The local outlier factor of a node like its neighbours is about 1.
_ODD: Final = 1.5
_MAX_ODD_NODES: Final = 3
_MAX_MESSAGES: Final = 3
# Beyond this the comparison of all with all is not worth its time.
_MAX_COMPARED: Final = 4096


def find_odd_messages(logs: LogSet, stop: Stop, rows: Iterable[Evidence]) -> list[Evidence]:
    """Weak root evidence for the new messages of nodes that differ from their peers.

    ``rows`` is the evidence of signatures: a line that one of them has read is
    not told twice. Empty on fewer than :data:`MIN_NODES` nodes, or when no time of a stop is known.
    """
    about = stop.start_ns if stop.start_ns is not None else stop.end_ns
    files = [file for file in logs.files if file.kind is LogKind.KERNEL and file.node is not None]
    nodes = {file.node for file in files}
    if about is None or len(nodes) < _MIN_NODES:
        return []
    rows = list(rows)
    fresh = _find_fresh_messages(files, rows, about)
    spread = Counter(name for seen in fresh.values() for name in seen)
    most = max(1, int(_MAX_SHARE * len(nodes)))
    read = {(row.artifact, row.line) for row in rows}
    own = {
        node: {
            name: (file, line)
            for name, (file, line) in seen.items()
            if spread[name] <= most
            and (file.artifact, line) not in read
            and line not in file.harmless
        }
        for node, seen in fresh.items()
    }
    own = {node: seen for node, seen in own.items() if seen}
    found: list[Evidence] = []
    for node in _stand_out(own, fresh, sorted(str(node) for node in nodes)):
        names = sorted(own[node], key=lambda name: (spread[name], own[node][name][1]))
        found += [
            _make_evidence(logs, node, name, *own[node][name]) for name in names[:_MAX_MESSAGES]
        ]
    return found


def _find_fresh_messages(
    files: Iterable[LogFile], rows: Iterable[Evidence], about_ns: int
) -> dict[str, dict[str, tuple[LogFile, int]]]:
    """Node -> template that first appeared about the stop, and not after a boot -> its line."""
    boots: dict[str, list[int]] = defaultdict(list)
    for row in rows:
        if row.signature in BANNERS and row.at_ns is not None and row.node is not None:
            boots[row.node].append(row.at_ns)
    found: dict[str, dict[str, tuple[LogFile, int]]] = defaultdict(dict)
    for file in files:
        node = str(file.node)
        for template in file.templates:
            first_ns = template.first_at_ns
            if first_ns is None or abs(first_ns - about_ns) > _WINDOW_S * SECOND:
                continue
            if not any(0 <= first_ns - boot <= FIRST_NS for boot in boots.get(node, ())):
                found[node].setdefault(template.template, (file, template.first_line))
    return found


def _stand_out(
    own: Mapping[str, Mapping[str, object]],
    fresh: Mapping[str, Mapping[str, object]],
    nodes: Sequence[str],
) -> list[str]:
    """The nodes with messages of their own that lie farthest from their neighbours."""
    if not own or len(own) > max(_MAX_ODD_NODES, len(nodes) // 4):
        return []
    if len(nodes) > _MAX_COMPARED:
        return sorted(own, key=lambda node: (-len(own[node]), node))[:_MAX_ODD_NODES]
    import numpy as np
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.neighbors import LocalOutlierFactor

    names = sorted({name for seen in fresh.values() for name in seen})
    column = {name: k for k, name in enumerate(names)}
    table = np.zeros((len(nodes), len(names) + 1))
    table[:, -1] = 1.0  # a node that prints nothing new is still a point
    for row, node in enumerate(nodes):
        for name in fresh.get(node, {}):
            table[row, column[name]] = 1.0
    weighted = TfidfTransformer().fit_transform(table).toarray()
    # Equal points have no density; a little spread that depends on the place alone gives them one.
    weighted[:, -1] += np.linspace(0.0, 1e-3, len(nodes))
    factor = LocalOutlierFactor(n_neighbors=min(_NEIGHBOURS, len(nodes) - 1))
    factor.fit(weighted)
    score = dict(zip(nodes, (-factor.negative_outlier_factor_).tolist(), strict=True))
    odd = [node for node in own if score[node] >= _ODD]
    return sorted(odd, key=lambda node: (-score[node], node))[:_MAX_ODD_NODES]


def _make_evidence(logs: LogSet, node: str, name: str, file: LogFile, line: int) -> Evidence:
    seen = next(one for one in file.templates if one.template == name)
    return Evidence(
        artifact=file.artifact,
        line=line,
        signature="template.odd_node",
        kind=Kind.TEMPLATE,
        role=EvidenceRole.ROOT,
        text=f"only {node} prints: {logs.templates.get(name, name)}"[:300],
        weak=True,
        node=node,
        count=seen.count,
        at_ns=seen.first_at_ns,
        last_at_ns=seen.last_at_ns,
        error_ns=SECOND,
    )
