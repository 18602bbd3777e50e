"""A matplotlib figure that displays in notebooks with any backend."""

from __future__ import annotations

from matplotlib.figure import Figure


class Picture(Figure):
    """The result of `plot`: a figure not registered with any window or pyplot, which displays itself in a
    notebook.
    """

    def _repr_png_(self) -> bytes:
        from forearm.plots.figure import figure_bytes

        return figure_bytes(self)
