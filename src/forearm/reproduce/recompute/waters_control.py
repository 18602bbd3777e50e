"""Waters IV on forces without solving the equations each time: bits, points, tables, shares, times."""

from __future__ import annotations

import math

import numpy as np

from forearm.dynamics import inverse
from forearm.files.builtin import load_builtin
from forearm.reproduce.recompute import Figures

JOINTS, VALUES = 6, 5  # joints, and values per parameter in his tables
AS_3X3, FIXED_POINT = 2.0, 4.0  # speed-ups that he states: 3x3 for 4x4 matrices, fixed point on a PDP-11/45
WORDS = {"fewest": 2**18, "most": 2**17}  # words of memory: PDP-10, PDP-11/45


def bits() -> Figures:
    """Bits and resolution of a joint's sensors for 0.01 rad/s^2 at 1 ms."""
    from forearm.control.bits import bits_needed

    needed = bits_needed()
    return {
        "acceleration, bits": needed.acceleration,
        "velocity, rad/s": needed.velocity_step,
        "velocity, bits": needed.velocity,
        "position, rad": needed.position_step,
        "position, bits": needed.position,
    }


def extrapolation() -> Figures:
    """Parameters, pairs and points of a first-order extrapolation, and the linear systems for its slopes."""
    from forearm.control.extrapolation import points_for_pairs, points_for_slopes

    parameters = 3 * JOINTS
    points = points_for_slopes(parameters)
    return {
        "parameters": parameters,
        "pairs of values": points - 1,
        "points that make 18 pairs": points_for_pairs(parameters),
        "points that determine the slopes": points,
        "matrices to invert": 1.0 if _one_matrix_serves(points) else JOINTS,
        "rows of each": parameters,
    }


def _one_matrix_serves(points: int) -> bool:
    """Whether fitting all forces with one matrix yields the slopes of fitting each force separately."""
    from forearm.control.extrapolation import fitted_slopes

    arm = load_builtin("stanford").rigid()
    states = np.random.default_rng(1).uniform(-0.5, 0.5, (points, 3 * arm.n))
    q, qd, qdd = np.split(states, 3, axis=1)
    forces = inverse(arm, q, qd, qdd)
    together = fitted_slopes(states, forces).slopes
    each = [fitted_slopes(states, forces[:, [k]]).slopes[0] for k in range(arm.n)]
    return bool(np.abs(together - each).max() < 1e-9 * np.abs(together).max())


def tables() -> Figures:
    """Sizes of tables of complete coverage, and by how many orders of magnitude they are too large."""
    from forearm.control.tables import full_tables

    made = full_tables(JOINTS, VALUES)
    forces, sloped, pairs, sloped_pairs = made.values()
    room = {which: forces.points / (words / sloped.each) for which, words in WORDS.items()}
    return {
        "points, forces": forces.points,
        "numbers a point, forces": forces.each,
        "derivatives a point, forces": sloped.each - forces.each,
        "points, D and E": pairs.points,
        "numbers a point, D and E": pairs.each,
        "derivatives a point, D and E": sloped_pairs.each - pairs.each,
        "orders too many, from": math.log10(room["fewest"]),
        "orders too many, to": math.log10(room["most"]),
        "orders to break even": math.log10(sloped.each / forces.each),
    }


def shares() -> Figures:
    """Shares of 45m+77a in percent, with m as four a, from runs counted in his way; the saving of locked
    joints from his printed 19m+34a.
    """
    from forearm.counting import waters
    from forearm.counting.matrices import MatrixCounts
    from forearm.counting.printed import figure

    total = waters.final(JOINTS).weight
    gravity, velocities = (
        total - stage(JOINTS).weight for stage in (waters.without_gravity, waters.without_velocity)
    )
    locked = MatrixCounts(*figure("waters-locked")["printed"]).weight
    return {
        "gravity": 100.0 * gravity / total,
        "velocities": 100.0 * velocities / total,
        "inertia": 100.0 * (total - gravity - velocities) / total,
        "saved by three locked joints": 100.0 * (total - locked) / total,
        "saved by ignoring L": 100.0 * velocities / total,
    }


def times() -> Figures:
    """Times that follow from his 8 s and his counts of matrix products, and the product of his speed-ups."""
    from forearm.counting.printed import figure

    naive, recursive = (figure(f"waters-{x}")["printed"][0] for x in ("naive-m", "recursive"))
    as_written = _stated("waters-time", "as written")
    overall = _stated("waters-speedups", "overall") * AS_3X3 * FIXED_POINT
    return {
        "recurrences, s": as_written * recursive / naive,
        "speed-up of everything": overall,
        "everything, s": as_written / overall,
    }


def repetitions() -> Figures:
    """How often U_66 and L_6 are computed if every term of F_i is evaluated as written."""
    terms = [(j, i) for i in range(1, JOINTS + 1) for j in range(i, JOINTS + 1)]
    # U_ji in the trace and in G_ji, and U_jk in P_j for each k up to j
    U = [(j, i) for j, i in terms for _ in ("trace", "G")] + [
        (j, k) for j, _ in terms for k in range(1, j + 1)
    ]
    return {"U_66": U.count((JOINTS, JOINTS)), "L_6": sum(j == JOINTS for j, _ in terms)}


def _stated(item: str, label: str) -> float:
    """A value as the catalogue has it."""
    from forearm.reproduce.catalogue import catalogue

    values = (value for i in catalogue("waters") if i.id == item for value in i.values)
    return next(float(value.printed) for value in values if value.label == label)
