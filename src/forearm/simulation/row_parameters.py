"""Arm parameters that differ from row to row, as open parameters of one kernel: named values, and bodies
added to links, a payload in the hand and counterweights, which are merged into the links that carry them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from forearm.arm.arm import Arm
from forearm.arm.change import merged
from forearm.arm.link import Link
from forearm.errors import InputError, NameNotFound, suggest
from forearm.reduction.symbolic import chosen_parameters
from forearm.simulation.row_checks import as_array, check_rows, check_tensors
from forearm.spatial import TENSOR

Floats = NDArray[np.float64]
Bodies = tuple[Floats, Floats, Floats]  # masses (B,), centres (B, 3) and inertias (B, 3, 3) about them
BODY = ("mass", *(f"com.{axis}" for axis in "xyz"), *(f"inertia.{key}" for key in TENSOR))
PAYLOAD = tuple(f"payload.{key}" for key in BODY)
SAME = 1e-12  # rounding error of numbers near 1


@lru_cache(maxsize=32)
def added_bodies(arm: Arm) -> dict[str, tuple[str, Floats]]:
    """Bodies that can be added to an arm: "payload", and "counterweight.LINK" for each moving link; with the
    link that carries it and its frame in that link's. Links and joints with such names keep them.
    """
    named = {*(link.name for link in arm.links), *(joint.name for joint in arm.tree)}
    made = {} if "payload" in named else {"payload": (arm.hand.link, arm.hand.pose)}
    if "counterweight" not in named:
        moving = [link.name for link in arm.links if arm.moving.frames[link.name][0] >= 0]
        made |= {f"counterweight.{name}": (name, np.eye(4)) for name in moving}
    return made


def added_body_names(arm: Arm) -> tuple[str, ...]:
    """Parameter names of all bodies that can be added to an arm."""
    return tuple(f"{body}.{key}" for body in added_bodies(arm) for key in BODY)


def is_added_body(arm: Arm, name: str) -> bool:
    """Whether a name refers to a payload or a counterweight."""
    return name.partition(".")[0] in {body.partition(".")[0] for body in added_bodies(arm)}


def open_names(arm: Arm, names: Iterable[str]) -> tuple[str, ...]:
    """The arm parameters that must be left open for these to differ, in the arm's order."""
    given = tuple(names)
    own = [name for name in given if not is_added_body(arm, name)]
    chosen = chosen_parameters(arm, own) if own else {}
    for name in own:
        if name not in chosen:
            member = next(x for x in chosen if x.startswith(name) or name in ("all", "drives"))
            raise InputError(
                f"{name!r} is a group of parameters; name one of them, such as {member!r}.", "parameters"
            )
    for link in _loads(arm, given):
        own += _changed(arm, link, frozenset(given))
    return tuple(chosen_parameters(arm, own)) if own else ()


def row_values(arm: Arm, given: Mapping[str, ArrayLike], count: int) -> dict[str, ArrayLike]:
    """Values of open parameters by name, a number or (count,), of physically consistent arms.

    Args:
        arm: the arm.
        given: values by name, each a number or (count,).
        count: number of rows.
    """
    return opened_values(arm, checked_rows(arm, given, count), count)


def opened_values(arm: Arm, given: Mapping[str, Floats], count: int) -> dict[str, ArrayLike]:
    """Values of open parameters by name, with added bodies merged into their links.

    Args:
        arm: the arm.
        given: values by name, each a number or (count,), as `checked_rows` returns them.
        count: number of rows.
    """
    values: dict[str, ArrayLike] = {name: x for name, x in given.items() if not is_added_body(arm, name)}
    for link, bodies in _loads(arm, given).items():
        made = _columns(_carried(arm, link, bodies, given, count))
        values |= {f"{link}.{key}": made[key] for key in BODY}
    names = open_names(arm, given)
    return {name: x for name, x in values.items() if name in names}


def checked_rows(arm: Arm, given: Mapping[str, ArrayLike], count: int) -> dict[str, Floats]:
    """Values by name, each a number or (count,), of physically consistent arms; InputError names an invalid
    row.

    Args:
        arm: the arm.
        given: values by name.
        count: number of rows.
    """
    open_names(arm, given)
    values = {name: as_array(value, f"parameters, {name}") for name, value in given.items()}
    for name, array in values.items():
        if array.shape not in ((), (count,)):
            raise InputError(
                f"expected a number, or one for each of the {count} rows, got shape {array.shape}.",
                "parameters",
                name,
            )
    check_rows(arm, values)
    own = arm.named_values
    for link in arm.links:
        check_tensors(link.name, values, own)
    for bodies in _loads(arm, values).values():
        for body in bodies:
            check_tensors(body, values, {}, needs_mass=True)
    return values


