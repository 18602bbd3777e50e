"""`fa.fmu`: an arm as a Functional Mock-up Unit, one file for simulators."""

from __future__ import annotations

import hashlib
import io
import os
import warnings
import zipfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from forearm.arm.arm import Arm, check_arm
from forearm.arm.joint import Frame, Joint
from forearm.arm.link import Link
from forearm.drives.coordinates import coordinates_of, refuse_drive_states
from forearm.drives.motor import constants_of
from forearm.errors import InputError, Keyword, ModelError, Sentence, StepWarning, shorten
from forearm.fmi.binaries import PLATFORMS, library, possible
from forearm.fmi.c_source import c_source
from forearm.fmi.description import Described, build_description, description_2, description_3
from forearm.fmi.model_functions import METHOD, FmuModel
from forearm.fmi.module import model_parts, module_text
from forearm.fmi.naming import model_identifier, unique
from forearm.fmi.variables import FmuVariable, Starts, variables_of
from forearm.kinematics.arguments import states_of
from forearm.kinematics.limits import limits_of
from forearm.reading.textfile import write_bytes
from forearm.records import choice, flag, flat, number, record
from forearm.reduction.symbolic import chosen_parameters
from forearm.simulation.stability import fastest_decay, longest_step
from forearm.simulation.windings import has_inductance
from forearm.values import check_choice

VERSIONS = (2, 3)
DRIVES = ("torque", "voltage")
SOURCE = "forearm_fmu.c"
DESCRIBED = {2: description_2, 3: description_3}
TIME = (1980, 1, 1, 0, 0, 0)  # timestamp of every file in the archive: the earliest that ZIP supports


@dataclass(frozen=True)
class Fmu:
    """An exported FMU.

    Attributes:
        path: the file.
        version: FMI version, 2 or 3.
        identifier: the name of its libraries.
        token: the GUID or instantiation token, which changes with the content.
        inputs, outputs, parameters: names of its variables.
        platforms: the platforms that it contains a library for.
        size: size of the file, bytes.
    """

    path: Path
    version: int
    identifier: str
    token: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    parameters: tuple[str, ...]
    platforms: tuple[str, ...]
    size: int


@record
class FmuOptions:
    """What an FMU simulates, and how."""

    drive: str = choice('input of the joints, "torque" or motor "voltage"', DRIVES, default="torque")
    step: float = number(
        "longest internal step of co-simulation, a parameter of the FMU; in model exchange the simulator's "
        "solver chooses the steps",
        "s",
        above=0.0,
        default=1e-3,
    )
    payload: bool = flag(
        "whether mass and position of a point mass in the hand can be set (default: 0 kg)", default=False
    )


@flat(options=FmuOptions)
def fmu(
    arm: Arm,
    file: str | os.PathLike[str],
    *,
    version: int = 3,
    options: FmuOptions | None = None,
    q0: ArrayLike | None = None,
    qd0: ArrayLike | None = None,
    parameters: Iterable[str] = (),
    platforms: Iterable[str] | None = None,
) -> Fmu:
    """Write an arm with its drives as a Functional Mock-up Unit for co-simulation and model exchange.

    Args:
        arm: the arm.
        file: the file to write; the name should end in .fmu.
        version: FMI version, 2 or 3.
        options: some of the following options as a record.
        q0, qd0: initial coordinates (n,), rad or m, and velocities (n,), rad/s or m/s, which are parameters
            of the FMU; None: 0, or the nearest within limits.
        parameters: parameters of the arm that can be set in the simulator, such as "joint2.friction" or
            "link3.mass", named as for `compile`; gravity can always be set.
        platforms: platforms to include a library for: "x86_64-linux", "x86_64-windows", "aarch64-linux";
            None: all that the FMI version names and LLVM supports. Every FMU also contains its C source.
    """
    check_arm(arm, "fmu, arm")
    if not arm.n:
        raise InputError(f"{arm.name!r} has no movable joint.", "fmu", "arm")
    if isinstance(version, bool) or version not in VERSIONS:
        raise InputError(f"expected 2 or 3, got {shorten(version)}.", "fmu", "version")
    refuse_drive_states(arm, "fmu")
    options = options or FmuOptions()
    systems = _systems(platforms, version)
    model = _model(arm, options.drive == "voltage", parameters, options.payload)
    starts = _starts(arm, q0, qd0, options.step)
    _warn_of_long_steps(arm, model.voltage, starts)
    variables = variables_of(model, starts)
    content, token = contents(model, variables, version, systems)
    packed = _packed(content)
    path = _path(file)
    write_bytes(path, packed)

    def names(causality: str) -> tuple[str, ...]:
        return tuple(v.name for v in variables if v.causality == causality)

    told = (names("input"), names("output"), names("parameter"))
    return Fmu(path, version, model_identifier(arm.name), token, *told, tuple(systems), len(packed))


