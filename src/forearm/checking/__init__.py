"""Plausibility checks of links, geometry, limits and structure, and gravity balance.

Errors are found when an arm is loaded; these findings do not prevent computation, but deserve attention.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from forearm.checking.balancing import Balance, Counterweight, balance, with_counterweights
    from forearm.checking.finding import Finding
    from forearm.checking.findings import check

__all__ = ["Balance", "Counterweight", "Finding", "balance", "check", "with_counterweights"]

# Imported when first used: loading an arm needs only `links`.
_LATER = {"Finding": "finding", "check": "findings"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'forearm.checking' has no attribute {name!r}")
    return getattr(import_module(f"forearm.checking.{_LATER.get(name, 'balancing')}"), name)
