"""The mistakes that the recipes name: each leaves the message that its page quotes, as an error, a warning
or an answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import forearm as fa

REST = np.zeros(6)
POSE = np.eye(4)
AT = [0.0, -0.5, 0.0, -2.0, 0.0, 1.5, 0.7]  # within the limits of the Panda


def texts(arm: fa.Arm) -> list[str]:
    """The findings of a check."""
    return [finding.text for finding in fa.checking.check(arm)]


def changed_urdf(pattern: str, new: Any) -> fa.Arm:
    """The UR5, each match in its URDF replaced."""
    fa.load("ur5").to_urdf("changed.urdf")
    text = Path("changed.urdf").read_text(encoding="utf-8")
    Path("changed.urdf").write_text(re.sub(pattern, new, text), encoding="utf-8")
    return fa.load("changed.urdf")


def without(framework: str, call: Callable[[Any], Any]) -> Any:
    """What a kernel says where a framework is missing."""
    if find_spec(framework) is not None:
        pytest.skip(f"{framework} is installed")
    call(fa.compile(fa.load("panda")))


def parts(section: str) -> fa.Arm:
    Path("links.parts.toml").write_text(
        'schema = "forearm-parts/1"\nmaterials = { aluminium = 2700 }\n[[link]]\nname = "link1"\n'
        f'[[link.part]]\nname = "tube"\nsection = [{{ shape = "sphere", radius = 0.1{section} }}]\n',
        encoding="utf-8",
    )
    Path("one.toml").write_text(
        'schema = "forearm-arm/1"\nname = "one"\nparts = "links.parts.toml"\n[[joint]]\nkind = "revolute"\n'
        '[[link]]\nname = "link1"\n',
        encoding="utf-8",
    )
    return fa.load("one.toml")


def mjcf(body: str) -> fa.Arm:
    Path("arm.xml").write_text(f"<mujoco><worldbody>{body}</worldbody></mujoco>", encoding="utf-8")
    return fa.load("arm.xml")


BODY = '<body name="{0}"><inertial pos="0 0 0.1" mass="1" diaginertia="0.1 0.1 0.1"/><joint {1}/></body>'


TABLE = np.array([[0.0, np.pi / 2, 0.3, 0.0], [0.45, 0.0, 0.0, 0.0]])
COM = [[0.0, -0.1, 0.0], [-0.2, 0.0, 0.0]]
BODIES: dict[str, Any] = {"convention": "standard", "mass": [4.0, 5.0], "com": COM}


def no_rotation() -> Any:
    T = np.diag([1.0, 1.0, -1.0, 1.0])
    fa.kinematics.inverse(fa.load("ur5"), T)


def out_of_reach() -> Any:
    T = np.eye(4)
    T[:3, 3] = 400.0, -100.0, 500.0
    answer: Any = fa.kinematics.inverse(fa.load("ur5"), T)
    return answer.message


def millimetres_in_a_pose() -> Any:
    T = fa.kinematics.forward(fa.load("panda"), AT)
    T[:3, 3] *= 1000.0
    return fa.kinematics.inverse_numeric(fa.load("panda"), T, start=AT).message


def line_too_fast() -> Any:
    arm, q = fa.load("ur5"), np.array([0.2, -1.4, 1.6, -0.4, 1.2, 0.0])
    place = fa.kinematics.forward(arm, q)[:3, 3]
    return fa.plan(arm, fa.trajectories.hand_line(arm, q, place + [0, 0.25, 0.1], 3.0, 40.0)).warnings


def line_out_of_reach() -> Any:
    arm, q = fa.load("ur5"), np.array([0.2, -1.4, 1.6, -0.4, 1.2, 0.0])
    place = fa.kinematics.forward(arm, q)[:3, 3]
    return fa.plan(arm, fa.trajectories.hand_line(arm, q, 3 * place, 0.2, 1.0)).warnings


def no_jerk() -> Any:
    arm = fa.load("panda")
    rest = np.zeros(7)
    limits = fa.trajectories.arm_limits(arm, acceleration=5.0)
    fa.trajectories.jerk_limited(AT, rest, rest, rest, rest, rest, limits)


def target_beyond_a_limit() -> Any:
    arm = fa.load("panda")
    rest = np.zeros(7)
    limits = fa.trajectories.arm_limits(arm, acceleration=5.0, jerk=60.0)
    fa.trajectories.jerk_limited(AT, rest, rest, rest, rest, rest, limits)


def nothing_feasible() -> Any:
    arm = fa.load("puma560")
    study = fa.Study(
        "gears",
        arm,
        {"joint2.motor.gear_ratio": [20.0, 40.0]},
        ["required_energy", "required_torque_margin"],
        motion=[REST, REST + 0.3],
    )
    return fa.optimise(
        study, minimise="required_energy", subject_to={"required_torque_margin": (0.9, None)}
    ).message


def no_gpu() -> Any:
    fa.compile(fa.load("panda"), device="cuda").gravity(np.zeros((10, 7)))
    pytest.skip("this machine has a GPU")


def another_dtype_on_the_gpu() -> Any:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("no GPU")
    fa.compile(fa.load("panda"), device="cuda").gravity(torch.zeros(10, 7, device="cuda"))


def tensors_of_single_precision() -> Any:
    torch = pytest.importorskip("torch")
    fa.compile(fa.load("panda")).torch.gravity(torch.zeros(7))


def kernel_without_gradient() -> Any:
    torch = pytest.importorskip("torch")
    fa.compile(fa.load("panda")).gravity(torch.zeros(7, dtype=torch.float64, requires_grad=True))


def arrays_of_single_precision() -> Any:
    jax = pytest.importorskip("jax")
    fa.compile(fa.load("panda")).jax.gravity(jax.numpy.zeros(7, dtype="float32"))


def casadi_in_single_precision() -> Any:
    pytest.importorskip("casadi")
    fa.compile(fa.load("panda"), dtype="float32").casadi("inverse_dynamics")


def gradient_of_sticking_joints() -> Any:
    k = fa.compile(fa.load("puma560"))
    end = k.simulate(np.zeros((2, 6)), REST, steps=10, step=1e-3, torque=REST, record=1)
    k.simulate_gradient(end, (end.q, end.qd), record=1, steps=10, step=1e-3, torque=REST)


def study_changed() -> Any:
    for mass in (0.1, 0.2):
        study = fa.Study(
            "a", "ascher2", {"payload.mass": [mass]}, ["work"], torque=[1, 0], duration=0.01, design="grid"
        )
        fa.sweep(study, folder="results")


def log() -> dict[str, Any]:
    t = np.arange(0.0, 4.0, 4e-3)
    q = 0.5 * np.sin(t[:, None] * [1.1, 1.7, 2.3])
    return {"t": t, "q": q, "tau": 10.0 * q}


def three_joints() -> fa.Arm:
    return fa.load("ur5").lock({f"wrist_{k}_joint": 0.0 for k in (1, 2, 3)})


def columns_for_some_joints() -> Any:
    rows = np.column_stack([log()["t"], log()["q"], log()["tau"]])
    np.savetxt("log.csv", rows, delimiter=",", header="t,q1,q2,q3,tau1,tau2,tau3", comments="")
    fa.identify(fa.load("ur5"), "log.csv", torque_side="motor")


def friction_by_load() -> Any:
    arm = three_joints().with_drives(bearings=(fa.Bearing(kind="thrust", mu=0.1, radius=0.05),))
    fa.identification.payload_from_log(arm, log())


def measured() -> tuple[fa.Arm, Any, Any]:
    arm = fa.load("ur5")
    q = np.random.default_rng(0).uniform(-1.5, 1.5, (20, 6))
    return arm, q, fa.kinematics.forward(arm, q)


def poses_in_millimetres() -> Any:
    arm, q, poses = measured()
    poses[:, :3, 3] *= 1000.0
    fa.identification.calibrate(arm, q, poses=poses, unknowns="offsets")


def sign_of_a_joint() -> Any:
    arm, q, poses = measured()
    q[:, 2] *= -1.0
    fa.identification.calibrate(arm, q, poses=poses, unknowns="offsets")


def too_few_poses() -> Any:
    arm, q, poses = measured()
    fa.identification.calibrate(arm, q[:1], poses=poses[:1], unknowns="offsets")


def columns_of_another_system() -> Any:
    made = log()
    fa.identification.compare_log(three_joints(), {"t": made["t"], "angle": made["q"], "moment": made["tau"]})


def log_too_short() -> Any:
    made = {name: values[:12] for name, values in log().items()}
    fa.identify(three_joints(), made, torque_side="motor")


def a_step_too_long() -> Any:
    arm = fa.load("panda").with_drives(friction=fa.Friction(viscous=2000.0))
    fa.simulate(arm, AT, np.zeros(7), 0.1, method="rk4", step=2e-3)


def controller_that_is_none() -> Any:
    arm = fa.load("puma560")
    fa.control.compare(arm, fa.control.default_motion(arm), ["PD+gravity"])


def no_range() -> Any:
    from forearm.control.fixed_code import fixed_point

    fixed_point(fa.load("puma560"), "pd_gravity", {"q": 3.2, "qd": 1.5})


def springs() -> Any:
    arm = fa.load("panda").with_drives(motor=fa.Motor(gear_ratio=100, rotor_inertia=6e-5))
    fa.fmu(arm.with_drives(elasticity=fa.Elasticity(stiffness=14000.0)), "soft.fmu")


def springs_in_a_page() -> Any:
    arm = fa.load("panda").with_drives(motor=fa.Motor(gear_ratio=100, rotor_inertia=6e-5))
    fa.studio(arm.with_drives(elasticity=fa.Elasticity(stiffness=14000.0)), "soft.html")


# Of each recipe, by its title, in the order of the messages on its page.
MISTAKES: dict[str, dict[str, Callable[[], Any]]] = {
    "From a URDF to torques": {
        "five of six": lambda: fa.dynamics.inverse(fa.load("ur5"), [0.0] * 5, REST, REST),
        "grams": lambda: texts(
            changed_urdf(r'mass value="([\d.]+)"', lambda m: f'mass value="{1000 * float(m[1])}"')
        ),
        "no inertia of a body": lambda: changed_urdf(r'ixx="[\d.]+"', 'ixx="-1"'),
    },
    "From a Denavit-Hartenberg table to an arm": {
        "degrees in a table": lambda: texts(fa.from_dh("mine", [[0.0, 90.0, 0.3, 0.0], TABLE[1]], **BODIES)),
        "millimetres in a table": lambda: texts(fa.from_dh("mine", TABLE * [1000, 1, 1000, 1], **BODIES)),
        "unknown convention": lambda: fa.from_dh("mine", TABLE, **(BODIES | {"convention": "craig"})),
    },
    "From drawings to mass properties": {
        "no density": lambda: parts(""),
        "unknown material": lambda: parts(', material = "aluminum"'),
    },
    "A payload, a locked joint, another base": {
        "unknown joint": lambda: fa.load("panda").lock({"joint8": 0.0}),
        "state of the whole arm": lambda: fa.dynamics.gravity(fa.load("panda").lock({"joint7": 0.0}), AT),
    },
    "Motors, gears and friction from a data sheet": {
        "rotor in gram square centimetre": lambda: texts(
            fa.load("ur5").with_drives(motor=fa.Motor(gear_ratio=101.0, rotor_inertia=95e-3))
        ),
        "gear upside down": lambda: texts(
            fa.load("ur5").with_drives(motor=fa.Motor(gear_ratio=1 / 101.0, rotor_inertia=95e-7))
        ),
        "friction of the other side": lambda: texts(
            fa.load("ur5").with_drives(
                motor=fa.Motor(gear_ratio=101.0, rotor_inertia=95e-7),
                friction=fa.Friction(side="motor", viscous=4.0, coulomb=3.0),
            )
        ),
    },
    "From a MuJoCo model to a URDF, and back": {
        "two arms": lambda: mjcf(BODY.format("left", 'axis="0 1 0"') + BODY.format("right", 'axis="0 1 0"')),
        "ball joint": lambda: mjcf(BODY.format("a", 'type="ball"')),
    },
    "From a pose to all joint angles": {
        "no closed form": lambda: fa.kinematics.inverse(fa.load("panda"), POSE),
        "no rotation": no_rotation,
        "out of reach": out_of_reach,
    },
    "From a pose to joint angles within the limits, for any arm": {
        "millimetres in a pose": millimetres_in_a_pose,
        "position alone": lambda: fa.kinematics.inverse_numeric(fa.load("panda"), [0.4, 0.2, 0.5]),
    },
    "From poses to the fastest motion": {
        "no limits": lambda: fa.time_optimal(
            fa.load("chain3"), [[0.0, 0.0, 0.0], [0.5, 0.2, 0.3]], points=50
        ),
        "gravity too strong": lambda: fa.time_optimal(
            fa.load("ur5"), [[0.0, 0.0, 0, 0, 0, 0], [0.5, 0.2, 0.3, 0, 0, 0]], torque=20.0, points=50
        ),
    },
    "A straight line of the hand": {"line too fast": line_too_fast, "line out of reach": line_out_of_reach},
    "A jerk-limited motion that is replanned while it runs": {
        "no jerk": no_jerk,
        "target beyond a limit": target_beyond_a_limit,
    },
    "Simulate a motion with friction and look at it": {
        "unknown controller": lambda: fa.control.controller_by_name(
            fa.load("puma560"), "computed_torqe", fa.control.hold(REST, 0.1)
        ),
        "torque of one joint": lambda: fa.simulate(fa.load("puma560"), REST, REST, 0.1, torque=[20.0]),
    },
    "Choose motors and gears for a motion": {
        "no motor to replace": lambda: fa.Study(
            "drives",
            fa.load("ur5"),
            {"elbow_joint.motor": ["small"]},
            ["required_energy"],
            motion=[REST, REST + 0.3],
            motors={"small": {"torque_constant": 0.06, "resistance": 1.2}},
        ),
        "nothing feasible": nothing_feasible,
    },
    "A batch of torques in one call": {
        "states do not match": lambda: fa.compile(fa.load("panda")).gravity(np.zeros((10, 6))),
        "out of another dtype": lambda: fa.compile(fa.load("panda")).gravity(
            np.zeros((10, 7)), out=np.zeros((10, 7), np.float32)
        ),
    },
    "A batch on a GPU": {"no gpu": no_gpu, "another dtype on the gpu": another_dtype_on_the_gpu},
    "A gradient in PyTorch": {
        "tensors of single precision": tensors_of_single_precision,
        "kernel without gradient": kernel_without_gradient,
        "without pytorch": lambda: without("torch", lambda k: k.torch),
    },
    "An optimisation inside jax.jit": {
        "arrays of single precision": arrays_of_single_precision,
        "without jax": lambda: without("jax", lambda k: k.jax),
    },
    "Exact derivatives for trajectory optimisation": {
        "without casadi": lambda: without("casadi", lambda k: k.casadi("gravity")),
        "casadi in single precision": casadi_in_single_precision,
    },
    "Many arms that differ, and their gradient": {
        "negative mass": lambda: fa.simulate_many(
            fa.load("panda"), np.zeros(7), np.zeros(7), 0.1, parameters={"payload.mass": [0.5, -0.1]}
        ),
        "gradient of sticking joints": gradient_of_sticking_joints,
    },
    "A sweep over many designs, on a cluster": {
        "unknown figure": lambda: fa.Study(
            "a", "ascher2", {"payload.mass": [0.1]}, ["peak_torqe"], torque=[1, 0], duration=0.1
        ),
        "study changed": study_changed,
    },
    "From a log to a model": {
        "no side of the gear": lambda: fa.identify(three_joints(), log()),
        "columns for some joints": columns_for_some_joints,
        "degrees in a log": lambda: fa.identify(
            three_joints(), log() | {"q": np.degrees(log()["q"])}, torque_side="motor"
        ),
    },
    "A motion to measure with": {
        "limits that were assumed": lambda: fa.excite(fa.load("ascher2"), 2.0, harmonics=2, starts=1).notes,
        "one harmonic": lambda: fa.excite(fa.load("ascher2"), 2.0, harmonics=1),
    },
    "What does the hand hold?": {
        "no torques": lambda: fa.identification.payload_from_log(
            three_joints(), {"t": log()["t"], "q": log()["q"]}
        ),
        "friction by load": friction_by_load,
    },
    "Calibrate the geometry": {
        "poses in millimetres": poses_in_millimetres,
        "sign of a joint": sign_of_a_joint,
        "too few poses": too_few_poses,
    },
    "Compare a log with the model": {
        "milliseconds": lambda: fa.identification.compare_log(
            three_joints(), log() | {"t": 1000.0 * log()["t"]}
        ),
        "columns of another system": columns_of_another_system,
    },
    "What the data cannot tell": {"log too short": log_too_short},
    "From a URDF to C on a board": {
        "doubles on a cortex m4": lambda: fa.generate(
            fa.load("ur5"), "inverse_dynamics", target="cortex-m4", dtype="float64"
        ),
        "unknown function": lambda: fa.generate(fa.load("ur5"), "inverse_dynamic", language="c"),
    },
    "A computed-torque loop in Python": {
        "nan in": lambda: str(fa.compile(fa.load("panda")).gravity([np.nan] * 7)),
        "a step too long": a_step_too_long,
    },
    "Which controller?": {"controller that is none": controller_that_is_none},
    "A whole controller in C": {
        "no range": no_range,
        "unknown law": lambda: fa.control.controller_code(fa.load("puma560"), "computed torque"),
    },
    "An FMU for Simulink, Modelica and others": {
        "version as text": lambda: fa.fmu(fa.load("panda"), "panda.fmu", version="2.0"),  # type: ignore[arg-type]
        "springs": springs,
    },
    "A page for the browser": {
        "configuration of six": lambda: fa.studio("panda", "panda.html", q=[0.0] * 6),
        "springs in a page": springs_in_a_page,
    },
    "MATLAB, Rust or a PLC": {
        "unknown language": lambda: fa.generate(fa.load("stanford"), "inverse_dynamics", language="plc"),
        "single precision python": lambda: fa.generate(
            fa.load("stanford"), "inverse_dynamics", language="python", dtype="float32"
        ),
    },
}
