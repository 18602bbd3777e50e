"""Is this arm plausible? Checks of links, geometry, limits and structure, and what gravity costs it.

Errors are found when an arm is loaded; what is found here can be computed with, but should be looked at.
"""

from forearm.checking.balance import Balance, Counterweight, balance, with_counterweights
from forearm.checking.findings import Finding, check

__all__ = ["Balance", "Counterweight", "Finding", "balance", "check", "with_counterweights"]