def contents(
    model: FmuModel, variables: Sequence[FmuVariable], version: int, systems: Sequence[str]
) -> tuple[dict[str, bytes], str]:
    """The files of an FMU by name, and its token."""
    arm, identifier = model.arm, model_identifier(model.arm.name)
    targets = dict.fromkeys([PLATFORMS["x86_64-linux"].target, *(PLATFORMS[s].target for s in systems)])
    parts = {target: model_parts(model, target) for target in targets}

    def described(token: str) -> str:
        said = (
            f"The arm {arm.name} with {arm.n} joints, driven by {'voltages' if model.voltage else 'torques'}"
        )
        return DESCRIBED[version](Described(arm.name, identifier, said, token, variables, [SOURCE]))

    first = next(iter(targets))
    told = "\n".join([described(""), *parts[first], str(version)])
    digest = hashlib.sha256(told.encode("utf-8")).hexdigest()
    token = "{" + "-".join((digest[:8], digest[8:12], digest[12:16], digest[16:20], digest[20:32])) + "}"
    texts = {
        target: module_text(model, parts[target], variables, version, token, target) for target in targets
    }
    files = {"modelDescription.xml": described(token).encode("ascii")}
    for system in systems:
        platform = PLATFORMS[system]
        text, exported = texts[platform.target]
        name = f"binaries/{platform.folders[version]}/{identifier}{platform.ending}"
        files[name] = library(text, platform, exported, identifier)
    files[f"sources/{SOURCE}"] = c_source(*texts[first], version).encode("ascii")
    if version == 3:
        files["sources/buildDescription.xml"] = build_description(identifier, [SOURCE]).encode("ascii")
    return files, token


def _systems(platforms: Iterable[str] | None, version: int) -> list[str]:
    can = possible(version)
    if platforms is None:
        return can
    asked = [platforms] if isinstance(platforms, str) else list(platforms)
    for name in asked:
        check_choice(name, list(PLATFORMS), "fmu, platforms")
        if version not in PLATFORMS[name].folders:
            raise InputError(
                Sentence(f"FMI 2 has no name for {name}; use ", Keyword("version", 3), ", or leave it out."),
                "fmu",
                "platforms",
            )
        if name not in can:
            raise InputError(
                f"the installed llvmlite does not support {name}; leave it out.", "fmu", "platforms"
            )
    return [name for name in PLATFORMS if name in asked]


def _model(arm: Arm, voltage: bool, parameters: Iterable[str], payload: bool) -> FmuModel:
    if voltage:
        constants_of(arm)
        if has_inductance(arm):
            raise InputError(
                f"motors of {arm.name!r} have inductance, which an FMU does not model; use "
                "forearm.simulation.without_inductance(arm).",
                "fmu",
                "drive",
            )
    asked = [parameters] if isinstance(parameters, str) else list(parameters)
    if payload:
        arm, name = _with_open_payload(arm)
        asked += [f"{name}.mass", f"{name}.com"]
    return FmuModel(arm, voltage, chosen_parameters(arm, ["gravity", *asked]))


def _with_open_payload(arm: Arm) -> tuple[Arm, str]:
    """The arm with a massless link in its hand, and the link's name."""
    link = unique("payload", (link.name for link in arm.links))
    joint = unique("payload_joint", (joint.name for joint in arm.tree))
    held = Joint(
        name=joint, kind="fixed", parent=arm.hand.link, child=link, placement=Frame.from_pose(arm.hand.pose)
    )
    return arm.replace(links=(*arm.links, Link(name=link)), tree=(*arm.tree, held)), link


def _starts(arm: Arm, q0: ArrayLike | None, qd0: ArrayLike | None, step: float) -> Starts:
    rest = np.zeros(arm.n)
    try:
        lower, upper = limits_of(arm)
    except ModelError:  # the limits of a joint and of those that mimic it leave no range
        lower, upper = rest - np.inf, rest + np.inf
    usual = np.clip(rest, lower, upper)
    q, qd = states_of(arm, q0=usual if q0 is None else q0, qd0=rest if qd0 is None else qd0)
    if q.ndim != 1 or not (np.isfinite(q).all() and np.isfinite(qd).all()):
        raise InputError(f"fmu, q0 and qd0: expected {arm.n} finite numbers each.")
    for joint, x, low, high in zip(arm.joints, q, lower, upper, strict=True):
        if not low <= x <= high:
            raise InputError(
                f"{x:g} is outside the limits of joint {shorten(joint.name)}, {low:g} to {high:g}.",
                "fmu",
                "q0",
            )
    return Starts(q.tolist(), qd.tolist(), step, lower.tolist(), upper.tolist())


def _warn_of_long_steps(arm: Arm, voltage: bool, starts: Starts) -> None:
    rate, freedom = fastest_decay(coordinates_of(arm), voltage, np.array(starts.q0))
    most = longest_step(METHOD, rate)
    if starts.step > most:
        warnings.warn(
            f"fmu, step: steps of {starts.step:g} s are too long for {arm.joints[freedom].name}, which its "
            f"drive brakes within {1.0 / abs(rate):.2g} s: co-simulation would be unstable. Use steps "
            f"of at most {most:.2g} s; model exchange is not affected.",
            StepWarning,
            stacklevel=4,
        )


def _packed(files: dict[str, bytes]) -> bytes:
    """The archive, the same bytes on every machine: not compressed, as compression libraries differ."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            about = zipfile.ZipInfo(name, TIME)
            about.create_system = 3
            about.external_attr = (0o755 if name.startswith("binaries/") else 0o644) << 16
            archive.writestr(about, content)
    return stream.getvalue()


def _path(file: str | os.PathLike[str]) -> Path:
    try:
        return Path(os.path.abspath(file))
    except (TypeError, ValueError):
        raise InputError(f"expected a path such as panda.fmu, got {shorten(file)}.", "fmu", "file") from None
