"""Parameters left open, by name: of links, of joints described by Denavit-Hartenberg tables, and gravity."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache

import numpy as np

from forearm.arm.arm import Arm
from forearm.drives.parameters import drive_values, motor_constant_values
from forearm.errors import Advice, NameNotFound, Sentence, shorten, suggest
from forearm.model import Model, model_of
from forearm.portable import matmul, product
from forearm.reduction.chain import Chain
from forearm.reduction.frames import chain_of
from forearm.reduction.geometry import GEOMETRY, chain_of_table, geometry_values, model_of_table
from forearm.reduction.inertial import (
    Chosen,
    Value,
    body_moments,
    gravity_of,
    inertial_values,
    link_values,
    links_on,
    reader,
    touched,
)
from forearm.reduction.plan import ReductionPlan
from forearm.reduction.search import best_plan
from forearm.spatial import inertia_from_pseudo
from forearm.symbols.scalars import objects


def parameter_values(arm: Arm) -> dict[str, float]:
    """Every parameter that can be left open, with its value:
    "link2.mass", "link2.com.x", "link2.inertia.xx", "gravity.z".

    For an arm that is a table of revolute joints also "joint2.a", "joint2.alpha", "joint2.d" and
    "joint2.theta". Links that cannot move are left out: no torque depends on them.
    """
    return inertial_values(arm) | geometry_values(arm)


def chosen_parameters(arm: Arm, asked: Iterable[str]) -> dict[str, float]:
    """The requested parameters, in the arm's order: full names, or a whole "link2", "link2.com", "joint2",
    "gravity", "all"; "joint2.friction", "joint2.motor" and "drives" of every joint.

    Drive parameters are included neither in "all" nor in "joint2", which is its geometry. Torque constants
    and resistances of motors, which affect no torque, are left open only if named in full.
    """
    body, drives = parameter_values(arm), drive_values(arm)
    electric = motor_constant_values(arm)
    known = body | drives | electric
    wanted = set()
    for name in asked:
        found = {"all": [*body], "drives": [*drives]}.get(name) or [
            k
            for k in known
            if k == name or (k not in electric and k.startswith(f"{name}.") and (k in body or "." in name))
        ]
        if not found:
            raise NameNotFound(
                Sentence(f"there is no {shorten(name)} in {arm.name!r}; ", _why(arm, name, known)),
                "parameters",
            )
        wanted |= set(found)
    return {name: value for name, value in known.items() if name in wanted}


def _added(word: str) -> Advice:
    return Advice(f"add {word} with arm.with_drives", f"write {word} into the arm file")


def _why(arm: Arm, name: str, known: dict[str, float]) -> str:
    owner, part = name.split(".")[0], name.partition(".")[2].split(".")[0]
    owners = sorted({k.split(".")[0] for k in known})
    joints = {joint.name for joint in arm.tree}
    if owner in {link.name for link in arm.links} - set(owners):
        return "that link cannot move, so nothing depends on it."
    if name == "drives":
        return Sentence("no joint has friction or a motor; ", _added("them"), ".")
    if owner in joints and part in ("friction", "motor") and not any(f"{owner}.{part}." in k for k in known):
        return Sentence(f"the joint has no {part}; ", _added("it"), ".")
    if owner in joints and part in ("", *GEOMETRY) and f"{owner}.a" not in known:
        return (
            "geometry can be left open only for a serial arm of revolute joints given as one "
            "Denavit-Hartenberg table."
        )
    forms = (
        "LINK.mass, LINK.com.x, LINK.inertia.xx, JOINT.alpha, a whole LINK or JOINT, gravity.z, or all; "
        "JOINT.friction.viscous, JOINT.motor.gear_ratio, JOINT.friction, JOINT.motor, or drives"
    )
    return f"a parameter is {forms}; {suggest(name, [*known, *owners])}"


def symbolic_chain(arm: Arm, chosen: Chosen, value: Value) -> Chain:
    """The arm's chain in its frames, with other values for the chosen parameters."""
    model, value = model_of(arm), reader(chosen, value)
    if _geometric(arm, chosen):
        return chain_of_table(model, arm, value)
    chain = chain_of(model)
    for i in sorted(touched(arm, chosen)):
        m, h, J = body_moments(chain.own[i], arm, i, value)
        chain = chain.changed(i, m=m, h=h, J=J)
    return replace(chain, g=matmul(chain.R_base.T, gravity_of(arm, value))) if _gravity(chosen) else chain


def symbolic_model(arm: Arm, chosen: Chosen, value: Value) -> Model:
    """The arm's model over any scalar, with other values for the chosen parameters.

    If several links form one body and some of them are chosen, their total mass must not be 0.
    """
    model, value = model_of(arm), reader(chosen, value)
    bodies = list(model.bodies)
    for i in touched(arm, chosen):
        links = links_on(arm, i)
        if len(links) == 1:  # nothing to merge, so no division by a mass that may be 0
            link, T = links[0]
            m, com, inertia = link_values(link, value)
            R = T[:3, :3]
            bodies[i] = replace(bodies[i], m=m, r=matmul(R, com) + T[:3, 3], I=product(R, inertia, R.T))
            continue
        m, h, J = body_moments(np.eye(4), arm, i, value)
        r = objects([x / m for x in h])
        bodies[i] = replace(bodies[i], m=m, r=r, I=inertia_from_pseudo(J - m * np.outer(r, r)))
    g = gravity_of(arm, value) if _gravity(chosen) else model.g
    model = replace(model, bodies=tuple(bodies), g=g)
    if _geometric(arm, chosen):
        model = model_of_table(model, arm, value)
    return model.map(lambda number: number)


def best_plan_for(arm: Arm, chosen: Chosen) -> ReductionPlan:
    """The plan for an arm with open parameters, found with generic numbers in their place."""
    moving = tuple(item for item in chosen.items() if item[0] in parameter_values(arm))
    return _best_plan_for(arm, moving) if moving else best_plan(chain_of(model_of(arm)))


@lru_cache(maxsize=64)
def _best_plan_for(arm: Arm, items: tuple[tuple[str, float], ...]) -> ReductionPlan:
    chosen = dict(items)
    generic = dict(zip(chosen, (0.5 + np.random.default_rng(1).random(len(chosen))).tolist(), strict=True))
    stand_in = symbolic_chain(arm, chosen, lambda name, _: generic[name])
    geometric = _geometric(arm, chosen)
    symbols = frozenset(range(len(stand_in.segments)) if geometric else touched(arm, chosen))
    return best_plan(stand_in, symbols, geometric)


def _gravity(chosen: Chosen) -> bool:
    return any(name.startswith("gravity.") for name in chosen)


def _geometric(arm: Arm, chosen: Chosen) -> bool:
    return bool(geometry_values(arm).keys() & chosen.keys())
