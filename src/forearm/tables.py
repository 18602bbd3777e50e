"""Plain-text tables that fit the terminal, for every command and for printing an arm."""

from __future__ import annotations

from collections.abc import Sequence


def number(value: float | None, digits: int = 6) -> str:
    """A number as people write it: short, no exponent where it can be avoided, '-' for none."""
    if value is None:
        return "-"
    text = f"{value:.{digits}g}"
    return "0" if text in ("-0", "0") else text


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Columns aligned under a rule: numbers to the right, words to the left, the widest word column cut to fit."""
    cells = [[str(c) for c in row] for row in rows]
    widths = [max(len(row[k]) for row in [list(header), *cells]) for k in range(len(header))]
    right = [all(_is_number(row[k]) for row in cells) and bool(cells) for k in range(len(header))]
    gap = 2
    if width is not None:
        while sum(widths) + gap * (len(widths) - 1) > width:
            words = [k for k in range(len(widths)) if not right[k]] or list(range(len(widths)))
            widest = max(words, key=lambda k: widths[k])
            if widths[widest] <= 8:
                break
            widths[widest] -= 1

    def line(row: Sequence[str]) -> str:
        cut = [c if len(c) <= w else c[: w - 1] + "~" for c, w in zip(row, widths, strict=True)]
        padded = [c.rjust(w) if r else c.ljust(w) for c, w, r in zip(cut, widths, right, strict=True)]
        return (" " * gap).join(padded).rstrip()

    rule = (" " * gap).join("-" * w for w in widths)
    return "\n".join([line(list(header)), rule, *(line(row) for row in cells)])


def _is_number(cell: str) -> bool:
    if cell in ("-", ""):
        return True
    try:
        float(cell.split()[0])
    except (ValueError, IndexError):
        return False
    return True
