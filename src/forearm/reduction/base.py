"""Base parameters:
the combinations of inertial parameters that joint torques can distinguish, after Gautier and Khalil.

Adding certain vectors to the parameters of two bodies at a joint changes no torque: mass on the axis of a
revolute joint may belong to either body, and so may rotational inertia at a prismatic joint; a body that
rotates about a single fixed direction contributes one moment of inertia, one that does not rotate only its
mass. Each such vector allows one parameter to be set to 0. The remaining number is compared with the
numerical rank of the regressor; if an arm's special geometry reduces it further, the base is completed from
the rank.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm
from forearm.dynamics.reference import inertial_parameters, parameter_names, regressor
from forearm.dynamics.regressor import INERTIA_ENTRIES, PARAMETERS
from forearm.errors import InputError
from forearm.model import Model, model_of
from forearm.portable import dot, matmul, norm, product
from forearm.reduction.frames import PARALLEL, at_zero
from forearm.reduction.sampled import dependence, sampled_regressor
from forearm.spatial import Floats, inertia_from_pseudo, inverse_pose, pose, rotation_from_z
from forearm.values import as_floats, frozen

# Which parameter is set to 0 where several could be: mass, first moments, inertia; of these mz and Iyy, as in
# Gautier and Khalil.
GROUPS = (("m",), ("mz", "my", "mx"), ("Iyy", "Ixx", "Izz", "Iyz", "Ixz", "Ixy"))
NOTHING = 1e-12  # relative: a vector or a column below is dependent
CLEAR = 1e-10  # relative: a column above is independent, despite rounding
ROUNDING = 1e-14  # relative: a coefficient below is 0
SMALL = 1e-6  # relative: coefficients below are not used as divisors
MOST_CHECKED = 24  # bodies up to which the rank is computed
SHOWN = 1e-12  # relative: a coefficient below is omitted from labels


@frozen
class BaseParameters:
    """Base parameters of an arm:
    `values` = `matrix` @ `standard`, and torques = regressor columns `columns` @ `values`.

    `names` are the leading parameters of the combinations, such as "link2.Ixx"; `labels` the combinations
    written out. `standard` and `standard_names` are all inertial parameters, ten per moving body. `rank` is
    the numerical rank of the regressor (None for long arms, where it is not computed); `completed` counts the
    parameters eliminated only because of the rank.
    """

    arm: Arm
    names: tuple[str, ...]
    labels: tuple[str, ...]
    values: Floats
    matrix: Floats
    columns: tuple[int, ...]
    standard: Floats
    standard_names: tuple[str, ...]
    rank: int | None
    completed: int

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<BaseParameters of {self.arm.name!r}: {len(self)} of {len(self.standard)} parameters>"

    def of(self, standard: ArrayLike) -> Floats:
        """The base parameters for another set of inertial parameters with the same geometry."""
        given = as_floats(standard, "standard")
        if given.shape != self.standard.shape:
            raise InputError(
                f"expected {len(self.standard)} numbers, in the order of standard_names, got "
                f"shape {given.shape}.",
                "standard",
            )
        return np.asarray(self.matrix @ given, dtype=np.float64)

    def regressor(self, q: ArrayLike, qd: ArrayLike, qdd: ArrayLike) -> Floats:
        """Y such that Y @ values are the torques of the rigid arm: (n, b) or (B, n, b)."""
        return regressor(self.arm, q, qd, qdd)[..., list(self.columns)]


@lru_cache(maxsize=32)
def base_parameters(arm: Arm) -> BaseParameters:
    """The base parameters of an arm."""
    arm = arm.rigid()
    model, names = model_of(arm), parameter_names(arm)
    unseen = Unseen(len(names))
    for vector in silent_changes(model):
        unseen.add(vector)
    closed, rank = len(unseen.rows), None
    if 0 < len(model.bodies) <= MOST_CHECKED:
        rank = _complete(arm, unseen)
    kept = [k for k in range(len(names)) if k not in unseen.pivots]
    matrix = np.eye(len(names))[kept]
    for row, pivot in zip(unseen.rows, unseen.pivots, strict=True):
        matrix[:, pivot] = -row[kept]
    standard = inertial_parameters(arm)
    values = matmul(matrix, standard)
    for array in (matrix, standard, values):  # cached for the next caller
        array.flags.writeable = False
    return BaseParameters(
        arm,
        tuple(names[k] for k in kept),
        tuple(_label(row, names) for row in matrix),
        values,
        matrix,
        tuple(kept),
        standard,
        tuple(names),
        rank,
        len(unseen.rows) - closed,
    )


class Unseen:
    """Changes of the parameters that leave all torques unchanged, each solved for one parameter:
    its pivot, with coefficient 1.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self.rows: list[Floats] = []
        self.pivots: list[int] = []

    def add(self, vector: Floats) -> bool:
        """Add a vector, unless it depends on those already added."""
        largest = float(np.abs(vector).max())
        for row, pivot in zip(self.rows, self.pivots, strict=True):
            vector = vector - row * vector[pivot]
        if float(np.abs(vector).max()) < NOTHING * largest:
            return False
        vector[np.abs(vector) < ROUNDING * largest] = 0.0
        pivot = self._pivot(vector)
        vector = vector / vector[pivot]
        for k, row in enumerate(self.rows):
            self.rows[k] = row - vector * row[pivot]
        self.rows.append(vector)
        self.pivots.append(pivot)
        return True

    def _pivot(self, vector: Floats) -> int:
        """Of the outermost body with nonzero entries, the largest of the first of GROUPS with nonzero
        entries; the first of equals.
        """
        least = SMALL * float(np.abs(vector).max())
        body = int(np.flatnonzero(np.abs(vector) > least).max()) // 10
        for group in GROUPS:
            places = [10 * body + PARAMETERS.index(name) for name in group]
            largest = float(np.abs(vector[places]).max())
            if largest > least:
                return next(k for k in places if abs(vector[k]) > (1.0 - 1e-6) * largest)
        raise AssertionError("a nonzero vector has a nonzero entry")


