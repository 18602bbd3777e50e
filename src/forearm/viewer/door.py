"""`fa.studio`: an arm, or several side by side, as a page to view, pose and simulate."""

from __future__ import annotations

import html
import os
import shlex
import sys
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, overload

from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.drives.coordinates import coordinates_of
from forearm.errors import ForearmError, InputError, ModelWarning, shorten
from forearm.files import load
from forearm.files.builtin import is_builtin
from forearm.kinematics.arguments import one_state
from forearm.reading.textfile import write_text
from forearm.simulation.result import Simulation
from forearm.values import check_ending, check_whole
from forearm.viewer.live import LiveStudio, is_script, live_studio
from forearm.viewer.recording import Json, recording_of, summary_of
from forearm.viewer.studio_page import TRIANGLES as TRIANGLES
from forearm.viewer.studio_page import ShownArm as ShownArm
from forearm.viewer.studio_page import studio_page
from forearm.visuals.load import load_visuals

ENDINGS = (".html", ".htm")
MOST_ARMS = 4
SLACK = 1e-9  # rad, m: tolerance for rounding at limits
HEIGHT = 640  # px in a notebook
PathLike = str | os.PathLike[str]
ArmLike = Arm | PathLike
Arms = ArmLike | Sequence[ArmLike]
Packages = Mapping[str, PathLike] | None


@dataclass(frozen=True)
class StudioPage:
    """A page that was written.

    Attributes:
        path: its location.
        missing: mesh files that could not be shown, with the reason.
    """

    path: Path
    missing: tuple[str, ...] = ()

    def __repr__(self) -> str:
        said = f", {len(self.missing)} meshes missing" if self.missing else ""
        return f"<studio page {str(self.path)!r}{said}; open it in a browser>"

    def _repr_html_(self) -> str:
        """The page itself, in an iframe."""
        text = html.escape(self.path.read_text(encoding="utf-8"))
        return f'<iframe srcdoc="{text}" style="width:100%;height:{HEIGHT}px;border:0"></iframe>'


@overload
def studio(
    arm: Arms,
    path: PathLike,
    *,
    meshes: bool | PathLike = ...,
    packages: Packages = ...,
    triangles: int = ...,
    q: ArrayLike | None = ...,
) -> StudioPage: ...


@overload
def studio(
    arm: Arms,
    path: None = None,
    *,
    meshes: bool | PathLike = ...,
    packages: Packages = ...,
    triangles: int = ...,
    q: ArrayLike | None = ...,
    host: str | None = ...,
    port: int = ...,
) -> LiveStudio: ...


def studio(
    arm: Arms,
    path: PathLike | None = None,
    *,
    meshes: bool | PathLike = False,
    packages: Packages = None,
    triangles: int = TRIANGLES,
    q: ArrayLike | None = None,
    host: str | None = None,
    port: int = 0,
) -> StudioPage | LiveStudio:
    """Write one offline page that contains the arm's own dynamics. Without a path, serve it on this machine
    and show what the program sends.

    A script that sends nothing prints the address at its end and serves the page until Ctrl-C.

    Args:
        arm: an arm, or a name or file for `fa.load`; up to four of them are shown side by side.
        path: the page to write, .html; None: a `LiveStudio` serves it.
        meshes: whether to include the meshes of a URDF, MJCF or parts file; for an Arm, that file's name.
            Without meshes the arm is drawn as a skeleton.
        packages: folders of `package://` by name, as for `fa.load`.
        triangles: upper limit for all meshes together.
        q: initial joint coordinates (n,), rad or m; None: 0, or the nearest within limits.
        host: live studio only: address or name to listen on; requests then need the token that is in its
            `url`. None: this machine only, without a token.
        port: live studio only: port to listen on; 0: a free one.
    """
    some: list[Any] = list(arm) if isinstance(arm, list | tuple) else [arm]
    shown = [shown_arm(each, meshes, packages) for each in some]
    if path is not None:
        return write_studio(shown, path, triangles=triangles, q=q)
    ask = _checked_ask(shown, triangles, q)
    live = live_studio(
        lambda policy, script: studio_page(
            shown, triangles=triangles, ask=ask, policy=policy, more_script=script
        ),
        [each.arm for each in shown],
        host=host,
        port=port,
    )
    live.is_awaited = is_script(sys._getframe(1).f_globals.get("__name__", ""))
    return live


