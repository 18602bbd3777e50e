"""Studies over arms and their parameters, computed on anything from one core to a cluster.

A row of a study depends only on its number and the seed, never on how rows are split into parts.
"""

from forearm.studies.catalogue import CatalogueMotor
from forearm.studies.engines.ray_executor import RayExecutor
from forearm.studies.engines.sweep import sweep
from forearm.studies.figures import FIGURES, Figure
from forearm.studies.optimisation.optimum import Optimum
from forearm.studies.optimisation.search import optimise
from forearm.studies.results import StudyResults
from forearm.studies.run_settings import RunSettings
from forearm.studies.sampling.distributions import Choice, LogNormal, LogUniform, Normal, Triangular, Uniform
from forearm.studies.sensitivity import sobol_indices
from forearm.studies.study import Study
from forearm.studies.variable import Variable

__all__ = [
    "FIGURES",
    "CatalogueMotor",
    "Choice",
    "Figure",
    "LogNormal",
    "LogUniform",
    "Normal",
    "Optimum",
    "RayExecutor",
    "RunSettings",
    "Study",
    "StudyResults",
    "Triangular",
    "Uniform",
    "Variable",
    "optimise",
    "sobol_indices",
    "sweep",
]
