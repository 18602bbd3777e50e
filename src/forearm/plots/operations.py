"""Operations for one arm by several methods, side by side; Dhanaraj's Fig. 2.9 recomputed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from forearm.counting.counts import count
from forearm.counting.fewest import fewest
from forearm.counting.printed import printed
from forearm.files.builtin import load_builtin
from forearm.plots.figure import BLUE, ORANGE, WIDTH, drawn, new_figure, put_title
from forearm.reproduce.catalogue import catalogue

PUMA = "puma560-dhanaraj6"
PRINTED, ANEW = "printed", "anew"
# part of the catalogue's labels between an author and multiplications or additions
AUTHORS = ", PUMA, 6 joints, "


@drawn
def operations_figure(methods: Mapping[str, tuple[int, int]], title: str) -> Any:
    """A bar for each method, (multiplications, additions), with their sum in brackets."""
    figure = new_figure(WIDTH, 0.36 * len(methods) + 1.3)
    axes = figure.subplots()
    names = list(methods)
    products, sums = zip(*methods.values(), strict=True)
    axes.barh(names, products, color=BLUE, height=0.7, label="multiplications")
    axes.barh(
        names,
        sums,
        left=products,
        color=ORANGE,
        height=0.7,
        hatch="////",
        edgecolor="white",
        label="additions",
    )
    for place, (mul, add) in enumerate(methods.values()):
        axes.annotate(
            f"({mul + add})", (mul + add, place), textcoords="offset points", xytext=(4, 0), va="center"
        )
    axes.invert_yaxis()
    axes.grid(visible=False, axis="y")
    axes.margins(x=0.12)
    axes.set_xlabel("operations per evaluation; in brackets the sum")
    axes.legend(loc="lower right")
    put_title(axes, title)
    return figure


def count_figures() -> dict[str, Any]:
    """The figure of Dhanaraj's chapter 2 by file name."""
    return {
        "fig-2.9": operations_figure(puma_methods(), "Fig. 2.9: inverse dynamics of the PUMA with six joints")
    }


def puma_methods() -> dict[str, tuple[int, int]]:
    """Multiplications and additions of Table 2.10 for the PUMA with six joints, and ours for the arm of
    D.3.4.
    """
    (own,) = (figure["printed"] for figure in printed()["figure"] if figure["id"] == "dhanaraj-2.10-puma6")
    methods = {f"I (Dhanaraj), {PRINTED}": (own[0], own[1])}
    (others,) = (item for item in catalogue("dhanaraj") if item.id == "table-2.10-others")
    values = {value.label: int(value.printed) for value in others.values if AUTHORS in value.label}
    for label, mul in values.items():
        author, _, what = label.partition(AUTHORS)
        if what == "multiplications":
            methods[f"{author}, {PRINTED}"] = (mul, values[f"{author}{AUTHORS}additions"])
    arm = load_builtin(PUMA)
    counts = {name: count(arm, name) for name in ("newton-euler", "modified-newton-euler")} | {
        "generated code": fewest(arm)
    }
    return methods | {f"{name}, {ANEW}": (c.mul, c.add) for name, c in counts.items()}