def row_arm(arm: Arm, values: Mapping[str, float]) -> Arm:
    """The arm of a single row."""
    numbers = {name: float(x) for name, x in checked_rows(arm, values, 1).items()}
    changed = arm.with_values({name: x for name, x in numbers.items() if not is_added_body(arm, name)})
    for link, bodies in _loads(arm, numbers).items():
        for body in bodies:
            m, com, inertia = (x[0] for x in _body(body, numbers, 1))
            pose = added_bodies(arm)[body][1]
            added = Link(name=body, mass=float(m), com=com, inertia=inertia)
            if not added.massless:
                changed = changed.with_link(merged(changed.link(link), added, pose))
    return changed


def _loads(arm: Arm, names: Iterable[str]) -> dict[str, list[str]]:
    """The links that carry added bodies, with the bodies that these names refer to."""
    known = added_bodies(arm)
    bodies: dict[str, set[str]] = {}
    for name in names:
        if not is_added_body(arm, name):
            continue
        body = next((x for x in known if name.startswith(f"{x}.") and name[len(x) + 1 :] in BODY), None)
        if body is None:
            raise NameNotFound(
                f"no payload or counterweight of {arm.name!r} has a parameter {name!r}; "
                f"{suggest(name, added_body_names(arm))}",
                "parameters",
            )
        bodies.setdefault(body, set()).add(name)
    loads: dict[str, list[str]] = {}
    for body in filter(bodies.get, known):
        if f"{body}.mass" not in bodies[body]:
            raise InputError(
                f"a body without mass changes nothing; give {body}.mass too.", "parameters", min(bodies[body])
            )
        loads.setdefault(known[body][0], []).append(body)
    return loads


@lru_cache(maxsize=256)
def _changed(arm: Arm, link: str, names: frozenset[str]) -> tuple[str, ...]:
    """The parameters of a link that these names can change, found with generic values: the others need not be
    open.
    """
    draw = np.random.default_rng(1)
    trial = {name: draw.uniform(0.5, 1.5, 1) for name in sorted(names)}
    made = _columns(_carried(arm, link, _loads(arm, names)[link], trial, 1))
    own = {key: arm.named_values[f"{link}.{key}"] for key in BODY}
    return tuple(f"{link}.{key}" for key in BODY if abs(float(made[key][0]) - own[key]) > SAME)


def _carried(
    arm: Arm, link: str, bodies: Iterable[str], values: Mapping[str, ArrayLike], count: int
) -> Bodies:
    """A link merged with the bodies that it carries, two at a time by the parallel-axis theorem."""
    m1, c1, I1 = _body(link, {**arm.named_values, **values}, count)
    for body in bodies:
        m2, com, inertia = _body(body, values, count)
        R, p = (T := added_bodies(arm)[body][1])[:3, :3], T[:3, 3]
        away = _turned(R, com[:, :, None])[:, :, 0] + p - c1
        m = m1 + m2
        share = np.divide(m2, m, out=np.zeros(count), where=m > 0.0)
        across = (away * away).sum(axis=-1)[:, None, None] * np.eye(3) - away[:, :, None] * away[:, None, :]
        turned = _turned(R, _turned(R, inertia).transpose(0, 2, 1))
        I1 = I1 + turned + (m1 * share)[:, None, None] * across
        m1, c1 = m, c1 + share[:, None] * away
    return m1, c1, I1


def _turned(R: Floats, matrices: Floats) -> Floats:
    """R times each of (B, 3, k), with a summation order independent of B."""
    a, b, c = matrices[:, 0, None, :], matrices[:, 1, None, :], matrices[:, 2, None, :]
    return R[:, 0, None] * a + R[:, 1, None] * b + R[:, 2, None] * c


def _body(prefix: str, known: Mapping[str, ArrayLike], count: int) -> Bodies:
    """A body per row from its named parameters; missing ones are 0."""
    rows = [np.broadcast_to(np.asarray(known.get(f"{prefix}.{key}", 0.0)), (count,)) for key in BODY]
    inertia = np.empty((count, 3, 3))
    for row, (i, k) in zip(rows[4:], TENSOR.values(), strict=True):
        inertia[:, i, k] = inertia[:, k, i] = row
    return rows[0], np.stack(rows[1:4], axis=-1), inertia


def _columns(bodies: Bodies) -> dict[str, Floats]:
    """The inverse: named parameters of the merged bodies."""
    m, c, inertia = bodies
    columns = [m, *c.T, *(inertia[:, i, k] for i, k in TENSOR.values())]
    return {key: np.ascontiguousarray(x) for key, x in zip(BODY, columns, strict=True)}
