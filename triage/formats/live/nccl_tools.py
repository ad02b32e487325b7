"""What NCCL's own tools and its kin leave of a running job, by how their files begin.

::

    {"version": "2.10", "nccl_comm_state": {"0x1f": {"commHash": "1f", "rank": "3", ...}}, ...}
    createT:1790000067112, lastT:1790000067113, ..., 3->2(R), chan:0, status:RECEIVING, ...
    { version : 1, CommInitRank : [size : 4, uniqueID : 1027, rank : 0, ...
    [ {"name": "AllReduce", "cat": "COLL", "ph": "b", "id": 881, "pid": 812, ...
    {"header":{"id":"0x1f","comm_name":"default_pg",...},"metadata":{"inspector_output_...
"""

from typing import Final

from triage.domain.patterns import compile_re
from triage.formats.flight_recorder import FLIGHT_RECORDER
from triage.formats.format import Head
from triage.formats.live.live_format import LiveFormat
from triage.parsers.live.comm_state import read_comm_state
from triage.parsers.live.inspector import read_inspector, read_inspector_metrics
from triage.parsers.live.profiler import read_profiler
from triage.parsers.live.proxy_trace import TRANSFER_LINE, read_proxy_trace
from triage.parsers.live.replay import read_replay

_REPLAY_BEGINS: Final = compile_re(
    r"\s{0,20}\{\s{1,20}version : \d{1,4},\s{1,20}(?:CommInit\w{1,20}|[A-Z]\w{2,40}) : \["
)
_PROFILER_BEGINS: Final = compile_re(
    r'\s{0,20}\[\s{0,20}\{"name": "[^"\n]{1,80}", '
    r'"cat": "(?:GROUP|COLL|P2P|PROXY|NET|GPU)\w{0,20}", "ph": "[be]"'
)
_INSPECTOR_BEGINS: Final = compile_re(
    r'\s{0,20}\{(?=[^\n]{0,2000}"inspector_output_format_version")'
    r'[^\n]{0,200}"(?:header|dump_stats|metadata)"'
)

# 'nccl_bus_bandwidth_gbs{version="v5.1",slurm_job_id="7",node="n1",gpu="GPU0",comm_name=...'
_METRICS_BEGIN: Final = compile_re(
    r"\s{0,20}(?:#[^\n]{0,400}\n\s{0,20}){0,8}nccl_(?:p2p_)?"
    r"(?:bus_bandwidth_gbs|collective_exec_time_microseconds|exec_time_microseconds)"
    r"\{[^}\n]{0,400}comm_name="
)


def _is_json_dump(head: Head) -> bool:
    return head.data.lstrip()[:1] == b"{" and FLIGHT_RECORDER.claims(head)


def _is_proxy_trace(head: Head) -> bool:
    return b"createT:" in head.data and TRANSFER_LINE.search(head.whole_text) is not None


# Not in the table: a dump that its own reader hands on is read by this.
COMM_STATE: Final = LiveFormat("comm_state", _is_json_dump, read_comm_state)
PROXY_TRACE: Final = LiveFormat("proxy_trace", _is_proxy_trace, read_proxy_trace, also_log=True)
REPLAY: Final = LiveFormat(
    "replay",
    lambda head: _REPLAY_BEGINS.match(head.text) is not None,
    read_replay,
    words=("version : ",),
)
PROFILER: Final = LiveFormat(
    "profiler",
    lambda head: _PROFILER_BEGINS.match(head.text) is not None,
    read_profiler,
    words=('"cat": ',),
)
INSPECTOR: Final = LiveFormat(
    "inspector",
    lambda head: _INSPECTOR_BEGINS.match(head.text) is not None,
    read_inspector,
    words=('"inspector_output_format_version"',),
)
INSPECTOR_METRICS: Final = LiveFormat(
    "inspector_metrics",
    lambda head: _METRICS_BEGIN.match(head.text) is not None,
    read_inspector_metrics,
    words=("comm_name=",),
)
