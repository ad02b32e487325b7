"""One example of each format of looks, in the order of its registry."""

from tests.support.smi_tables import smi_table
from tests.support.stack_texts import faulthandler_text, py_spy_text, server_file

LIVE_EXAMPLES = {
    "ras_text": "NCCL version 2.29.7 compiled with CUDA 13.0\n\nJob summary\n===========\n",
    "ras_json": '{"nccl_version": "2.29.7", "communicators_count": 0, "communicators": []}',
    "debug_server_file": server_file("dump_traceback", ["Error: 408", "Error: 503"]),
    "debug_server_page": "<!doctype html>\n<h1>Torch Distributed Debug Server</h1>\n"
    "<h2>Rank 0: http://gpu-n01:41701/handler/ping?</h2>\n<pre></pre>\n",
    "store_keys": "debug_server/rank0: b'http://gpu-n01:41701'\n",
    "trace_tables": "=== FR Trace ===\n--- Groups ---\nid    desc          size\n",
    "wait_counters": '{"pytorch.wait_counter.a":{"active_count":0,"total_calls":2}}',
    "handler_refusal": "Handler ping_pong not found: Failed to find handler ping_pong",
    "py_spy": py_spy_text(4100),
    "faulthandler": faulthandler_text(),
    "inspector": '{"header":{"id":"0x1f","comm_name":"default_pg","rank":2,"n_ranks":4,"nnodes":2},'
    '"metadata":{"inspector_output_format_version":"v4.0","hostname":"n3","pid":812},'
    '"coll_perf":{"coll":"AllReduce","coll_sn":36,"coll_exec_time_us":1494}}\n',
    "gpu_table": "index, utilization.gpu [%], power.draw [W]\n0, 100 %, 232.50 W\n",
    "gpu_dmon": "# gpu   pwr    sm   mem\n# Idx     W     %     %\n    0   232   100     0\n",
    "amd_smi_usage": '[{"gpu": 0, "usage": {"gfx_activity": {"value": 100, "unit": "%"}}}]',
    "nvidia_smi_table": smi_table([(100, 232)]),
    "py_spy_json": '[{"pid": 4100, "thread_id": 1397, "thread_name": "MainThread", "frames": []}]',
    "gdb": 'Thread 1 (Thread 0x7f (LWP 4100) "python"):\n#0  0x00007f in poll () from a.so\n',
    "proc_files": "== status\nName:\tpython\nState:\tS (sleeping)\nPid:\t4100\n",
    "python_traceback": '# Thread 7 (MainThread)\n  File "/w/t.py", line 4, in <module>\n    f()\n',
}
