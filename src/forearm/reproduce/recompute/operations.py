"""What Waters and Silver state of operations, from our counts."""

from __future__ import annotations

from forearm.reproduce.recompute import Figures


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
    counts = [count(chain(6), name) for name in names]
    direct, big, small, plain = (c.mul + c.add for c in counts)
    return {
        "4x4 over Newton-Euler": big / plain,
        "direct over 4x4": direct / big,
        "4x4 over 3x3": big / small,
        "3x3 over Newton-Euler": small / plain,
    }


def silver_uicker() -> Figures:
    """Silver 1.2: our Uicker form on dense matrices, six links, multiplications and additions together."""
    from forearm.counting.printed import compare

    (uicker,) = (c for c in compare() if c.id == "dhanaraj-1.1-uicker")
    assert uicker.by_convention is not None
    return {"operations": float(sum(uicker.by_convention))}
