"""The requests to a Kubernetes API server, by the official client, as plain JSON.

Each has a time limit and is sent once: who asks decides about another try, after a look.
"""

import json
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, Final

from triage.actions.schedulers.interface import SchedulerAway, SchedulerRefused
from triage.errors import UsageError
from triage.render.words.clean import one_line

__all__ = [
    "REBOOTS",
    "Conflicted",
    "Json",
    "KubernetesApi",
    "NotThere",
    "api_from",
    "child",
    "objects",
]

REBOOTS: Final = ("janitor.dgxc.nvidia.com", "v1alpha1", "rebootnodes")
"""Group, version and plural of the resource by which NVSentinel's janitor is asked to reboot."""
MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
MAX_ANSWER: Final = 64 * 1024 * 1024
PAGE: Final = 250
MAX_PAGES: Final = 200
# 401: a token that is just renewed; 410: a list that changed while it was paged.
LATER: Final = frozenset({401, 408, 410, 425, 429})
# What a request that is cut in the middle raises varies by where; each is an OSError, an error
# of urllib3 or of http.client. They are told by their module, for the client is imported late.
TRANSPORT: Final = re.compile(r"(?:urllib3|http\.client)(?:\.|$)")

Json = Mapping[str, Any]


class Conflicted(Exception):
    """The object is another than the one that was looked at (409)."""


class NotThere(Exception):
    """No such object, or no such kind of object (404)."""


class KubernetesApi:
    """What is asked of the API server.

    Each method raises :class:`SchedulerAway`, :class:`SchedulerRefused`, :class:`Conflicted` or
    :class:`NotThere`. ``core`` and ``custom`` are the client's ``CoreV1Api`` and
    ``CustomObjectsApi``.
    """

    def __init__(self, core: object, custom: object, *, timeout_s: float) -> None:
        self.core = core
        self.custom = custom
        self.timeout_s = timeout_s

    def node(self, name: str) -> Json:
        """The node."""
        return self._ask(self.core, "read_node", name)

    def nodes(self) -> Iterator[Json]:
        """All nodes, page by page."""
        token = None
        for _ in range(MAX_PAGES):
            page = self._ask(
                self.core, "list_node", limit=PAGE, **({"_continue": token} if token else {})
            )
            yield from objects(page.get("items"))
            token = child(page, "metadata").get("continue")
            if not token:
                return
        raise SchedulerRefused(f"the list of nodes has more than {MAX_PAGES * PAGE:,} entries")

    def pods_of(self, node: str) -> list[Json]:
        """The pods on the node that have not ended."""
        chosen = f"spec.nodeName={node},status.phase!=Succeeded,status.phase!=Failed"
        page = self._ask(self.core, "list_pod_for_all_namespaces", field_selector=chosen)
        return list(objects(page.get("items")))

    def change_node(self, name: str, version: str, change: Json) -> Json:
        """Merge ``change`` into the node, if it still has this resource version."""
        metadata = {**change.get("metadata", {}), "resourceVersion": version}
        body = {**change, "metadata": metadata}
        return self._ask(self.core, "patch_node", name, body, _content_type=MERGE)

    def set_condition(self, name: str, condition: Json) -> Json:
        """Set the one condition of this type; the others are other writers'."""
        body = {"status": {"conditions": [condition]}}
        return self._ask(self.core, "patch_node_status", name, body, _content_type=STRATEGIC)

    def ask_for_reboot(self, body: Json) -> Json:
        """Make an object of the kind :data:`REBOOTS`."""
        return self._ask(self.custom, "create_cluster_custom_object", *REBOOTS, body)

    def _ask(self, api: object, method: str, *args: object, **options: object) -> Json:
        try:
            response = getattr(api, method)(
                *args, _preload_content=False, _request_timeout=self.timeout_s, **options
            )
            try:
                raw = response.read(MAX_ANSWER + 1)
            finally:
                response.release_conn()
        except Exception as error:
            raise self._meaning(error) from error
        if len(raw) > MAX_ANSWER:
            raise SchedulerRefused(f"the answer is larger than {MAX_ANSWER:,} bytes")
        try:
            answer = json.loads(raw)
        except (ValueError, RecursionError) as error:
            raise SchedulerAway("the answer is no JSON: is this an API server?") from error
        if not isinstance(answer, dict):
            raise SchedulerAway("the answer is no JSON object: is this an API server?")
        return answer

    def _meaning(self, error: Exception) -> Exception:
        """What an error of the client says of the act. Raises it when it is a bug of ours."""
        status = getattr(error, "status", None)
        if isinstance(status, int) and status:
            why = f"{status}: {said_in(getattr(error, 'body', None)) or 'no words'}"
            if status == 404:
                return NotThere(why)
            if status == 409:
                return Conflicted(why)
            if status in LATER or status >= 500:
                return SchedulerAway(why)
            return SchedulerRefused(why)
        where = type(error).__module__
        if isinstance(error, OSError) or TRANSPORT.match(where) or where.startswith("kubernetes."):
            words = one_line(str(error))[:200] or type(error).__name__
            return SchedulerAway(f"no answer within {self.timeout_s:g} s: {words}")
        raise error


def said_in(body: object) -> str:
    """The message of a ``Status`` object, or the beginning of other words."""
    text = body.decode("utf-8", "replace") if isinstance(body, bytes) else str(body or "")
    try:
        status = json.loads(text)
    except (ValueError, RecursionError):
        status = None
    if isinstance(status, dict) and isinstance(status.get("message"), str):
        text = status["message"]
    return one_line(text)[:300]


def objects(value: object) -> Iterator[Json]:
    """The objects of a list; nothing for what is no list."""
    for one in value if isinstance(value, list) else ():
        if isinstance(one, dict):
            yield one


def child(parent: Json, key: str) -> Json:
    """The object under ``key``; an empty one where there is none."""
    value = parent.get(key)
    return value if isinstance(value, dict) else {}


def api_from(kubeconfig: str, *, timeout_s: float) -> KubernetesApi:
    """By the file ``kubeconfig``, or the pod's own service account where none is named.

    Raises :class:`UsageError` without the client, the file or the account.
    """
    try:
        client = import_module("kubernetes.client")
        config = import_module("kubernetes.config")
    except ImportError as error:
        raise UsageError(
            "TRIAGE_ACT_SYSTEM=kubernetes needs the Kubernetes client:"
            " pip install 'nccl-triage[kubernetes]'"
        ) from error
    configuration = client.Configuration()
    # One try: an act that may have been done is looked at before it is asked for again.
    configuration.retries = False
    try:
        if kubeconfig:
            config.load_kube_config(kubeconfig, client_configuration=configuration)
        else:
            config.load_incluster_config(client_configuration=configuration)
    except Exception as error:
        # A file of any content raises what its reader happens to.
        why = one_line(str(error))[:200] or type(error).__name__
        where = kubeconfig or "the service account of this pod"
        raise UsageError(
            f"Kubernetes cannot be reached by {where}: {why}; TRIAGE_ACT_KUBECONFIG names a"
            " kubeconfig"
        ) from error
    api = client.ApiClient(configuration)
    return KubernetesApi(client.CoreV1Api(api), client.CustomObjectsApi(api), timeout_s=timeout_s)
