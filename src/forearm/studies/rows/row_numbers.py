"""From values of variables to parameters of arms, gains, starts and motors, one per row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from forearm.arm.arm import Arm
from forearm.simulation.row_parameters import is_added_body
from forearm.spatial import Floats
from forearm.studies.catalogue import OPEN, CatalogueMotor
from forearm.studies.targets import CHOSEN, GAINS, START, matching, motor_joint, open_values

if TYPE_CHECKING:
    from forearm.studies.study import Study

Values = Mapping[str, NDArray[Any]]


@dataclass
class RowNumbers:
    """Parameters of some rows of one arm.

    Attributes:
        parameters: parameters of the arm and its payload by name, (B,) each.
        gains: of the controller by name, (B,) each.
        start: initial offset of the joints, (B, n).
        motors: names in the catalogue by joint, (B,) each.
    """

    parameters: dict[str, Floats]
    start: Floats
    gains: dict[str, Floats] = field(default_factory=dict)
    motors: dict[int, NDArray[Any]] = field(default_factory=dict)


def row_numbers(study: Study, arm: Arm, values: Values) -> RowNumbers:
    """The parameters of rows of an arm.

    Args:
        study: the study.
        arm: the arm of these rows.
        values: of every variable by name, (B,).
    """
    count = len(next(iter(values.values())))
    own = open_values(arm)
    numbers = {f"payload.{key}": np.full(count, float(x)) for key, x in study.run.payload.items()}
    made = RowNumbers(numbers, np.zeros((count, arm.n)))
    joints = [joint.name for joint in arm.joints]
    for variable in sorted(study.variables, key=lambda v: v.factor):
        x = values[variable.name]
        for target in variable.of:
            if target in CHOSEN:
                continue
            if (joint := motor_joint(arm, target)) is not None and not variable.distribution.is_numeric:
                made.motors[joint] = x
                made.parameters |= _motor_numbers(study.motors, target, x)
            elif target in GAINS:
                made.gains[target] = np.asarray(x, dtype=np.float64)
            elif target.startswith(START):
                made.start[:, joints.index(target[len(START) :])] = x
            else:
                for name in [target] if is_added_body(arm, target) else matching(own, target):
                    known = made.parameters[name] if name in made.parameters else own.get(name, 0.0)
                    made.parameters[name] = np.asarray(known * x if variable.factor else x, dtype=np.float64)
    return made


def _motor_numbers(
    catalogue: Mapping[str, CatalogueMotor], target: str, names: NDArray[Any]
) -> dict[str, Floats]:
    """Constants of the motors chosen by rows, by the names of the arm's parameters."""
    order = {name: k for k, name in enumerate(catalogue)}
    places = np.array([order[name] for name in names], dtype=np.intp)
    return {
        f"{target}.{key}": np.array([getattr(m, key) for m in catalogue.values()])[places] for key in OPEN
    }
