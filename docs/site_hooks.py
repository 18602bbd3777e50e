"""What mkdocs calls while it builds the site: the look of pages, and pages of the studio in chapters."""

from __future__ import annotations

import posixpath
import re
import warnings
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import forearm as fa
from forearm.kinematics.skeleton import skeleton
from forearm.palette import PAGE, PAGE_ON_DARK

FOLDER = "studio"  # of the site, where the pages go
AZIMUTH, ELEVATION = np.radians(-62.0), np.radians(22.0)  # from where posters show an arm
LIVE_PAGES = "<!-- live pages -->"  # in the gallery
MARGIN = 0.08  # around it, of its size
STANDING = [0.0, 0.8, -1.6, 0.0, 0.5, 0.0]
AWAY = [1.2, -0.2, -0.6, 0.6, 0.9, -0.5]
REACHING = [0.4, -1.2, 1.5, -0.3, 0.7, 0.0]
HIGH = [-0.6, -1.6, 0.8, -0.8, 0.5, 0.0]
BENT = [0.3, -0.6, 0.2, -2.1, 0.2, 1.7, 0.6]


@dataclass(frozen=True)
class Touch:
    """An arm under a chapter: what a reader may try, and how the page begins."""

    arm: str
    words: str
    ask: dict[str, Any] = field(default_factory=dict)
    meshes: bool = False


