"""A matplotlib figure that notebooks show, whatever backend they have."""

from __future__ import annotations

from matplotlib.figure import Figure


class Picture(Figure):
    """What `plot` of a result gives: a figure of no window and no list of pyplot's,
    which shows itself in a notebook.
    """

    def _repr_png_(self) -> bytes:
        from forearm.plots.figure import figure_bytes

        return figure_bytes(self)
