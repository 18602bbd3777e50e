"""The last stage: full parameters of physically consistent bodies, and the resulting arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from forearm.arm.arm import Arm
from forearm.arm.drive import Friction
from forearm.arm.joint import Joint
from forearm.errors import InputError
from forearm.identification.consistent import Consistent, consistent
from forearm.identification.drive_law import COULOMB, LOSS, ROTOR, STATIC, STRIBECK_SPEED, VISCOUS
from forearm.identification.effort_model import EffortModel, largest_loss
from forearm.identification.least_squares import FitSolution
from forearm.identification.new_arm import arm_with
from forearm.identification.prior import Prior, cad_prior
from forearm.spatial import Floats
from forearm.values import frozen

BRAKES_BACKWARDS = (COULOMB[1], STATIC[1])  # bounded above by 0
AT_LEAST_ZERO = (VISCOUS, COULOMB[0], STATIC[0], STRIBECK_SPEED, LOSS, ROTOR)
HIDDEN = 0.3  # relative prior deviation of the file's value for undetermined drive parameters
NOTHING = 1e-9  # N m s, N m, kg m^2: prior deviation of a drive parameter that neither data nor file give
CLEAR = 2.0  # standard deviations from 0: the minimum for adding friction or a motor that the file lacks


@frozen
class ConsistentFit:
    """Result of the last stage.

    Attributes:
        found: the solver's result over standard parameters, then the part of z after the base parameters,
            with signs such that all bounds are lower bounds.
        standard: ten parameters per body.
        z: all unknowns of the solution, including base parameters.
        covariance: of standard parameters and the drive parameters after them.
        names: of the drive parameters.
        absent: friction and rotors that the arm is left without, as beginnings of names.
    """

    found: Consistent
    standard: Floats
    z: Floats
    covariance: Floats
    names: tuple[str, ...]
    absent: frozenset[str]


def consistent_fit(
    arm: Arm, solution: FitSolution, prior: float | Prior, total_mass: tuple[float, float] | None
) -> ConsistentFit:
    """The most likely physically consistent bodies and drive parameters, given the data."""
    unknowns = solution.unknowns
    model = unknowns.model
    p, names = len(model.base), unknowns.names
    signs = np.array([bound_sign(model, name) for name in names[p:]])
    # maps unknowns in which static friction is what exceeds Coulomb friction to the unknowns of the fit
    above = np.eye(len(names) - p)
    for k, name in enumerate(names[p:]):
        if (figure := _figure(model, name)) in STATIC:
            same, other = (
                name.replace(figure, coulomb) for coulomb in (COULOMB[STATIC.index(figure)], COULOMB[0])
            )
            above[k, names.index(same if same in names else other) - p] = 1.0
    R = np.concatenate([solution.R[:, :p] @ model.base.matrix, (solution.R[:, p:] * signs) @ above], axis=1)
    own = prior if isinstance(prior, Prior) else cad_prior(arm, prior)
    count = len(model.base.standard)
    if own.mean.shape != (count,):
        raise InputError(
            f"expected {count} values, ten per body, got shape {own.mean.shape}.", "identify", "prior"
        )
    free = np.full(len(names) - p, np.inf)
    hidden = [k for k in range(p, len(names)) if k not in solution.kept]
    share = HIDDEN if isinstance(prior, Prior) else prior
    for k in hidden:  # parameters that the data do not determine come from the file
        free[k - p] = max(share * abs(solution.z[k]), NOTHING)
    absent = _absent(solution)
    is_absent = np.array([name.startswith(tuple(absent)) for name in names[p:]], dtype=bool)
    free[is_absent] = NOTHING
    guess = np.linalg.solve(above, np.where(is_absent, 0.0, solution.z[p:]) * signs)
    lower = np.array([lower_bound(model, name) for name in names[p:]])
    whole = Prior(
        np.concatenate([own.mean, np.maximum(guess, np.where(np.isfinite(lower), lower, guess))]),
        np.concatenate([own.std, free]),
    )
    bodies = count // 10
    found = consistent(R, solution.rhs, bodies, whole, lower, total_mass=total_mass)
    standard = found.x[:count]
    z = np.concatenate([model.base.matrix @ standard, (above @ found.x[count:]) * signs])
    turn = np.eye(len(found.x))
    turn[count:, count:] = signs[:, None] * above
    return ConsistentFit(found, standard, z, _turned(turn, found.covariance), names[p:], absent)


def _turned(A: Floats, C: Floats) -> Floats:
    """A C A^T; what depends on an undetermined unknown is undetermined."""
    unknown = np.isinf(np.diag(C))
    inner = A @ np.where(unknown[:, None] | unknown, 0.0, C) @ A.T
    lost = (A[:, unknown] != 0.0).any(axis=1)
    inner[lost, lost] = np.inf
    return inner


def _figure(model: EffortModel, name: str) -> str:
    """The drive parameter that a name stands for, if any."""
    k = model.names.index(name) - len(model.base) if name in model.names else -1
    return model.figures[k][1] if k >= 0 else ""


def bound_sign(model: EffortModel, name: str) -> float:
    """-1 for drive parameters bounded above by 0, so that their bounds become lower bounds."""
    return -1.0 if _figure(model, name) in BRAKES_BACKWARDS else 1.0


def lower_bound(model: EffortModel, name: str) -> float:
    """Lower bound of a drive parameter after `bound_sign`."""
    figure = _figure(model, name)
    is_bounded = figure in AT_LEAST_ZERO or figure in BRAKES_BACKWARDS or figure.endswith(".mu")
    return 0.0 if is_bounded else -np.inf


def _absent(solution: FitSolution) -> frozenset[str]:
    """Beginnings of the names of friction and rotors that neither the file has nor the data clearly show."""
    model, x, std = solution.unknowns.model, solution.x, solution.x_std
    is_clear = np.abs(x) > CLEAR * std
    made = set()
    for i, joint in enumerate(model.arm.joints):
        parts = ((joint.friction, "friction.", (VISCOUS, *COULOMB)), (joint.motor, ROTOR, (ROTOR,)))
        for given, name, figures in parts:
            places = [place for figure in figures if (place := model.place(i, figure)) is not None]
            if given is None and not is_clear[places].any():
                made.add(f"{joint.name}.{name}")
    return frozenset(made)


def arm_of(
    model: EffortModel, fit: ConsistentFit, x: Floats, motors: Mapping[str, float]
) -> tuple[Arm, tuple[str, ...]]:
    """The identified arm, and sentences on the changes.

    Args:
        model: of efforts.
        fit: the last stage.
        x: all unknowns of the model.
        motors: motor constants by name, if identified.
    """
    drives = dict(motors)
    plain, removed = _without_other_friction(model)
    for joint, law, place in zip(plain.joints, model.laws, model.places, strict=True):
        value = dict(zip(law.figures, x[place].tolist(), strict=True))
        if f"{joint.name}.friction." not in fit.absent:
            drives |= {f"{joint.name}.{f}": v for f, v in _friction(value).items()}
        if ROTOR in value and f"{joint.name}.{ROTOR}" not in fit.absent:
            drives[f"{joint.name}.{ROTOR}"] = max(value[ROTOR], 0.0)
    made, notes = arm_with(plain, fit.standard, drives)
    return _with_losses(model, made, x), (*removed, *notes)


def _without_other_friction(model: EffortModel) -> tuple[Arm, tuple[str, ...]]:
    """The arm without friction that a sensor would show but the model lacks, and sentences."""
    joints: dict[str, Joint] = {}
    notes: list[str] = []
    for joint, law in zip(model.arm.joints, model.laws, strict=True):
        old = joint.friction
        if old is None or (model.torque_side == "link" and old.side == "motor"):
            continue
        new: Friction | None = old
        if law.friction == "none":
            new = None
        elif law.friction != "stribeck":
            new = replace(old, static=None, stribeck_speed=None, bristle_stiffness=None, bristle_damping=0.0)
        if law.friction == "viscous" and new is not None:
            new = replace(new, coulomb=(0.0, 0.0))
        if new != old:
            joints[joint.name] = replace(joint, friction=new)
            notes.append(f"{joint.name}: friction of the arm file that this fit does not have is removed.")
    tree = tuple(joints.get(j.name, j) for j in model.arm.tree)
    return (model.arm.replace(tree=tree) if joints else model.arm), tuple(notes)


def _friction(value: dict[str, float]) -> dict[str, float]:
    """Drive parameters as an arm file allows them: friction dissipates, and static friction is at least
    Coulomb friction.
    """
    made = {VISCOUS: max(value[VISCOUS], 0.0)} if VISCOUS in value else {}
    if COULOMB[0] in value:
        made |= {COULOMB[0]: max(value[COULOMB[0]], 0.0), COULOMB[1]: min(value[COULOMB[1]], 0.0)}
    if STRIBECK_SPEED in value:
        made[STATIC[0]] = max(value[STATIC[0]], made[COULOMB[0]])
        made[STATIC[1]] = min(value[STATIC[1]], made[COULOMB[1]])
        made[STRIBECK_SPEED] = max(value[STRIBECK_SPEED], 1e-9)
    return made


def _with_losses(model: EffortModel, arm: Arm, x: Floats) -> Arm:
    """Bearings and gears with the identified losses."""
    joints: dict[str, Joint] = {}
    for i, (joint, law, place) in enumerate(zip(arm.joints, model.laws, model.places, strict=True)):
        value = dict(zip(law.figures, x[place].tolist(), strict=True))
        bearings = tuple(
            replace(b, mu=max(value.get(f"bearing{k + 1}.mu", b.mu), 0.0))
            for k, b in enumerate(joint.bearings)
        )
        gear = joint.transmission
        if law.transmission is not None and model.place(i, LOSS) is not None:
            loss = float(np.clip(value[LOSS], 0.0, largest_loss(law.transmission)))
            curve = tuple((at, 1.0 - loss * (1.0 - eta)) for at, eta in law.transmission.efficiency)
            gear = replace(law.transmission, efficiency=curve)
        joints[joint.name] = replace(joint, bearings=bearings, transmission=gear)
    return arm.replace(tree=tuple(joints.get(j.name, j) for j in arm.tree))
