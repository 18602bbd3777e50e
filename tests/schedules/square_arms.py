"""Arms for the subtasks: serial, right angles between axes, diagonal tensors,
and otherwise without a zero in them.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import forearm as fa
from forearm import DH, Arm, Frame, Hand, Joint, Link
from forearm.arm.joint import Kind
from forearm.schedules.tasks import TaskGraph

Array = NDArray[np.float64]
State = tuple[Array, Array, Array]
RIGHT = (0.0, 0.5 * math.pi, -0.5 * math.pi)
# Both recursions do the same sums in another order: a few hundred roundings of 1e-16.
AGREEMENT = 1e-13


def built_in(name: str) -> Arm:
    """A built-in arm without its drives; what loading warns of is not the matter here."""
    return quietly(name).rigid()


def quietly(name: str) -> Arm:
    """A built-in arm with its drives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", fa.ForearmWarning)
        return fa.load(name)


def square_arm(seed: int, n: int = 5, kinds: str | None = None, style: str = "modified") -> Arm:
    """A random arm that the subtasks are for: DH of either convention, or frames with a joint axis
    along any of x, y and z.
    """
    rng = np.random.default_rng([seed, n])
    letters = kinds or "".join(rng.choice(["R", "R", "P"], n))
    links, joints = [Link(name="link0")], []
    for i, letter in enumerate(letters):
        semi = rng.uniform(0.05, 0.15, 3)
        mass = float(rng.uniform(1.0, 6.0))
        second = mass * semi**2 / 5.0
        links.append(
            Link(name=f"link{i + 1}", mass=mass, com=_signed(rng, 3), inertia=np.diag(second.sum() - second))
        )
        placement = _placement(rng, style, letter, float(rng.choice(RIGHT)))
        kind: Kind = "revolute" if letter == "R" else "prismatic"
        name, parent, child = f"joint{i + 1}", f"link{i}", f"link{i + 1}"
        joints.append(Joint(name=name, kind=kind, parent=parent, child=child, placement=placement))
    gravity = _signed(rng, 3) * 40.0
    return Arm(
        name=f"square{seed}",
        links=tuple(links),
        tree=tuple(joints),
        gravity=gravity,
        hand=Hand(link=f"link{n}"),
    )


def random_order(graph: TaskGraph, rng: np.random.Generator) -> list[int]:
    """The tasks in an order that keeps precedence, any of those that are ready being next."""
    waiting = [len(set(earlier)) for earlier in graph.before]
    ready = [k for k, count in enumerate(waiting) if not count]
    order: list[int] = []
    while ready:
        k = ready.pop(int(rng.integers(len(ready))))
        order.append(k)
        for later in set(graph.after[k]):
            waiting[later] -= 1
            if not waiting[later]:
                ready.append(later)
    return order


def state_of(arm: Arm, seed: int = 1) -> State:
    """A generic state, (n,) each, nothing in it near 0."""
    rng = np.random.default_rng([seed, arm.n])
    q, qd, qdd = rng.uniform(0.2, 2.5, (3, arm.n)) * rng.choice([-1.0, 1.0], (3, arm.n))
    return q, qd, qdd


def truth(arm: Arm, state: State) -> Array:
    """Torques by the recursion that is not cut into subtasks."""
    q, qd, qdd = state
    return fa.dynamics.inverse(arm, q, qd, qdd, formulation="modified-newton-euler")


def agree(found: Sequence[float] | Array, right: Array) -> bool:
    """max|difference| <= AGREEMENT max|right|."""
    return bool(np.abs(np.asarray(found) - right).max() <= AGREEMENT * np.abs(right).max())


def _placement(rng: np.random.Generator, style: str, letter: str, whole: float) -> DH | Frame:
    if style == "frames":
        turn = [float(v) for v in rng.choice(RIGHT, 3)]
        return Frame(
            xyz=_signed(rng, 3),
            rpy=np.array(turn),
            axis=np.eye(3)[int(rng.integers(3))] * float(rng.choice([-1.0, 1.0])),
        )
    theta = float(rng.uniform(-3.0, 3.0)) if letter == "R" else whole
    a, d = _signed(rng, 2)
    return DH(
        convention="modified" if style == "modified" else "standard",
        a=a,
        alpha=float(rng.choice(RIGHT)),
        d=d,
        theta=theta,
    )


def _signed(rng: np.random.Generator, size: int) -> Array:
    made: Array = rng.uniform(0.05, 0.4, size) * rng.choice([-1.0, 1.0], size)
    return made