def silent_changes(model: Model) -> Iterator[Floats]:
    """Changes of the parameters that leave all torques unchanged,
    from the tips to the base, in closed form.
    """
    poses, joints = at_zero(model)
    for i in reversed(range(len(model.bodies))):
        body = model.bodies[i]
        T_body_joint, T_parent_joint = inverse_pose(pose(body.Ra, body.pa)), pose(body.Rb, body.pb)
        for D in _on_axis() if body.revolute else _pure_inertia():
            yield _change(model, i, -_turned(T_body_joint, D), _turned(T_parent_joint, D))
        turning = [k for k in _path(model, i) if model.bodies[k].revolute]
        if not turning:  # it does not rotate: only its mass matters
            for D in (*_pure_inertia(), *(_pair(k, 3) for k in range(3))):
                yield _change(model, i, D)
            continue
        e = joints[turning[0]][:3, 2]
        if any(norm(np.cross(e, joints[k][:3, 2])) > PARALLEL for k in turning):
            continue
        yield from _of_one_direction(model, i, poses, joints, e)


def _of_one_direction(
    model: Model, i: int, poses: list[Floats], joints: list[Floats], e: Floats
) -> Iterator[Floats]:
    """Unobservable changes of a body that rotates about the fixed direction e only."""
    body = model.bodies[i]
    along = np.append(matmul(poses[i][:3, :3].T, e), 0.0)
    u, v = (np.append(column, 0.0) for column in rotation_from_z(along[:3]).T[:2])
    for a, b in ((along, along), (along, u), (along, v), (u, v)):
        yield _change(model, i, np.outer(a, b) + np.outer(b, a))
    yield _change(model, i, np.outer(u, u) - np.outer(v, v))
    origin = np.array([0.0, 0.0, 0.0, 1.0])
    yield _change(model, i, np.outer(along, origin) + np.outer(origin, along))
    if not body.revolute and norm(np.cross(e, joints[i][:3, 2])) < PARALLEL:
        # its position along e does not matter: its first moment perpendicular to e may as well belong to its
        # parent
        T = matmul(pose(body.Rb, body.pb), pose(body.Ra, body.pa))
        for across in (u, v):
            D = np.outer(across, origin) + np.outer(origin, across)
            yield _change(model, i, -D, _turned(T, D))
    if _on_one_line(model, i, joints, e):
        T = inverse_pose(pose(body.Ra, body.pa))
        for k in (0, 1):
            yield _change(model, i, _turned(T, _pair(k, 3)))