def write_studio(
    shown: Sequence[ShownArm], path: PathLike, *, triangles: int = TRIANGLES, q: ArrayLike | None = None
) -> StudioPage:
    """Write a page for prepared arms, atomically."""
    check_ending(path, ENDINGS, "a page for a browser")
    ask = _checked_ask(shown, triangles, q)
    write_text(path, studio_page(shown, triangles=triangles, ask=ask))
    missing = [str(entry) for each in shown if each.visuals is not None for entry in each.visuals.missing]
    return StudioPage(Path(path), tuple(missing))


def _checked_ask(shown: Sequence[ShownArm], triangles: int, q: ArrayLike | None) -> Json:
    """The initial state of the page."""
    if not 1 <= len(shown) <= MOST_ARMS:
        raise InputError(f"expected 1 to {MOST_ARMS} arms, got {len(shown)}.", "studio")
    check_whole(triangles, "studio, triangles", 100, 1_000_000)
    for each in shown:
        check_arm(each.arm, "studio", moves=True)
        _warn_of_drive_states(each.arm)
    return {} if q is None else {"q": _within_limits(shown[0].arm, q)}


def _within_limits(arm: Arm, q: ArrayLike) -> list[float]:
    """A configuration that the page can show: its sliders end at the limits."""
    (posture,) = one_state(arm, "studio", q=q)
    for joint, value in zip(arm.joints, posture.tolist(), strict=True):
        low, high = joint.limits
        if not low - SLACK <= value <= high + SLACK:
            unit = "rad" if joint.kind == "revolute" else "m"
            raise InputError(
                f"{joint.name}: expected {low:g} to {high:g} {unit}, its limits, got {value:g}.",
                "studio",
                "q",
            )
    return [float(x) for x in posture]


def write_recording(simulation: Simulation, path: PathLike) -> None:
    """Write a page that plays a simulation, atomically."""
    check_ending(path, ENDINGS, "a page for a browser")
    write_text(path, recording_page(simulation))


def recording_page(simulation: Simulation, plays: bool = False) -> str:
    """The text of a page that contains a simulation and plays it when opened (`plays`)."""
    return studio_page(
        [ShownArm(simulation.arm, *origin_of(simulation.arm))],
        summary=summary_of(simulation),
        recording=recording_of(simulation),
        ask={"mode": "play"} if plays else {},
    )


def shown_arm(given: ArmLike, meshes: bool | PathLike = False, packages: Packages = None) -> ShownArm:
    """An arm, given as such or by name or file, prepared for display."""
    if isinstance(given, Arm):
        if meshes is True:
            raise InputError(
                "an Arm contains no meshes; pass the file it was loaded from: meshes='robot.urdf'.",
                "studio",
                "meshes",
            )
        check_arm(given, "studio", moves=True)
        seen = load_visuals(meshes, packages=packages) if meshes else None
        return ShownArm(given, *origin_of(given), seen)
    if not isinstance(given, str | os.PathLike):
        raise InputError(f"expected an Arm, a name or a file, got {shorten(given)}.", "studio")
    arm, text = load(given, packages=packages), os.fspath(given)
    check_arm(arm, "studio", moves=True)
    source = given if meshes is True else meshes
    seen = load_visuals(source, packages=packages) if source else None
    return ShownArm(arm, f"fa.load({text!r})", shlex.quote(text), seen)


def _warn_of_drive_states(arm: Arm) -> None:
    """Report that a page does not simulate an arm whose drives have states of their own."""
    if not coordinates_of(arm).is_plain:
        warnings.warn(
            f"studio: {arm.name!r} has elastic joints or LuGre friction, which the page does not simulate: "
            "it shows poses, and plays simulations (Simulation.to_html).",
            ModelWarning,
            stacklevel=5,
        )


def origin_of(arm: Arm) -> tuple[str, str]:
    """How Python and the command line load an arm: a built-in one by its name, others from the arm file
    that the page can save.
    """
    name = arm.name
    try:
        is_known = is_builtin(name) and load(name) == arm
    except ForearmError:
        is_known = False
    if not is_known:
        plain = "".join(c if c.isascii() and (c.isalnum() or c in "_-") else "_" for c in name)[:60] or "arm"
        name = f"{plain}.toml"
    return f"fa.load({name!r})", shlex.quote(name)
