"""Cost of each quantity of an interior joint by plain and modified Newton-Euler. Dhanaraj 2.5, Table 2.9."""

from __future__ import annotations

from forearm.counting.counts import Convention, run
from forearm.counting.models import GenericChain
from forearm.symbols.counts import Counts

# The quantities that each recursion notes for the document's symbols.
SYMBOLS = {
    "modified-newton-euler": {
        symbol: symbol for symbol in ("w", "alpha", "lambda", "a", "a_c", "F", "N", "f", "f_in", "n")
    },
    "newton-euler": {
        "w": "w",
        "alpha": "wd",
        "lambda": "",
        "a": "vd",
        "a_c": "vd*",
        "F": "F",
        "N": "N",
        "f": "f",
        "f_in": "f_in",
        "n": "n",
    },
}
MIDDLE = 2  # of five links, far enough from both ends that nothing folds


def per_quantity(
    kind: str, method: str = "modified-newton-euler", inertia: str = "diagonal", full_cross: bool = False
) -> dict[str, Counts]:
    """Counts by the document's symbols for an interior joint, "revolute" or "prismatic".

    Rotations are 3x3 matrices of nine given entries; f_in is the force of the next link in this link's axes.
    """
    kinds = "RRRRR" if kind == "revolute" else "RRPRR"
    convention = Convention(dense=True, everything=True, full_cross=full_cross)
    by = run(GenericChain(kinds, inertia=inertia), method, "inverse", convention).by_quantity()
    return {symbol: by.get((noted, MIDDLE), Counts()) for symbol, noted in SYMBOLS[method].items()}
