"""Forward dynamics: the motion of an arm under torques, voltages or a controller.

`Schedule` holds inputs over time; `Simulation` is the result, which can be saved, loaded, plotted and played
in a browser.
"""

from forearm.simulation.arguments import Accuracy, Ending, Sampling
from forearm.simulation.joining import joined
from forearm.simulation.many import simulate_many
from forearm.simulation.npz import load_simulation
from forearm.simulation.result import Event, Simulation
from forearm.simulation.run import simulate
from forearm.simulation.schedule import Schedule
from forearm.simulation.solution import Status
from forearm.simulation.summaries import SUMMARIES
from forearm.simulation.windings import without_inductance

__all__ = [
    "SUMMARIES",
    "Accuracy",
    "Ending",
    "Event",
    "Sampling",
    "Schedule",
    "Simulation",
    "Status",
    "joined",
    "load_simulation",
    "simulate",
    "simulate_many",
    "without_inductance",
]
