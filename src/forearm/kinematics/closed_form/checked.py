"""Branches that exist: polished, verified by forward kinematics, each once, families of singular poses told apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.kinematics.closed_form.geometry import Geometry
from forearm.kinematics.closed_form.newton import REACHED, polished
from forearm.kinematics.closed_form.recognition import branches_of
from forearm.kinematics.closed_form.singular import free_joints, is_singular

Floats = NDArray[np.float64]
Truths = NDArray[np.bool_]
# Two branches are one when no joint differs by more (rad, m): what a double root leaves.
SAME = 1e-6
# So many poses are done at once, to bound the memory.
BLOCK = 4096


@dataclass(frozen=True, eq=False)
class Checked:
    """Of poses (B, 4, 4): branches q (B, m, n), which exist (B, m), are singular (B, m), and their free joints (B, m, n)."""

    q: Floats
    exists: Truths
    singular: Truths
    free: Truths


def checked_branches(arm: Arm, geometry: Geometry, T: Floats) -> Checked:
    """Every branch of every pose, angles modulo 2 pi."""
    blocks = [_block(arm, geometry, T[start : start + BLOCK]) for start in range(0, max(len(T), 1), BLOCK)]
    return Checked(*(np.concatenate([getattr(b, name) for b in blocks]) for name in ("q", "exists", "singular", "free")))


def _block(arm: Arm, geometry: Geometry, T: Floats) -> Checked:
    found = branches_of(geometry, T)
    B, m, n = found.shape
    poses = np.repeat(T, m, axis=0)
    flat = np.nan_to_num(found.reshape(-1, n), posinf=0.0, neginf=0.0)
    q, error = polished(arm, flat, poses)
    exists = error < REACHED
    singular = np.zeros(B * m, dtype=bool)
    singular[exists] = is_singular(arm, q[exists])
    free = np.zeros((B * m, n), dtype=bool)
    if singular.any():
        free[singular] = free_joints(arm, q[singular], poses[singular])
    q, free = q.reshape(B, m, n), free.reshape(B, m, n)
    exists, singular = exists.reshape(B, m), singular.reshape(B, m)
    exists = _once(arm, q, exists, free)
    return Checked(q, exists, singular & exists, free & exists[..., None])


def _once(arm: Arm, q: Floats, exists: Truths, free: Truths) -> Truths:
    """Later branches left out where they repeat an earlier one, or differ only along two joints that turn about one line."""
    turns = np.array([j.kind == "revolute" for j in arm.joints])
    two = free.sum(axis=-1) == 2
    exists = exists.copy()
    for later in range(1, q.shape[1]):
        for earlier in range(later):
            apart = np.abs(q[:, later] - q[:, earlier])
            apart = np.where(turns, np.abs(np.remainder(apart + np.pi, 2.0 * np.pi) - np.pi), apart)
            family = (two[:, earlier] & two[:, later])[:, None] & free[:, earlier] & free[:, later]
            same = ((apart < SAME) | family).all(axis=-1)
            exists[:, later] &= ~(same & exists[:, earlier])
    return exists
