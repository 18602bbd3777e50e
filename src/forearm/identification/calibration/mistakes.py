"""Detection of joint columns in the wrong order or with the wrong sign, by refitting with changed columns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from forearm.arm.arm import Arm
from forearm.errors import InputError
from forearm.identification.calibration import alignment
from forearm.identification.calibration.measurements import Measurements
from forearm.kinematics.poses import forward
from forearm.spatial import Floats, inverse_pose

WRONG = 0.05  # of the reach: a larger error of the file's arm triggers the search
BETTER = 0.1  # of the residual, and
GOOD = 0.02  # of the reach: a change is reported if it leaves less than both
MOST = 200  # rows that are tested


def refuse_mistaken_columns(
    arm: Arm, found: Measurements, base: Floats | None, has_point: bool, reach: float
) -> None:
    """Refuse measurements far from the file's arm if one change of columns of q brings them near."""
    rows = slice(0, MOST)
    plain = _left(arm, found, found.q[rows], base, has_point)
    if plain < WRONG * reach:
        return
    changes = _changes(arm, found.q[rows], found.columns)
    best = min(((_left(arm, found, q, base, has_point), text) for q, text in changes), default=None)
    if best is not None and best[0] < min(BETTER * plain, GOOD * reach):
        raise InputError(
            f"the residual is {1000.0 * plain:.3g} mm, but {1000.0 * best[0]:.2g} mm with "
            f"{best[1]}. Write q in the order of the arm's joints, with its signs.",
            found.name,
        )


def _changes(arm: Arm, q: Floats, columns: Sequence[str]) -> Iterator[tuple[Floats, str]]:
    names = [joint.name for joint in arm.joints]
    for i, name in enumerate(names):
        changed = q.copy()
        changed[:, i] = -q[:, i]
        yield changed, f"the sign of q of {name} reversed (column {columns[i]})"
        for j in range(i + 1, len(names)):
            if arm.joints[i].kind == arm.joints[j].kind:
                changed = q.copy()
                changed[:, [i, j]] = q[:, [j, i]]
                yield changed, f"{name} and {names[j]} swapped (columns {columns[i]} and {columns[j]})"


def _left(arm: Arm, found: Measurements, q: Floats, base: Floats | None, has_point: bool) -> float:
    """The median position error with the best-fitting base, m."""
    F, at = forward(arm, q), found.positions[: len(q)]
    point = np.zeros(3)
    if base is not None:
        B = base
    elif found.poses is not None:
        B = alignment.base_of_poses(found.poses[: len(q)], F)
    else:
        B = alignment.base_of_points(at, F[:, :3, 3])
    if has_point:
        B, point = alignment.base_and_point(at, F) if base is None else (B, point)
    back = inverse_pose(B)
    off = at @ back[:3, :3].T + back[:3, 3] - (F[:, :3, :3] @ point + F[:, :3, 3])
    return float(np.median(np.linalg.norm(off, axis=1)))
