"""The palette measured: how far apart curves are for every kind of sight, and how they stand out
from paper and dark pages.
"""

from __future__ import annotations

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from contrast import contrast, linear
from numpy.typing import NDArray

from forearm import palette
from forearm.palette import COLOURS, DASHES, FILLS, ON_DARK, PAGE, PAGE_ON_DARK

Floats = NDArray[np.float64]
SOURCE = Path(palette.__file__).parent
# Machado, Oliveira and Fernandes 2009, severity 1: linear RGB as it is seen.
SEEN = {
    "usual": np.eye(3),
    "protanopia": np.array(
        [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]]
    ),
    "deuteranopia": np.array(
        [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]]
    ),
    "tritanopia": np.array(
        [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]]
    ),
}
LEAST_CURVES, LEAST_FILLS = 13.0, 10.0  # CIEDE2000; about 2 are just seen side by side
ON_PAPER, ON_SCREEN, WORDS = 3.0, 4.5, 4.5  # contrasts that WCAG 2 asks of graphics and of words


def lab(rgb: Floats) -> Floats:
    """CIELAB under D65 of linear RGB."""
    to_xyz = np.array(
        [
            [0.4124564, 0.3575761, 0.1804375],
            [0.2126729, 0.7151522, 0.072175],
            [0.0193339, 0.119192, 0.9503041],
        ]
    )
    f = to_xyz @ np.clip(rgb, 0.0, 1.0) / np.array([0.95047, 1.0, 1.08883])
    f = np.where(f > 216.0 / 24389.0, np.cbrt(f), (24389.0 / 27.0 * f + 16.0) / 116.0)
    return np.array([116.0 * f[1] - 16.0, 500.0 * (f[0] - f[1]), 200.0 * (f[1] - f[2])])


def difference(one: Floats, other: Floats) -> float:
    """CIEDE2000 between two colours in CIELAB."""
    chroma = np.hypot(*np.array([one, other])[:, 1:].T)
    g = 0.5 * (1.0 - np.sqrt(chroma.mean() ** 7 / (chroma.mean() ** 7 + 25.0**7)))
    (l1, a1, b1), (l2, a2, b2) = one, other
    a1, a2 = (1.0 + g) * a1, (1.0 + g) * a2
    c1, c2 = np.hypot(a1, b1), np.hypot(a2, b2)
    h1, h2 = np.degrees(np.arctan2([b1, b2], [a1, a2])) % 360.0
    between = (h2 - h1 + 180.0) % 360.0 - 180.0 if c1 * c2 else 0.0
    dh = 2.0 * np.sqrt(c1 * c2) * np.sin(np.radians(between / 2.0))
    lm, cm, hm = (l1 + l2) / 2.0, (c1 + c2) / 2.0, (h1 + between / 2.0) % 360.0 if c1 * c2 else h1 + h2
    waves = ((-0.17, 1, -30), (0.24, 2, 0), (0.32, 3, 6), (-0.2, 4, -63))
    t = 1.0 + sum(size * np.cos(np.radians(k * hm + phase)) for size, k, phase in waves)
    sl = 1.0 + 0.015 * (lm - 50.0) ** 2 / np.sqrt(20.0 + (lm - 50.0) ** 2)
    sc, sh = 1.0 + 0.045 * cm, 1.0 + 0.015 * cm * t
    turn = (
        -2.0
        * np.sqrt(cm**7 / (cm**7 + 25.0**7))
        * np.sin(np.radians(60.0 * np.exp(-(((hm - 275.0) / 25.0) ** 2))))
    )
    parts = ((l2 - l1) / sl, (c2 - c1) / sc, dh / sh)
    return float(np.sqrt(sum(p**2 for p in parts) + turn * parts[1] * parts[2]))


@pytest.mark.parametrize(
    ("one", "other", "printed"),
    [
        ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
        ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
        ((50.0, -1.0, 2.0), (50.0, 0.0, 0.0), 2.3669),
        ((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514), 0.9082),
    ],
)
def test_difference_is_that_of_the_printed_pairs(
    one: tuple[float, ...], other: tuple[float, ...], printed: float
) -> None:
    """Sharma, Wu and Dalal 2005, Table 1."""
    assert difference(np.array(one), np.array(other)) == pytest.approx(printed, abs=5e-5)


@pytest.mark.parametrize("sight", SEEN)
@pytest.mark.parametrize(
    ("colours", "least"), [(COLOURS, LEAST_CURVES), (ON_DARK, LEAST_CURVES), (FILLS, LEAST_FILLS)]
)
def test_every_eye_tells_colours_apart(colours: tuple[str, ...], least: float, sight: str) -> None:
    seen = {colour: lab(SEEN[sight] @ linear(colour)) for colour in colours}
    nearest = min((difference(seen[a], seen[b]), a, b) for a, b in combinations(colours, 2))
    assert nearest[0] >= least, nearest


def test_curves_stand_out_from_their_ground() -> None:
    assert min(contrast(c, "#ffffff") for c in COLOURS) >= ON_PAPER
    assert min(contrast(c, PAGE_ON_DARK["paper"]) for c in ON_DARK) >= ON_SCREEN
    assert len(COLOURS) == len(ON_DARK)


@pytest.mark.parametrize("page", [PAGE, PAGE_ON_DARK], ids=["light", "dark"])
def test_words_of_pages_can_be_read(page: dict[str, str]) -> None:
    for ground in ("paper", "block", "mark"):
        for ink in ("ink", "quiet", "link"):
            assert contrast(page[ink], page[ground]) >= WORDS, (ink, ground)
    assert contrast(page["focus"], page["paper"]) >= ON_PAPER


def test_dashes_tell_neighbours_apart_without_colour() -> None:
    looks = {(k % len(COLOURS), k % len(DASHES)) for k in range(42)}
    assert len(looks) == 42
    assert len(set(DASHES)) == len(DASHES) == 6, "six joints differ in grey too"
    for lengths in DASHES:
        assert len(lengths) % 2 == 0


def test_pages_have_their_colours_from_one_place() -> None:
    css = palette.page_colours({"own": "#123456"}, {"own": "#abcdef"})
    day, night = css.split("\n")
    for name, value in (PAGE | {"own": "#123456"}).items():
        assert f"--{name}: {value};" in day
    for name, value in (PAGE_ON_DARK | {"own": "#abcdef"}).items():
        assert f"--{name}: {value};" in night
    assert night.startswith("@media screen and (prefers-color-scheme: dark)"), "paper stays white"
    for name in (
        "viewer/page/studio.css",
        *(f"viewer/page/{file.name}" for file in (SOURCE / "viewer" / "page").glob("*.js")),
        "cli/demo_report/report.css",
        "cli/reproduce_report.css",
        "pages.css",
    ):
        text = (SOURCE / name).read_text(encoding="utf-8")
        if name.endswith(".css"):
            assert "@media print" in text
        assert set(re.findall(r"#[0-9a-fA-F]{3,6}\b(?=[;,\" ])", text)) <= {
            "#444",
            "#fff",
            "#0007",
            "#0009",
        }, "only bones of the picture on paper, its ground, and shadows"
