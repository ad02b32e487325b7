"""One example of each format of looks, in the order of its registry."""

from tests.support.stack_texts import faulthandler_text, py_spy_text, server_file

__all__ = ["LIVE_EXAMPLES"]

LIVE_EXAMPLES = {
    "debug_server_file": server_file("dump_traceback", ["Error: 408", "Error: 503"]),
    "debug_server_page": "<!doctype html>\n<h1>Torch Distributed Debug Server</h1>\n"
    "<h2>Rank 0: http://gpu-n01:41701/handler/ping?</h2>\n<pre></pre>\n",
    "store_keys": "debug_server/rank0: b'http://gpu-n01:41701'\n",
    "wait_counters": '{"pytorch.wait_counter.a":{"active_count":0,"total_calls":2}}',
    "handler_refusal": "Handler ping_pong not found: Failed to find handler ping_pong",
    "py_spy": py_spy_text(4100),
    "faulthandler": faulthandler_text(),
}
