"""A studio page with a stand-in for its engine: small arms whose dynamics are written out in
`stand_in.js`, for tests of the page itself.
"""

from __future__ import annotations

import base64
import math
from pathlib import Path
from typing import Any

import numpy as np

import forearm
from forearm.pages import filled_in, html_page
from forearm.palette import page_colours
from forearm.viewer.studio_page import INKS, INKS_ON_DARK, LOOK, POLICY, inside_script

HERE = Path(__file__).parent
PAGE = Path(forearm.__file__).parent / "viewer" / "page"
EYE = np.eye(4)


def page(arms: list[dict[str, Any]], **more: Any) -> str:
    """The text of a page for these arms, whose engine and words are the stand-in's."""
    document = {"version": "0", "look": LOOK, "arms": arms, "meshes": [box()], "recording": None} | more
    names = (PAGE / "order.txt").read_text(encoding="utf-8").split()
    files = [
        HERE / "stand_in.js" if name == "engine.js" else PAGE / name for name in names if name != "words.js"
    ]
    scripts = "\n".join(file.read_text(encoding="utf-8") for file in files)
    parts = {
        "title": "Stand-in",
        "summary": "An arm that is made up",
        "data": inside_script(document),
        "script": f'"use strict";\n(() => {{\n{scripts}\n}})();',
    }
    body = filled_in(PAGE / "studio.html", parts)
    return html_page("Stand-in", body, PAGE / "studio.css", page_colours(INKS, INKS_ON_DARK), policy=POLICY)


def box() -> dict[str, Any]:
    """A box of 0.08 x 0.08 x 1 with its foot at the origin, as a mesh of the data."""
    corners = np.array([[x, y, z] for z in (0, 1) for y in (-0.04, 0.04) for x in (-0.04, 0.04)], "<f4")
    faces = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
    positions = corners[[k for face in faces for k in face]]
    triangles = np.array([[4 * f, 4 * f + a, 4 * f + a + 1] for f in range(6) for a in (1, 2)], "<u2")
    return {
        "positions": base64.b64encode(positions.tobytes()).decode(),
        "normals": None,
        "triangles": base64.b64encode(triangles.tobytes()).decode(),
        "wide": False,
    }


def three(name: str = "three", shapes: bool = True) -> dict[str, Any]:
    """A waist, a shoulder and an elbow."""
    rows = (
        ("waist", True, (0.0, 0.0, 1.0), (0.0, 0.0, 0.35), 0.35, 8.0, 3.0),
        ("shoulder", True, (0.0, 1.0, 0.0), (0.0, 0.0, 0.1), 0.5, 5.0, 2.2),
        ("elbow", True, (0.0, 1.0, 0.0), (0.0, 0.0, 0.5), 0.45, 3.0, 2.6),
    )
    arm = _arm(name, rows, (0.0, 0.0, 0.45), [0.4, 0.6, 1.1], shapes)
    return arm | {"elbow": [0.0, 0.2, 1.2]}


def six(name: str = "six") -> dict[str, Any]:
    """Six turning joints, the last three in a wrist."""
    rows = (
        ("joint_1", True, (0.0, 0.0, 1.0), (0.0, 0.0, 0.4), 0.1, 12.0, 2.9),
        ("joint_2", True, (0.0, 1.0, 0.0), (0.06, 0.0, 0.05), 0.45, 9.0, 2.0),
        ("joint_3", True, (0.0, 1.0, 0.0), (0.0, 0.0, 0.5), 0.2, 5.0, 2.6),
        ("joint_4", True, (0.0, 0.0, 1.0), (0.0, 0.0, 0.25), 0.2, 2.5, 3.1),
        ("joint_5", True, (0.0, 1.0, 0.0), (0.0, 0.0, 0.25), 0.05, 1.2, 2.1),
        ("joint_6", True, (0.0, 0.0, 1.0), (0.0, 0.0, 0.08), 0.05, 0.4, 3.1),
    )
    return _arm(name, rows, (0.0, 0.0, 0.1), [0.5, 0.5, 1.0, 0.4, 0.7, 0.0], shapes=False)


