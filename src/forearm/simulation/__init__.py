"""Motion from torques or voltages over time: what drives an arm, and what a simulation leaves.

`Schedule` is what drives it, `Simulation` the result, which is saved, loaded, plotted and played in a browser.
"""

from forearm.simulation.result import Event, Simulation, load_simulation
from forearm.simulation.running import simulate, simulate_many
from forearm.simulation.schedule import Schedule

__all__ = ["Event", "Schedule", "Simulation", "load_simulation", "simulate", "simulate_many"]