def _on_one_line(model: Model, i: int, joints: list[Floats], e: Floats) -> bool:
    """Whether body i rotates about a line that does not move sideways, with gravity along it:
    its centre of mass may be anywhere.
    """
    if norm(np.cross(e, model.g)) > PARALLEL * norm(model.g) or not model.bodies[i].revolute:
        return False
    p = joints[i][:3, 3]
    for k in _path(model, i):
        d = joints[k][:3, 3] - p
        if norm(np.cross(e, joints[k][:3, 2])) > PARALLEL:
            return False
        if model.bodies[k].revolute and norm(d - e * dot(e, d)) > PARALLEL:
            return False
    return True


def _complete(arm: Arm, unseen: Unseen) -> int:
    """The numerical rank of the regressor;
    if it is less than the number of remaining parameters, the further dependencies.
    """
    Y = sampled_regressor(arm, 2 + 3 * unseen.size // arm.n)
    sizes = np.sqrt(np.add.reduce(Y * Y, axis=0))
    for k in np.flatnonzero(sizes <= NOTHING * sizes.max()):
        if k not in unseen.pivots:
            unseen.add(np.eye(unseen.size)[k])
    kept = [k for k in range(unseen.size) if k not in unseen.pivots]
    shown = np.flatnonzero(sizes > CLEAR * sizes.max())
    rank, _ = dependence(Y[:, shown] / sizes[shown], CLEAR)
    if rank > len(kept):
        raise AssertionError(
            f"base parameters of {arm.name!r}: {len(kept)} in closed form, but the regressor has rank {rank}"
        )
    for row in dependence(Y[:, kept] / sizes[kept], NOTHING)[1]:
        vector = np.zeros(unseen.size)
        vector[kept] = row / sizes[kept]
        unseen.add(vector / np.abs(vector).max())
    return rank


def _change(model: Model, i: int, own: Floats, parent: Floats | None = None) -> Floats:
    """The change of the parameters of body i and its parent by second moments [J h; h^T m] (4, 4)."""
    vector = np.zeros(10 * len(model.bodies))
    vector[10 * i : 10 * i + 10] = _parameters(own)
    before = model.bodies[i].parent
    if parent is not None and before >= 0:
        vector[10 * before : 10 * before + 10] = _parameters(parent)
    return vector


def _parameters(P: Floats) -> Floats:
    inertia = inertia_from_pseudo(P[:3, :3])
    return np.array([P[3, 3], *P[:3, 3], *(inertia[a, b] for a, b in INERTIA_ENTRIES)])


def _on_axis() -> list[Floats]:
    """Masses on the z axis: m, hz, Jzz."""
    return [_pair(3, 3), _pair(2, 3), _pair(2, 2)]


def _pure_inertia() -> list[Floats]:
    return [_pair(a, b) for a, b in INERTIA_ENTRIES]


def _pair(a: int, b: int) -> Floats:
    D = np.zeros((4, 4))
    D[a, b] = D[b, a] = 1.0
    return D


def _turned(T: Floats, D: Floats) -> Floats:
    return np.asarray(product(T, D, T.T))


def _path(model: Model, i: int) -> list[int]:
    path = []
    while i >= 0:
        path.append(i)
        i = model.bodies[i].parent
    return path[::-1]


def _label(row: Floats, names: list[str]) -> str:
    """A combination in readable form: coefficient 1 first, coefficients to six digits."""
    terms = [(k, c) for k, c in enumerate(row) if abs(c) > SHOWN]
    terms.sort(key=lambda term: (term[1] != 1.0, term[0]))
    text = ""
    for k, c in terms:
        size = "" if abs(abs(c) - 1.0) < SHOWN else f"{abs(c):.6g} "
        text += f"{' - ' if c < 0.0 else ' + '}{size}{names[k]}"
    return text.removeprefix(" + ") if not text.startswith(" - ") else f"-{text.removeprefix(' - ')}"