def sliding(name: str = "scara") -> dict[str, Any]:
    """Two turns and a slide."""
    rows = (
        ("first", True, (0.0, 0.0, 1.0), (0.0, 0.0, 0.5), 0.1, 6.0, 2.5),
        ("second", True, (0.0, 0.0, 1.0), (0.4, 0.0, 0.05), 0.1, 4.0, 2.5),
        ("quill", False, (0.0, 0.0, 1.0), (0.35, 0.0, 0.0), 0.1, 1.0, 0.2),
    )
    return _arm(name, rows, (0.0, 0.0, -0.15), [0.4, 0.8, 0.05], shapes=False)


def _arm(
    name: str, rows: tuple[Any, ...], hand: tuple[float, float, float], home: list[float], shapes: bool
) -> dict[str, Any]:
    bodies, joints = [], []
    for k, (joint, revolute, axis, offset, length, mass, most) in enumerate(rows):
        before = EYE.copy()
        before[:3, 3] = offset
        scale = np.diag([1.0, 1.0, length, 1.0]).ravel().tolist()
        inertia = [mass * (length**2 + 0.02) / 12, mass * (length**2 + 0.025) / 12, mass * 0.004]
        bodies.append(
            {
                "name": f"link {k + 1}", "joint": joint, "parent": k - 1, "freedom": k, "revolute": revolute,
                "axis": list(axis), "mass": mass, "com": [0.01, 0.02, 0.45 * length], "inertia": inertia,
                "before": before.ravel().tolist(),
                "ellipsoid": {"radii": [0.05, 0.06, 0.5 * length + 0.03], "rotation": np.eye(3).ravel().tolist()},
                "shapes": [{"mesh": 0, "pose": scale, "colour": None}] if shapes else [],
                "frames": [{"name": f"link {k + 1}", "pose": EYE.ravel().tolist()}],
            }
        )  # fmt: skip
        joints.append(
            {
                "name": joint, "kind": "revolute" if revolute else "prismatic", "unit": "rad" if revolute else "m",
                "lower": -most, "upper": most, "velocity": 2.0 if revolute else 0.5, "acceleration": 5.0,
                "effort": 12.0 * mass, "voltage": 24.0, "friction": True, "viscous": 0.3 * mass, "coulomb": 0.15 * mass,
            }
        )  # fmt: skip
    end = EYE.copy()
    end[:3, 3] = hand
    return {
        "name": name, "title": name, "python": f'fa.load("{name}")', "command": name, "n": len(rows),
        "joints": joints, "bodies": bodies, "base": {"pose": EYE.ravel().tolist(), "shapes": [], "frames": []},
        "hand": {"body": len(rows) - 1, "pose": end.ravel().tolist(), "link": "hand"}, "gravity": [0.0, 0.0, -9.81],
        "home": home, "missing": [], "reach": sum(math.hypot(*row[3]) for row in rows) + math.hypot(*hand),
        "laws": [
            {"name": "computed_torque", "label": "computed torque", "has_gains": True},
            {"name": "pd", "label": "proportional and derivative", "has_gains": True},
        ],
        "has_motors": True, "payload_at": "in the hand",
    }  # fmt: skip


def recording(frames: int = 200) -> dict[str, Any]:
    """Three joints in sines for two seconds, as a recorded simulation."""
    t = np.linspace(0.0, 2.0, frames)
    q = np.array([np.sin(t), 0.5 * np.sin(2 * t), 0.4 * np.cos(t)])
    qd = np.array([np.cos(t), np.cos(2 * t), -0.4 * np.sin(t)])

    def panel(title: str, columns: np.ndarray[Any, Any], names: list[str], joints: bool) -> dict[str, Any]:
        text = base64.b64encode(columns.astype("<f4").tobytes()).decode()
        return {"title": title, "joints": joints, "names": names, "data": text}

    names = ["waist", "shoulder", "elbow"]
    return {
        "start": 0.0, "end": 2.0, "frames": frames, "happened": 1,
        "panels": [
            panel("position, rad", q, names, True), panel("velocity, rad/s", qd, names, True),
            panel("torque, N m", 3 * q, names, True), panel("energy, J", qd[:2] ** 2, ["kinetic", "potential"], False),
        ],
        "events": [{"t": 0.75, "kind": "stop", "joint": "elbow", "text": "<b>stands</b>"}],
    }  # fmt: skip


if __name__ == "__main__":
    import sys

    made = {"three": three, "six": six, "scara": sliding}
    print(page([made[name]() for name in sys.argv[1:] or ["six"]]))
