"""The formulas of the subtasks, over any scalar: the modified Newton-Euler recursion in pieces.
Dhanaraj 4.3.1, Table 4.1.

Quantities have the document's letters and the number of their link: ("w.x", 2) is a component of omega of
link 2. At a prismatic joint whose rotation renames axes, lambda and k are those of the link before in other
axes, and 2 qd (w.y, -w.x) with qdd is added to the linear acceleration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from forearm.model import Array, Scalar
from forearm.portable import total
from forearm.schedules.links import JointState, SubtaskChain, SubtaskLink
from forearm.values import frozen

Key = tuple[str, int]  # a quantity and its link
Values = Mapping[Key, Scalar]
Made = dict[str, Scalar]
Three = tuple[Scalar, Scalar, Scalar]
AXES = ("x", "y", "z")


@frozen
class ChainState:
    """A chain and its joints at a state: the input of every subtask."""

    chain: SubtaskChain
    joints: tuple[JointState, ...]

    def at(self, i: int) -> tuple[SubtaskLink, JointState]:
        """Link i and its joint, counted from 1."""
        return self.chain.links[i - 1], self.joints[i - 1]


Compute = Callable[[ChainState, Values, int], Made]


def vector(values: Values, name: str, i: int) -> Three:
    """The three components of a quantity of link i."""
    x, y, z = (values[f"{name}.{axis}", i] for axis in AXES)
    return x, y, z


def start(chain: SubtaskChain) -> dict[Key, Scalar]:
    """Initial values: the base at rest, accelerated against gravity, and no load on the last link."""
    names = ["w", "alpha", "k", "f", "n"]
    made = {(f"{name}.{axis}", i): 0.0 for name in names for axis in AXES for i in (0, len(chain) + 1)}
    made |= {(f"lambda.{r}{c}", 0): 0.0 for r in AXES for c in AXES}
    return made | {(f"a.{axis}", 0): -g for axis, g in zip(AXES, chain.g.tolist(), strict=True)}


def along_axes(name: str, values: Iterable[Scalar]) -> Made:
    """The three components of a quantity by name."""
    return {f"{name}.{axis}": value for axis, value in zip(AXES, values, strict=True)}


def torque(chain: SubtaskChain, values: Values, i: int) -> Scalar:
    """Step 9: the moment about the joint of link i, or the force along it."""
    return values["n.z" if chain.links[i - 1].revolute else "f.z", i]


def renamed(axes: Array, v: Three) -> Three:
    """axes . v for a signed permutation: no operation."""
    x, y, z = (
        next(v[k] if row[k] > 0.0 else -v[k] for k in range(3) if row[k] != 0.0) for row in axes.tolist()
    )
    return x, y, z


def down(
    component: int, v: str, turning: str, sliding: str, along: str | None = None, own: bool = False
) -> Compute:
    """One component of R^T v, stored under the name for a revolute or a prismatic joint;
    v belongs to the link before or, with `own`, to the link itself.

    The first component also stores the one along the joint, which costs nothing,
    as `along` at a revolute joint.
    """

    def compute(motion: ChainState, values: Values, i: int) -> Made:
        link, joint = motion.at(i)
        x, y, z = _before_turn(link, values, v, i, own)
        name = turning if link.revolute else sliding
        if component == 0:
            return {
                f"{name}.x": joint.c * x + joint.s * y,
                f"{along if along and link.revolute else name}.z": z,
            }
        return {f"{name}.y": joint.c * y - joint.s * x}

    return compute


def _before_turn(link: SubtaskLink, values: Values, v: str, i: int, own: bool) -> Three:
    """axes^T v: renamed, or computed by a further subtask."""
    if link.is_square:
        return renamed(link.axes.T, vector(values, v, i if own else i - 1))
    return vector(values, f"{v}*", i)


def passed(component: int, v: str, made: str) -> Compute:
    """One component of turn_z v, v of the next link; the first also stores the one along its joint."""

    def compute(motion: ChainState, values: Values, i: int) -> Made:
        x, y, z = vector(values, v, i + 1)
        if i == len(motion.chain):
            return {f"{made}.x": x, f"{made}.z": z} if component == 0 else {f"{made}.y": y}
        _, joint = motion.at(i + 1)
        if component == 0:
            return {f"{made}.x": joint.c * x - joint.s * y, f"{made}.z": z}
        return {f"{made}.y": joint.s * x + joint.c * y}

    return compute


def carried(motion: ChainState, values: Values, name: str, i: int) -> Three:
    """What the next link passes on, in the frame of link i; the rotation about its joint is done already."""
    if i == len(motion.chain):
        return vector(values, name, i)
    link, _ = motion.at(i + 1)
    return renamed(link.axes, vector(values, name, i)) if link.is_square else vector(values, f"{name}*", i)


def reach(motion: ChainState, i: int) -> Three:
    """p of link i: from its origin to that of the next link."""
    return (0.0, 0.0, 0.0) if i == len(motion.chain) else motion.at(i + 1)[1].p


def rate_and_coriolis(motion: ChainState, values: Values, i: int) -> Made:
    """T3: c = (rate w.y, -rate w.x, qdd) with rate qd, or 2 qd at a prismatic joint;
    and w.z + qd at a revolute one.
    """
    link, joint = motion.at(i)
    x, y = values["w.x", i], values["w.y", i]
    rate = joint.qd if link.revolute else 2.0 * joint.qd
    turning = {"w.z": values["w'.z", i] + joint.qd} if link.revolute else {}
    return {"c.x": rate * y, "c.y": -(rate * x), "c.z": joint.qdd, **turning}


def with_coriolis(motion: ChainState, values: Values, i: int) -> Made:
    """T6: c added to alpha', or to a' at a prismatic joint."""
    name = "alpha" if motion.at(i)[0].revolute else "a"
    pairs = zip(vector(values, f"{name}'", i), vector(values, "c", i), strict=True)
    return along_axes(name, (x + c for x, c in pairs))


def mixed_products(motion: ChainState, values: Values, i: int) -> Made:
    """T7: k = (w.y w.z, w.z w.x, w.x w.y)."""
    link, _ = motion.at(i)
    if link.is_renamed:  # products of the same rates under other names
        from_axis, sign = _sources(link)
        old = vector(values, "k", i - 1)
        pairs = ((1, 2), (2, 0), (0, 1))
        products = (_signed(sign[b] * sign[c], old[3 - from_axis[b] - from_axis[c]]) for b, c in pairs)
        return along_axes("k", products)
    x, y, z = vector(values, "w", i)
    return along_axes("k", (y * z, z * x, x * y))


def squares(motion: ChainState, values: Values, i: int) -> Made:
    """T8: the squares of w."""
    if motion.at(i)[0].is_renamed:
        return {}  # T9 renames those of the link before
    return along_axes("sw", (x * x for x in vector(values, "w", i)))


def _elements(*made: str) -> Callable[[Callable[[Values, int], Made]], Compute]:
    """Elements of lambda by a formula, or those of the link before where the joint renames axes."""

    def of(formula: Callable[[Values, int], Made]) -> Compute:
        def compute(motion: ChainState, values: Values, i: int) -> Made:
            link, _ = motion.at(i)
            if not link.is_renamed:
                return formula(values, i)
            from_axis, sign = _sources(link)
            places = [(AXES.index(rc[0]), AXES.index(rc[1])) for rc in made]
            elements = [values[f"lambda.{AXES[from_axis[r]]}{AXES[from_axis[c]]}", i - 1] for r, c in places]
            signs = [sign[r] * sign[c] for r, c in places]
            return {f"lambda.{rc}": _signed(s, v) for rc, s, v in zip(made, signs, elements, strict=True)}

        return compute

    return of


@_elements("xx", "yy", "zz")
def lambda_diagonal(values: Values, i: int) -> Made:
    """T9: the diagonal of lambda."""
    x, y, z = vector(values, "sw", i)
    return {"lambda.xx": -(y + z), "lambda.yy": -(x + z), "lambda.zz": -(x + y)}


@_elements("yx", "xz", "zy")
def lambda_sums(values: Values, i: int) -> Made:
    """T10: lambda 21, 13 and 32."""
    (kx, ky, kz), (x, y, z) = vector(values, "k", i), vector(values, "alpha", i)
    return {"lambda.yx": kz + z, "lambda.xz": ky + y, "lambda.zy": kx + x}


@_elements("xy", "zx", "yz")
def lambda_differences(values: Values, i: int) -> Made:
    """T11: lambda 12, 31 and 23."""
    (kx, ky, kz), (x, y, z) = vector(values, "k", i), vector(values, "alpha", i)
    return {"lambda.xy": kz - z, "lambda.zx": ky - y, "lambda.yz": kx - x}


def products(row: str, made: str, before: bool) -> Compute:
    """The three products of a row of lambda p of the link before, or of lambda s."""

    def compute(motion: ChainState, values: Values, i: int) -> Made:
        lever = motion.at(i)[1].p if before else tuple(motion.at(i)[0].s.tolist())
        k = i - 1 if before else i
        elements = (values[f"lambda.{row}{axis}", k] for axis in AXES)
        pairs = zip(AXES, elements, lever, strict=True)
        return {f"{made}.{row}{axis}": element * p for axis, element, p in pairs}

    return compute


def summed(row: str, products: str, made: str, before: bool) -> Compute:
    """An acceleration and the three products of a row."""

    def compute(_: ChainState, values: Values, i: int) -> Made:
        whole = total(values[f"{products}.{row}{axis}", i] for axis in AXES)
        return {f"{made}.{row}": values[f"a.{row}", i - 1 if before else i] + whole}

    return compute


def inertial_force(motion: ChainState, values: Values, i: int) -> Made:
    """T26: F = m ac."""
    m = motion.at(i)[0].m
    return along_axes("F", (m * ac for ac in vector(values, "ac", i)))


def inertial_moment(k: int) -> Compute:
    """A component of I alpha + w x I w, with the constant differences D of the moments, products of inertia
    left to further subtasks. Dhanaraj (4.11)-(4.13).
    """

    def compute(motion: ChainState, values: Values, i: int) -> Made:
        link, _ = motion.at(i)
        moments, name = link.I.tolist(), "N" if link.is_diagonal else "N'"
        D, axis = moments[(k + 2) % 3] - moments[(k + 1) % 3], AXES[k]
        return {f"{name}.{axis}": moments[k] * values[f"alpha.{axis}", i] + D * values[f"k.{axis}", i]}

    return compute


def joint_force(motion: ChainState, values: Values, i: int) -> Made:
    """T32: f = F + f'."""
    pairs = zip(vector(values, "F", i), carried(motion, values, "f'", i), strict=True)
    return along_axes("f", (own + passed for own, passed in pairs))


