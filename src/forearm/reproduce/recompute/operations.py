"""What Waters and Silver say of operations, from counts: theirs or ours."""

from __future__ import annotations

from forearm.reproduce.recompute import Figures


def waters_savings() -> Figures:
    """Waters IV: the improvements that his printed counts amount to."""
    from forearm.counting.printed import printed

    figures = {figure["id"]: figure["printed"] for figure in printed()["figure"]}
    (naive,), (recorded,), (recorded_a,) = (
        figures[f"waters-{x}"] for x in ("naive-m", "recorded-m", "recorded-a")
    )
    m, a = figures["waters-recursive"]
    return {
        "every value recorded": naive / recorded,
        "recurrences": (64 * recorded + 16 * recorded_a) / (64 * m + 16 * a),
        "overall": naive / figures["waters-final"][0],
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
