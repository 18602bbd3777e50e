"""What the tests of reduction share: arms with special geometry, what a chain says,
and what the reference says instead.
"""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from typing import Any

import numpy as np
from arms import Array, random_arm, real_tensor
from codegen.truths import EXACT, assert_close
from dynamics.cases import State, random_state, rigid_arms, with_kinds

import forearm as fa
from forearm import DH, Arm, Frame, Hand, Joint, Link, Mimic, dynamics, kinematics
from forearm.arm.joint import Convention
from forearm.model import model_of
from forearm.reduction import composite, energy, hand, recursion
from forearm.reduction.chain import Chain
from forearm.reduction.frames import chain_of
from forearm.spatial import pose, rotation_rpy

QUARTER = math.pi / 2.0
Vector = tuple[float, float, float]
TILTED = (3.1, -2.2, -8.7)  # gravity that lies along nothing


def dynamics_of(chain: Chain, state: State) -> dict[str, Array]:
    """What a chain says about a state: torques, inertia matrix, both energies."""
    model = chain.model
    q, qd, qdd = (model.rates(x.tolist()) for x in state)
    made = {
        "tau": model.gathered(recursion.inverse(chain, q, qd, qdd)),
        "M": model.gathered_matrix(composite.inertia_matrix(chain, q)),
        "K": energy.kinetic(chain, q, qd),
        "P": energy.potential(chain, q),
    }
    return {name: np.array(value, dtype=float) for name, value in made.items()}


def hand_of(chain: Chain, state: State) -> dict[str, Array]:
    """Where a chain says the hand is, and its Jacobian."""
    q = chain.model.rates(state.q.tolist())
    J = [chain.model.gathered(list(row)) for row in hand.jacobian(chain, q)]
    return {"T": np.array(hand.hand_pose(chain, q), dtype=float), "J": np.array(J, dtype=float)}


def reference(arm: Arm, state: State) -> dict[str, Array]:
    """The same by the reference functions, which know nothing of chains."""
    q, qd, qdd = state
    return {
        "tau": dynamics.inverse(arm, q, qd, qdd),
        "M": dynamics.inertia_matrix(arm, q),
        "K": dynamics.kinetic_energy(arm, q, qd),
        "P": dynamics.potential_energy(arm, q),
        "T": kinematics.forward(arm, q),
        "J": kinematics.jacobian(arm, q),
    }


@cache
def known(arm: Arm, seed: int) -> dict[str, Array]:
    """The reference at a random state, for all chains of an arm."""
    return reference(arm, random_state(arm, seed))


def assert_same_dynamics(
    chain: Chain, arm: Arm, seeds: tuple[int, ...] = (1, 2), tolerance: float = EXACT
) -> None:
    """Torques, inertia matrix and energies of the chain are those of the arm, at random states."""
    for seed in seeds:
        truth = known(arm, seed)
        for name, value in dynamics_of(chain, random_state(arm, seed)).items():
            assert_close(value, truth[name], tolerance)


def dh_arm(
    rows: list[tuple[float, float, float, float]],
    kinds: str | None = None,
    convention: Convention = "modified",
    seed: int = 0,
) -> Arm:
    """An arm of these rows (a, alpha, d, theta) with generic bodies under tilted gravity."""
    rng, n = np.random.default_rng([seed, 77]), len(rows)
    mass = rng.uniform(1.0, 4.0, n)
    com = rng.uniform(0.03, 0.2, (n, 3)) * rng.choice([-1.0, 1.0], (n, 3))
    inertia = [real_tensor(rng, m, rng.uniform(0.05, 0.2, 3)) for m in mass]
    tool = pose(rotation_rpy((0.4, -0.7, 1.1)), (0.1, -0.15, 0.2))
    return fa.from_dh(
        "rows",
        rows,
        convention=convention,
        joints=kinds,
        mass=mass,
        com=com,
        inertia=inertia,
        gravity=TILTED,
        tool=tool,
    )


def frame(xyz: Vector, rpy: Vector = (0.0, 0.0, 0.0), axis: Vector = (0.0, 0.0, 1.0)) -> Frame:
    return Frame(xyz=np.array(xyz), rpy=np.array(rpy), axis=np.array(axis))


