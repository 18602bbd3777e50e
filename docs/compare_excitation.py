"""Print the comparisons of docs/excitation.md: criteria and bases, and motions that complement each other."""

from __future__ import annotations

from typing import Any

import numpy as np

import forearm as fa

SECONDS = 10.0
WAYS: dict[str, dict[str, Any]] = {
    "fourier, d": {},
    "fourier, condition": {"criterion": "condition"},
    "spline, d": {"basis": "spline"},
    "fourier, d, 3 harmonics": {"harmonics": 3},
    "fourier, d, 8 harmonics": {"harmonics": 8},
    "fourier, d, floor 0.1 m": {"box": ((-np.inf, -np.inf, 0.1), (np.inf, np.inf, np.inf))},
}


def said(name: str, condition: float, gain: float, std: Any, values: Any) -> str:
    """A row of a table: how many times better than random, and how many parameters stay poor."""
    known = np.isfinite(values) & (values != 0.0)
    shares = std[known] / np.abs(values[known])
    return (
        f"| {name} | {condition:.3g} | {gain:.2f} | {100.0 * np.median(shares):.2g} % | "
        f"{int((shares > 0.3).sum())} of {int(known.sum())} |"
    )


def main() -> None:
    """Both tables."""
    arm = fa.load("panda")
    first = fa.excite(arm, SECONDS)
    random = first.excitation
    assert random is not None
    print("| motion | condition number | better than random | median deviation | poor |")
    print("| --- | --- | --- | --- | --- |")
    print(said("random", random.start_condition, 1.0, random.start_std, random.values))
    for name, options in WAYS.items():
        made = fa.excite(arm, SECONDS, **options).excitation
        assert made is not None
        gain = float(np.exp((made.log_det - random.start_log_det) / (2.0 * len(made.names))))
        print(said(name, made.condition, gain, made.std, made.values))
    print()
    print("| motions | condition number | of one repeated | least eigenvalue | of one repeated |")
    print("| --- | --- | --- | --- | --- |")
    plans = [first]
    for count in range(1, 4):
        made = plans[-1].excitation
        assert made is not None
        print(
            f"| {count} | {made.condition:.3g} | {random.condition:.3g} | {made.eigenvalues[0]:.3g} | "
            f"{count * random.eigenvalues[0]:.3g} |"
        )
        plans.append(fa.excite(arm, SECONDS, after=plans))


if __name__ == "__main__":
    main()