def lever_moment(k: int, force: str, made: str) -> Compute:
    """A component of p x f', the force that is passed on, or of s x F."""

    def compute(motion: ChainState, values: Values, i: int) -> Made:
        a, b = (k + 1) % 3, (k + 2) % 3
        if force == "F":
            lever, f = motion.at(i)[0].s.tolist(), vector(values, "F", i)
        else:
            lever, f = reach(motion, i), carried(motion, values, force, i)
        return {f"{made}.{AXES[k]}": lever[a] * f[b] - lever[b] * f[a]}

    return compute


def joint_moment(k: int) -> Compute:
    """A component of N + n' + n'' + n'''."""

    def compute(motion: ChainState, values: Values, i: int) -> Made:
        axis = AXES[k]
        own = values[f"N.{axis}", i] + values[f"n'.{axis}", i] + values[f"n''.{axis}", i]
        return {f"n.{axis}": own + carried(motion, values, "n'''", i)[k]}

    return compute


def _sources(link: SubtaskLink) -> tuple[list[int], list[float]]:
    """For each axis of the link the parallel axis of the link before, and the sign."""
    columns = [next(k for k in range(3) if link.axes[k, c] != 0.0) for c in range(3)]
    return columns, [float(link.axes[k, c]) for c, k in enumerate(columns)]


def _signed(sign: float, value: Scalar) -> Scalar:
    return value if sign > 0.0 else -value
