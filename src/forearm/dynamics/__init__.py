"""The dynamics of arms: every classical formulation, by document, over any scalar; all agree.

`reference` calls them by name; all start from `forearm.model`.
"""

from forearm.dynamics.closed_form import ClosedForm, closed_form, paul
from forearm.dynamics.dropping import DropError, drop_errors
from forearm.dynamics.elastic import ElasticInverse, elastic_forward, elastic_inverse, elastic_inverse_along
from forearm.dynamics.modes import Modes, ModeSet, modes
from forearm.dynamics.precision import PrecisionStudy, precision_study
from forearm.dynamics.reference import (
    bias,
    coriolis_matrix,
    formulations,
    forward,
    forward_report,
    gravity,
    inertia_matrix,
    inertial_parameters,
    inverse,
    kinetic_energy,
    parameter_names,
    potential_energy,
    regressor,
)
from forearm.dynamics.silver import angular_velocity, rotation_rate
from forearm.dynamics.tracing import trace
from forearm.dynamics.variants import Gibbs, gibbs, inertia_by_moving_links, inertia_by_sum, variant

__all__ = [
    "ClosedForm",
    "DropError",
    "ElasticInverse",
    "Gibbs",
    "ModeSet",
    "Modes",
    "PrecisionStudy",
    "angular_velocity",
    "bias",
    "closed_form",
    "coriolis_matrix",
    "drop_errors",
    "elastic_forward",
    "elastic_inverse",
    "elastic_inverse_along",
    "formulations",
    "forward",
    "forward_report",
    "gibbs",
    "gravity",
    "inertia_by_moving_links",
    "inertia_by_sum",
    "inertia_matrix",
    "inertial_parameters",
    "inverse",
    "kinetic_energy",
    "modes",
    "parameter_names",
    "paul",
    "potential_energy",
    "precision_study",
    "regressor",
    "rotation_rate",
    "trace",
    "variant",
]