def framed_arm(placements: list[Frame], seed: int = 0, followers: dict[int, Mimic] | None = None) -> Arm:
    """A chain of turning joints at these places, as a URDF has them, with generic bodies;
    some joints may follow others.
    """
    rng = np.random.default_rng([seed, 78])
    links = []
    for i in range(len(placements) + 1):
        mass = float(rng.uniform(1.0, 4.0))
        tensor = real_tensor(rng, mass, rng.uniform(0.05, 0.2, 3))
        links.append(Link(name=f"link{i}", mass=mass, com=rng.uniform(0.03, 0.2, 3), inertia=tensor))
    joints = tuple(
        Joint(
            name=f"joint{i + 1}",
            kind="revolute",
            parent=f"link{i}",
            child=f"link{i + 1}",
            placement=placement,
            mimic=(followers or {}).get(i),
        )
        for i, placement in enumerate(placements)
    )
    return Arm(
        name="placed",
        links=tuple(links),
        tree=joints,
        gravity=np.array(TILTED),
        hand=Hand(link=links[-1].name),
    )


@cache
def special_geometry() -> dict[str, Arm]:
    """Axes that are parallel, opposite, crossing, in one line; right angles;
    sliding joints first, last, between and alone.
    """
    made = {
        "parallel": dh_arm(
            [(0.1, 0.4, 0.2, 0.3), (0.4, 0.0, 0.1, 0.2), (0.3, 0.0, -0.2, 0.5), (0.2, 1.1, 0.1, -0.4)]
        ),
        "opposite": dh_arm(
            [(0.1, 0.4, 0.2, 0.3), (0.4, math.pi, 0.1, 0.2), (0.3, -math.pi, 0.2, 0.5), (0.2, 0.7, 0.1, 1.4)]
        ),
        "all parallel": dh_arm([(0.0, 0.6, 0.3, 0.1), (0.4, 0.0, 0.1, 0.2), (0.3, 0.0, 0.0, 0.5)]),
        "crossing": dh_arm(
            [(0.0, 0.4, 0.2, 0.3), (0.0, 0.9, 0.1, 0.2), (0.0, -1.2, 0.3, 0.5), (0.0, 0.7, 0.1, 0.4)]
        ),
        "in one point": dh_arm([(0.0, 0.4, 0.2, 0.3), (0.0, QUARTER, 0.0, 0.2), (0.0, -QUARTER, 0.0, 0.5)]),
        "in one line": dh_arm(
            [(0.1, 0.4, 0.2, 0.3), (0.0, 0.0, 0.3, 0.2), (0.0, 0.0, -0.1, 0.5), (0.3, 0.7, 0.1, 0.4)]
        ),
        "in one line, opposite": dh_arm(
            [(0.1, 0.4, 0.2, 0.3), (0.0, math.pi, 0.3, 0.2), (0.0, math.pi, 0.1, 0.5)]
        ),
        "first two vertical": dh_arm(
            [(0.0, 0.0, 0.4, 0.0), (0.3, 0.0, 0.1, 0.2), (0.2, QUARTER, 0.0, 0.5)]
        ).replace(gravity=(0.0, 0.0, -9.81)),
        "right angles": dh_arm(
            [
                (0.0, 0.0, 0.4, 0.0),
                (0.1, -QUARTER, 0.1, QUARTER),
                (0.4, 0.0, 0.0, -QUARTER),
                (0.1, QUARTER, 0.3, math.pi),
            ]
        ),
        "right angles, standard": dh_arm(
            [
                (0.0, QUARTER, 0.4, 0.0),
                (0.4, 0.0, 0.1, QUARTER),
                (0.1, -QUARTER, 0.0, 0.0),
                (0.0, 0.0, 0.1, 0.0),
            ],
            convention="standard",
        ),
        "as URDF": framed_arm(
            [
                frame(xyz=(0.0, 0.0, 0.3), rpy=(0.0, 0.0, 0.2), axis=(0.0, 0.0, 1.0)),
                frame(xyz=(0.1, 0.0, 0.2), rpy=(QUARTER, 0.0, 0.0), axis=(0.0, 1.0, 0.0)),
                frame(xyz=(0.4, 0.05, 0.0), rpy=(0.0, -QUARTER, 0.3), axis=(1.0, 0.0, 0.0)),
                frame(xyz=(0.0, -0.1, 0.3), rpy=(0.3, 0.4, 0.5), axis=(0.0, 0.0, -1.0)),
            ]
        ),
        "slides along its own axis": dh_arm(
            [(0.1, 0.4, 0.2, 0.3), (0.0, 0.0, 0.1, 0.2), (0.2, 0.9, 0.1, 0.3)], "RPR"
        ),
        "slides across": dh_arm(
            [(0.1, 0.4, 0.2, 0.3), (0.0, QUARTER, 0.1, 0.2), (0.2, -QUARTER, 0.1, 0.3)], "RPR"
        ),
        "cylinder": dh_arm([(0.0, 0.0, 0.2, 0.3), (0.0, 0.0, 0.1, 0.2)], "RP").replace(
            gravity=(0.0, 0.0, -9.81)
        ),
        "gantry and wrist": dh_arm(
            [
                (0.0, 0.0, 0.1, 0.2),
                (0.0, QUARTER, 0.1, QUARTER),
                (0.0, QUARTER, 0.0, QUARTER),
                (0.0, QUARTER, 0.1, 0.0),
                (0.0, -QUARTER, 0.0, 0.0),
            ],
            "PPPRR",
        ),
    }
    sliding = ("R", "P", "PR", "RP", "PPP", "PRR", "RRP", "PRP", "RPPR", "PPRPR")
    made |= {
        kinds: with_kinds(random_arm(80 + i, len(kinds), "frames"), kinds) for i, kinds in enumerate(sliding)
    }
    chain = random_arm(42, 4, "standard", prismatic=False, fixed=False).rigid()
    middle = chain.links[2]
    tool = pose(rotation_rpy((0.3, -0.5, 0.9)), (0.1, -0.2, 0.3))
    return made | {
        "hand in the middle": chain.replace(hand=Hand(link=middle.name, pose=tool)),
        "hand on the base": chain.replace(hand=Hand(link=chain.base_link, pose=tool)),
        "a link without mass": chain.with_link(Link(name=middle.name)),
        "a point mass": chain.with_link(Link(name=middle.name, mass=middle.mass, com=middle.com)),
        "inertia without mass": chain.with_link(Link(name=middle.name, inertia=middle.inertia)),
    }


