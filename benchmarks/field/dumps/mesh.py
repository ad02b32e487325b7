"""The process groups of a job: tensor, pipeline, data and expert parallel ranks."""

import hashlib
import random
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Group:
    """One process group. `key` is its place in the mesh, `name` what c10d calls it."""

    key: int
    name: str
    desc: str
    role: str
    ranks: tuple[int, ...]


@dataclass(slots=True)
class Mesh:
    """Which rank is in which group. `of[rank][role]` is an index into `groups`."""

    world: int
    tp: int
    pp: int
    dp: int
    ep: int
    order: str
    style: str
    groups: list[Group] = field(default_factory=list)
    of: list[dict[str, int]] = field(default_factory=list)

    def place(self, rank: int) -> tuple[int, int, int]:
        """(tp, pp, dp) coordinates of a rank."""
        tp = rank % self.tp
        rest = rank // self.tp
        if self.order == "tp-pp-dp":
            return tp, rest % self.pp, rest // self.pp
        return tp, rest // self.dp, rest % self.dp

    def at(self, tp: int, pp: int, dp: int) -> int:
        """The rank at these coordinates."""
        if self.order == "tp-pp-dp":
            return tp + self.tp * (pp + self.pp * dp)
        return tp + self.tp * (dp + self.dp * pp)

    def group(self, rank: int, role: str) -> Group | None:
        """The group of this role that a rank is in."""
        key = self.of[rank].get(role)
        return None if key is None else self.groups[key]


DESCS = {
    "megatron": {
        "world": "default_pg",
        "tp": "TENSOR_MODEL_PARALLEL_GROUP",
        "pp": "PIPELINE_MODEL_PARALLEL_GROUP",
        "dp": "DATA_PARALLEL_GROUP_WITH_CP",
        "ep": "EXPERT_MODEL_PARALLEL_GROUP",
        "mp": "MODEL_PARALLEL_GROUP",
    },
    "mesh": {
        "world": "default_pg",
        "tp": "mesh_tp",
        "pp": "mesh_pp",
        "dp": "mesh_dp_shard",
        "ep": "mesh_ep",
        "mp": "mesh_tp_pp",
    },
    "bare": {"world": "default_pg"},
    "hashed": {
        "world": "default_pg",
        "tp": "mesh_tp",
        "pp": "mesh_pp",
        "dp": "mesh_fsdp",
        "ep": "mesh_ep",
    },
}


def _name(style: str, count: int, ranks: tuple[int, ...], role: str) -> str:
    if style == "hashed" and role != "world":
        return hashlib.sha1(repr(ranks).encode(), usedforsecurity=False).hexdigest()
    return str(count)


def build(world: int, tp: int, pp: int, ep: int, order: str, style: str) -> Mesh:
    """The mesh of a job; groups are made in the same order on every rank."""
    dp = world // (tp * pp)
    mesh = Mesh(world, tp, pp, dp, ep, order, style, of=[{} for _ in range(world)])
    descs = DESCS[style]

    def add(role: str, ranks: tuple[int, ...]) -> None:
        key = len(mesh.groups)
        name = _name(style, key, ranks, role)
        mesh.groups.append(Group(key, name, descs.get(role, "undefined"), role, ranks))
        for rank in ranks:
            mesh.of[rank][role] = key

    add("world", tuple(range(world)))
    if dp > 1:
        for p in range(pp):
            for t in range(tp):
                add("dp", tuple(mesh.at(t, p, d) for d in range(dp)))
    if pp > 1 and tp > 1:
        for d in range(dp):
            add("mp", tuple(sorted(mesh.at(t, p, d) for p in range(pp) for t in range(tp))))
    if tp > 1:
        for p in range(pp):
            for d in range(dp):
                add("tp", tuple(mesh.at(t, p, d) for t in range(tp)))
    if pp > 1:
        for d in range(dp):
            for t in range(tp):
                add("pp", tuple(mesh.at(t, p, d) for p in range(pp)))
    if ep > 1:
        for p in range(pp):
            for t in range(tp):
                for start in range(0, dp, ep):
                    add("ep", tuple(mesh.at(t, p, d) for d in range(start, start + ep)))
    return mesh


def draw(rng: random.Random, world: int, per_node: int) -> Mesh:
    """A mesh as jobs of this size have them; tensor parallel stays inside a node."""
    tps = [t for t in (1, 1, 2, 4, 8) if t <= per_node and world % t == 0]
    tp = rng.choice(tps)
    rest = world // tp
    pp = rng.choice([p for p in (1, 1, 2, 4) if rest % p == 0 and rest // p >= 2])
    dp = rest // pp
    eps = [1, 1] + [e for e in (2, 4, 8) if e <= dp and dp % e == 0 and dp > 1]
    ep = rng.choice(eps)
    order = rng.choice(["tp-dp-pp", "tp-dp-pp", "tp-pp-dp"])
    style = rng.choice(["megatron", "megatron", "mesh", "hashed", "bare"])
    return build(world, tp, pp, ep, order, style)