CHAPTERS = {
    "index.md": Touch("panda", "Drag the hand or a link, then let go.", {"q": BENT}),
    "studio.md": Touch("puma560", "The whole studio, with the PUMA 560.", {"q": STANDING}),
    "arm-file.md": Touch(
        "puma560-akb", "Frames of links, as the file places them.", {"show": {"frames": True}}
    ),
    "urdf.md": Touch("ur5", "Frames and limits of a URDF.", {"show": {"frames": True, "limits": True}}),
    "mjcf.md": Touch("panda", "Limits of each joint.", {"q": BENT, "show": {"limits": True}}),
    "parts.md": Touch(
        "cmu-dd",
        "An arm made of parts: centres of mass and inertia ellipsoids.",
        {"show": {"centres": True, "ellipsoids": True}},
        True,
    ),
    "visuals.md": Touch(
        "cmu-dd", "Shapes from a parts file; the View panel can show the skeleton.", {}, True
    ),
    "drives.md": Touch("puma560", "Change friction and let go.", {"q": STANDING, "tab": "world"}),
    "checks.md": Touch(
        "stanford", "Inertia ellipsoids show a misplaced mass.", {"show": {"ellipsoids": True}}
    ),
    "dynamics.md": Touch(
        "panda", "Bars show the joint torques at rest, with a payload of 2 kg.", {"q": BENT, "payload": 2}
    ),
    "formulations.md": Touch("chain4", "Four generic links that fall.", {"mode": "fall"}),
    "base-parameters.md": Touch("stanford", "Centres of mass.", {"show": {"centres": True}}),
    "code.md": Touch("ascher2", "Two bars whose equations are JavaScript in this page.", {"mode": "fall"}),
    "kernels.md": Touch("chain7", "Seven joints, simulated in your browser.", {"mode": "fall"}),
    "performance.md": Touch("panda", "The View panel shows frames per second.", {"q": BENT, "mode": "fall"}),
    "hand-coordinates.md": Touch(
        "stanford", "Drag the rings at the hand to rotate it.", {"show": {"frames": True}}
    ),
    "inverse-kinematics.md": Touch(
        "puma560", "Drag the hand; the panel lists every solution.", {"q": STANDING}
    ),
    "numeric-inverse-kinematics.md": Touch("panda", "Drag the hand of a redundant arm.", {"q": BENT}),
    "trajectories.md": Touch(
        "puma560", "A motion from pose to pose.", {"q": STANDING, "mode": "plan", "q1": AWAY, "tab": "move"}
    ),
    "simulation.md": Touch("cmu-dd", "Let go, pull it, scrub back.", {"mode": "fall"}, True),
    "rollouts.md": Touch("ur10", "One of a million arms.", {"mode": "fall"}),
    "sim.md": Touch("stanford", "The arm of the interpreter.", {"tab": "move"}),
    "control.md": Touch(
        "puma560",
        "Computed torque; add a payload that is not in its model.",
        {
            "q": STANDING,
            "mode": "track",
            "q1": AWAY,
            "tab": "move",
            "controller": {"name": "computed_torque"},
        },
    ),
    "controllers-in-c.md": Touch(
        "puma560",
        "PD + gravity with encoders of 12 bits.",
        {
            "q": STANDING,
            "mode": "track",
            "q1": AWAY,
            "tab": "move",
            "controller": {"name": "pd_gravity", "bits": 12},
        },
    ),
    "payload.md": Touch(
        "panda", "The load in the hand, up to 10 kg.", {"q": BENT, "payload": 3, "tab": "world"}
    ),
    "friction-study.md": Touch(
        "puma560",
        "Coulomb friction holds joints until gravity is stronger.",
        {"q": STANDING, "mode": "fall", "tab": "world"},
    ),
    "identification.md": Touch("ur10", "Which joints carry the payload? Change it.", {"tab": "world"}),
    "conventions.md": Touch("panda", "The frame of every link.", {"q": BENT, "show": {"frames": True}}),
    "elastic-joints.md": Touch("puma560", "The same arm with rigid joints, to compare.", {"q": STANDING}),
    "counts.md": Touch("puma560-akb", "Armstrong's PUMA, whose inverse dynamics are counted.", {}),
    "schedules.md": Touch("stanford", "The arm whose inverse dynamics are scheduled.", {}),
    "live-studio.md": Touch(
        "ascher2", "What a tab shows, here without a program that sends.", {"q": [0.3, 0.2]}
    ),
    "paths.md": Touch(
        "puma560", "Drag the hand along a line; joints at a limit are marked.", {"q": STANDING}
    ),
    "time-optimal.md": Touch(
        "ur5",
        "From rest to rest within the limits.",
        {"q": REACHING, "mode": "plan", "q1": HIGH, "tab": "move"},
    ),
    "motions.md": Touch(
        "panda",
        "A motion to play; the Export panel saves it as a table.",
        {"q": BENT, "mode": "plan", "q1": [-0.3, -0.2, 0.0, -1.8, 0.0, 1.6, 0.5], "tab": "move"},
    ),
    "optimise.md": Touch(
        "puma560",
        "Bars show what the motors must give, with 2 kg in the hand.",
        {"q": STANDING, "payload": 2},
    ),
    "excitation.md": Touch("ascher2", "In which postures do the torques tell the masses apart?", {}),
    "calibration.md": Touch(
        "panda", "Frames of links, whose placement is calibrated.", {"q": BENT, "show": {"frames": True}}
    ),
    "waters-control.md": Touch("puma560", "Let it go, and pull it.", {"q": STANDING}),
    "documents/swartz.md": Touch("cmu-dd", "The direct-drive arm.", {"mode": "fall"}, True),
    "documents/waters.md": Touch("stanford", "The Stanford arm.", {}),
    "documents/silver.md": Touch("chain3", "Three generic links.", {"mode": "fall"}),
    "documents/mata.md": Touch(
        "ascher2", "The first example: a light bar that carries a heavy one.", {"mode": "fall"}
    ),
    "documents/dhanaraj.md": Touch("puma560-dhanaraj6", "The PUMA of the thesis.", {"q": STANDING}),
}


def page_name(chapter: str) -> str:
    """The file of a chapter's page."""
    return f"{chapter.removesuffix('.md').replace('/', '-')}.html"


def page_of(touch: Touch) -> str:
    """The text of a page of the studio."""
    from forearm.viewer.door import shown_arm
    from forearm.viewer.studio_page import studio_page

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return studio_page([shown_arm(touch.arm, touch.meshes)], summary=touch.words, ask=touch.ask)