GRAVITIES = {
    "none": (0.0, 0.0, 0.0),
    "down": (0.0, 0.0, -9.81),
    "sideways": (0.0, 9.81, 0.0),
    "tilted": TILTED,
    "nearly down": (1e-9, 0.0, -9.81),
}


def parallelogram(axis: Vector) -> Arm:
    """Three parallel axes of which the second undoes the first: link 2 only moves, it never turns."""
    steps = [
        ((0.1, 0.2, 0.3), (0.3, 0.2, 0.4)),
        ((0.3, 0.1, 0.2), (0.0, 0.0, 0.0)),
        ((0.3, 0.1, 0.2), (0.1, 0.2, 0.3)),
    ]
    back = Mimic(joint="joint1", multiplier=-1.0, offset=0.2)
    return framed_arm([frame(xyz=xyz, rpy=rpy, axis=axis) for xyz, rpy in steps], followers={1: back})


def nearly_parallel(angle: float, skewed: bool) -> Arm:
    """Two pairs of axes that are this far from parallel; skewed ones have their common normals far away."""
    if not skewed:
        return dh_arm(
            [(0.1, 0.4, 0.2, 0.3), (0.3, angle, 0.25, 0.5), (0.2, -1.1, 0.15, 0.7), (0.4, -angle, 0.15, 0.2)]
        )
    turned = (angle, -0.4 * angle, 0.3)
    places = [frame(xyz=(0.1, 0.2, 0.3), rpy=(0.4, 0.2, 0.1))]
    places += [frame(xyz=xyz, rpy=turned) for xyz in ((0.3, 0.1, 0.2), (0.25, -0.2, 0.1))]
    return framed_arm([*places, frame(xyz=(0.2, 0.1, -0.1), rpy=(1.1, -0.3, 0.6))])


def with_gravity(arm: Arm, gravity: Vector) -> Arm:
    return arm.replace(gravity=np.array(gravity))


def changed_link(arm: Arm, name: str, **changes: Any) -> Arm:
    """The arm with something else in one link."""
    return arm.with_link(dataclasses.replace(arm.link(name), **changes))


def scaled(arm: Arm, length: float, mass: float) -> Arm:
    """The arm with all lengths and masses so many times as large."""

    def placed(joint: Joint) -> Joint:
        p = joint.placement
        if isinstance(p, DH):
            p = dataclasses.replace(p, a=length * p.a, d=length * p.d)
        else:
            p = dataclasses.replace(p, xyz=length * p.xyz)
        return dataclasses.replace(joint, placement=p)

    links = [
        Link(name=k.name, mass=mass * k.mass, com=length * k.com, inertia=mass * length**2 * k.inertia)
        for k in arm.links
    ]
    return arm.replace(links=tuple(links), tree=tuple(placed(joint) for joint in arm.tree))


def all_arms(n: int, seed: int = 5) -> dict[str, Arm]:
    """Rigid arms of every kind: both conventions and frames; chains, trees, followers."""
    return {f"n{n}, {kind}": arm for kind, arm in rigid_arms(n, seed).items()}


def chain_for(arm: Arm) -> Chain:
    """The arm's chain, nothing regrouped."""
    return chain_of(model_of(arm))
