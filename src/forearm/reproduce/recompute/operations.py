"""What Waters and Silver state of operations, from our counts."""

from __future__ import annotations

from forearm.reproduce.recompute import Figures
from forearm.reproduce.recompute.silver import ratios


def waters_savings() -> Figures:
    """Waters IV: his improvements, from runs of his stages counted in his way."""
    from forearm.counting import waters

    stages = (waters.naive_shared, waters.recorded, waters.recursive, waters.final)
    naive, recorded, recursive, final = (stage(6) for stage in stages)
    return {
        "every value recorded": naive.m / recorded.m,
        "recurrences": recorded.weight / recursive.weight,
        "overall": naive.m / final.m,
    }


def silver_ratios() -> Figures:
    """Silver 1.4: total operations of our recursions on a general chain of six turning
    joints, over each other.
    """
    from forearm.counting.counts import count
    from forearm.counting.models import chain

    names = ("lagrange-uicker", "lagrange-hollerbach-4x4", "lagrange-hollerbach", "newton-euler")
    return ratios(*(count(chain(6), name).operations for name in names))


def silver_uicker() -> Figures:
    """Silver 1.2: our Uicker form on dense matrices, six links, multiplications and additions together."""
    from forearm.counting.matrices import run_matrices
    from forearm.counting.models import chain

    return {"operations": run_matrices(chain(6), "lagrange-uicker").scalars().operations}