def poster(touch: Touch) -> str:
    """The bones of a page's arm as SVG, for where the page is not loaded: yet, without scripts, on paper."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arm = fa.load(touch.arm)
    bones = skeleton(arm, np.array(touch.ask.get("q", np.zeros(arm.n)), dtype=float))
    c, s = np.cos(AZIMUTH), np.sin(AZIMUTH)
    flat = np.array([[-s, c, 0.0], [c * np.sin(ELEVATION), s * np.sin(ELEVATION), -np.cos(ELEVATION)]])
    seen = bones.points @ flat.T
    size = float(np.ptp(seen, axis=0).max()) or 1.0
    (left, top), (width, height) = seen.min(axis=0), np.ptp(seen, axis=0)
    edge = MARGIN * size
    box = f"{left - edge:.4f} {top - edge:.4f} {width + 2 * edge:.4f} {height + 2 * edge:.4f}"
    lines = "".join(
        f"M{a[0]:.4f} {a[1]:.4f}L{b[0]:.4f} {b[1]:.4f}"
        for a, b in (stroke @ flat.T for stroke in bones.strokes)
    )
    dots = [(point @ flat.T, "joint") for _, point, _ in bones.joints] + [(bones.hand @ flat.T, "hand")]
    circles = "".join(
        f'<circle class="{kind}" cx="{x:.4f}" cy="{y:.4f}" r="{0.02 * size:.4f}"/>' for (x, y), kind in dots
    )
    return (
        f'<svg class="poster" viewBox="{box}" role="img" aria-label="{escape(arm.name)}">'
        f'<path d="{lines}" vector-effect="non-scaling-stroke"/>{circles}</svg>'
    )


def live_pages() -> str:
    """Every page of the studio as a poster with its words, for the gallery."""
    cards = [
        f'<a href="{FOLDER}/{page_name(chapter)}">{poster(touch)}<b>{touch.arm}</b>{touch.words}</a>'
        for chapter, touch in CHAPTERS.items()
    ]
    return f'<div class="gallery">{"".join(cards)}</div>'


def github_slug(title: str, separator: str) -> str:
    """The anchor of a heading as GitHub writes it, where the same pages are read too."""
    return re.sub(r"\s", separator, re.sub(r"[^\w\s-]", "", title).strip().lower())


def on_config(config: Any) -> None:
    """Anchors, the package's version, and its colours as CSS variables."""
    config["mdx_configs"].setdefault("toc", {})["slugify"] = github_slug
    colours = " ".join(f"--{name}: light-dark({PAGE[name]}, {PAGE_ON_DARK[name]});" for name in PAGE)
    config["extra"] |= {"version": fa.__version__, "colours": f":root {{ {colours} }}"}


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """The chapter with its arm before the second heading."""
    if LIVE_PAGES in markdown:
        return markdown.replace(LIVE_PAGES, live_pages())
    touch = CHAPTERS.get(page.file.src_uri)
    if touch is None:
        return markdown
    up = "../" * page.file.src_uri.count("/")
    source = posixpath.join(up, FOLDER, page_name(page.file.src_uri))
    stage = f'<div class="stage" data-page="{source}" data-title="{touch.arm} in the studio">'
    words = f'<figcaption>{touch.words} <a href="{source}">Open as a page</a></figcaption>'
    frame = f'\n\n<figure class="live">{stage}{poster(touch)}</div>{words}</figure>\n\n'
    head, mark, rest = markdown.partition("\n## ")
    return f"{head}{frame}{mark}{rest}"


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Tables in frames that scroll, and GitHub's alerts as notes."""
    html = html.replace("<table>", '<div class="table" tabindex="0" role="group" aria-label="Table"><table>')
    html = html.replace("</table>", "</table></div>")
    return re.sub(r"<blockquote>\s*<p>\[!([A-Z]+)\]\s*(.*?)</blockquote>", _note, html, flags=re.S)


def _note(found: re.Match[str]) -> str:
    kind = found[1].lower()
    return f'<div class="note {kind}" role="note"><b>{kind.capitalize()}</b><p>{found[2]}</div>'


def on_post_build(config: Any) -> None:
    """The pages that the chapters show."""
    folder = Path(config["site_dir"]) / FOLDER
    folder.mkdir(exist_ok=True)
    for chapter, touch in CHAPTERS.items():
        (folder / page_name(chapter)).write_text(page_of(touch), encoding="utf-8")
