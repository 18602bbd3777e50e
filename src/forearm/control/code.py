"""Controllers as generated code with one interface: a sample in, a voltage out, from the expression graph of
all generated code. In C a function updates the state in place; other languages return it.
"""

from __future__ import annotations

from dataclasses import replace

from forearm import __version__
from forearm.arm.arm import Arm
from forearm.codegen.generate import NAMES, TracedProgram, check_dtype, identifier, language_of
from forearm.codegen.languages import c, c_family, describing
from forearm.codegen.program import Program
from forearm.codegen.source import Source
from forearm.codegen.text import folded
from forearm.control.hand_laws import LawOfArm, arm_law_of, law_in_hand_space
from forearm.control.laws import LAWS, Law, law_of
from forearm.control.options import CODE_LAW, CodeLawOptions
from forearm.errors import InputError
from forearm.records import flat
from forearm.targets.object_source import machine_of, object_of, target_dtype


@flat(options=CodeLawOptions)
def controller_code(
    arm: Arm,
    law: str | LawOfArm = "computed_torque",
    *,
    open_gains: bool = False,
    name: str | None = None,
    dtype: str | None = None,
    language: str = "c",
    target: str | None = None,
    options: CodeLawOptions = CODE_LAW,
) -> Source:
    """Generate code of a controller, to be called once per period: in C `NAME_step(q, qd, q_wanted,
    qd_wanted, qdd_wanted, state, voltage)`, which updates the state; in other languages NAME, which takes the
    state of the law and returns `state_next`.

    If a motor's constants are unknown, the output is `tau` instead of `voltage`.

    Args:
        arm: the arm of the controller's model.
        law: "computed_torque", "feedforward_pd", "pd_gravity", "pid_gravity", "gravity_compensation",
            "impedance", "operational_space", "admittance", or a controller object of one of the last four.
        open_gains: whether gains are set at run time by `NAME_prepare`.
        name: NAME; None: derived from the arm and the law.
        dtype: "float64" or "float32"; None: "float64", or "float32" for cortex-m4.
        language: as for `fa.generate`, except LaTeX.
        target: a machine to write an object file for, as for `fa.generate`; None: text in the language.
        options: gains, model and period of a law given by name.
    """
    written = language_of(language)
    if written.name == "latex":
        raise InputError(
            "latex is not available for controllers; use one of the other languages.",
            "controller",
            "language",
        )
    in_c = written.name == "c" and target is None
    made, traced = traced_controller(arm, law, options, open_gains=open_gains, name=name, in_c=in_c)
    if target is not None:
        machine = machine_of(target, language)
        return object_of(replace(traced, single=target_dtype(machine, dtype) == "float32"), machine)
    dtype = "float64" if dtype is None else dtype
    check_dtype(dtype, written.name)
    program = replace(traced, single=dtype == "float32").program()
    text, header = written.write(program)
    if not in_c:
        return Source(text, header, program.counts, program.name, written.name, written.others(program))
    text += "\n" + _step(program, made)
    return Source(text, _header(program, made), program.counts, program.name, "c")


@flat(options=CodeLawOptions)
def traced_controller(
    arm: Arm,
    law: str | LawOfArm,
    options: CodeLawOptions = CODE_LAW,
    *,
    open_gains: bool = False,
    name: str | None = None,
    in_c: bool = False,
) -> tuple[Law, TracedProgram]:
    """The traced law of an arm, and its program."""
    period = options.period
    if isinstance(law, str) and law in LAWS:
        made, label = law_of(arm, law, options, open_gains), law
    else:
        chosen = arm_law_of(arm, law, options)
        own = options.bandwidth if isinstance(law, str) else None  # a controller object has its own gains
        made, label = law_in_hand_space(arm, chosen, options.most, open_gains, own), chosen.name
        period = getattr(law, "period", period)
    title = identifier(f"{arm.name[:24]}_{label}" if name is None else name)
    return made, TracedProgram(made.traced, title, _about(made, period, in_c), made.parameters)


def _about(law: Law, period: float, in_c: bool) -> tuple[str, ...]:
    arm = law.arm
    limits = (
        "within the motors' limits of voltage and current"
        if law.output == "voltage"
        else "motor torque times gear ratio"
    )
    lines = [
        f"{law.about}, of {arm.name}, {arm.n} joints; e is wanted less measured.",
        "",
        f"Joints in order: {', '.join(j.name for j in arm.joints)}. Out comes {law.output}, {limits}.",
        f"Call the function{' that ends in _step' if in_c else ''} once a period"
        + (f" of {period:g} s." if law.has_state else "."),
    ]
    if law.has_state and not in_c:
        lines += [f"Give state_next back as state at the next call; it is {law.kept}, all 0 at the start."]
    return (*lines, *law.gains, *([NAMES] if law.regrouped else []), f"Generated by forearm {__version__}.")


def _signature(program: Program, law: Law) -> str:
    """The declaration of the fixed interface; the parameters k precede the state."""
    n, scalar = law.arm.n, program.scalar
    taken = [f"const {scalar} {name}[{length}]" for name, length in law.inputs.items()]
    taken += [f"const {scalar} k[{max(program.kept, 1)}]"] if program.parameters else []
    arguments = [*taken, f"{scalar} state[{law.state or n}]", f"{scalar} {law.output}[{n}]"]
    return "\n".join(folded(f"void {program.name}_step({', '.join(arguments)})"))


def _step(program: Program, law: Law) -> str:
    """The wrapper that stores the state; it contains nothing of the law."""
    indent = c_family.INDENT
    given = [a.name for a in describing.given(program)]
    outputs = [law.output] if not law.has_state else ["next", law.output]
    lines = [_signature(program, law), "{"]
    lines += [f"{indent}{program.scalar} next[{law.state}];"] if law.has_state else [f"{indent}(void)state;"]
    lines += ["", *folded(f"{program.name}({', '.join([*given, *outputs])});", indent)]
    if law.has_state:
        lines += [f"{indent}for (int i = 0; i < {law.state}; i++)", f"{indent * 2}state[i] = next[i];"]
    return "\n".join([*lines, "}"]) + "\n"


def _header(program: Program, law: Law) -> str:
    said = f"kept between calls: {law.kept}; all 0 at the start"
    about = c_family.description(program, c.arithmetic(program))
    about += [
        "",
        f"{program.name}_step takes the same, and in the place of state and state_next:",
        f"  state[{law.state or law.arm.n}]  {said}.",
    ]
    declared = [*c_family.declarations(program, program.scalar), "", f"{_signature(program, law)};"]
    return c_family.header(f"{program.name.upper()}_H", about, declared)
