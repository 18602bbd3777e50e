"""A Level-2 MATLAB S-function: a Simulink block around a function, with one port per argument."""

from __future__ import annotations

from forearm.codegen.languages import describing
from forearm.codegen.program import Argument, Program

# Simulink's type numbers for block data.
TYPES = {"double": 0, "single": 1}
INDENT = "    "


def s_function(program: Program, scalar: str) -> str:
    """The S-function, for a "Level-2 MATLAB S-Function" block; parameters are its one block parameter."""
    name = f"{program.name}_sfun"
    inputs, outputs = ([a for a in some if a.size] for some in (program.inputs, program.outputs))
    about = [
        f"Level-2 MATLAB S-function around {program.name}.",
        "",
        *_port_lines("Input", inputs),
        *_port_lines("Output", outputs),
    ]
    if program.parameters:
        about += [f"  Parameter: p ({len(program.parameters)} x 1), as {program.name}_prepare lists them."]
    lines = [f"function {name}(block)", *describing.marked(about, "%"), "setup(block);", "end", ""]
    lines += _setup(program, inputs, outputs, scalar)
    if program.parameters:
        lines += ["", *_prepared(program, scalar)]
    lines += ["", *_outputs(program, inputs, outputs, scalar)]
    lines += ["", "function Terminate(block) %#ok<INUSD>", "end"]
    return "\n".join(lines) + "\n"


def _port_lines(kind: str, arguments: list[Argument]) -> list[str]:
    return [f"  {kind} {k}: {a.name}, {a.meaning}" for k, a in enumerate(arguments, 1)]


def _setup(program: Program, inputs: list[Argument], outputs: list[Argument], scalar: str) -> list[str]:
    """Ports of fixed size, real signals, direct feedthrough."""
    lines = ["function setup(block)"]
    lines += [
        f"{INDENT}block.NumInputPorts = {len(inputs)};",
        f"{INDENT}block.NumOutputPorts = {len(outputs)};",
    ]
    lines += [f"{INDENT}block.NumDialogPrms = {int(bool(program.parameters))};"]
    for side, arguments in (("Input", inputs), ("Output", outputs)):
        for k, a in enumerate(arguments, 1):
            port = f"{INDENT}block.{side}Port({k})"
            lines += [f"{port}.Dimensions = {_dimensions(a)};", f"{port}.DatatypeID = {TYPES[scalar]};"]
            lines += [f"{port}.Complexity = 'Real';", f"{port}.SamplingMode = 'Sample';"]
            lines += [f"{port}.DirectFeedthrough = true;"] if side == "Input" else []
    lines += [
        f"{INDENT}block.SampleTimes = [-1 0];",
        f"{INDENT}block.SimStateCompliance = 'DefaultSimState';",
    ]
    if program.parameters:
        lines += [f"{INDENT}block.DialogPrmsTunable = {{'Nontunable'}};"]
        lines += [f"{INDENT}block.RegBlockMethod('PostPropagationSetup', @PostPropagationSetup);"]
        lines += [f"{INDENT}block.RegBlockMethod('Start', @Start);"]
    lines += [f"{INDENT}block.RegBlockMethod('Outputs', @Outputs);"]
    return [*lines, f"{INDENT}block.RegBlockMethod('Terminate', @Terminate);", "end"]


def _prepared(program: Program, scalar: str) -> list[str]:
    """Values that do not depend on the state, stored in a work vector."""
    work, size = f"{INDENT}block.Dwork(1)", max(program.kept, 1)
    lines = ["function PostPropagationSetup(block)", f"{INDENT}block.NumDworks = 1;", f"{work}.Name = 'k';"]
    lines += [f"{work}.Dimensions = {size};", f"{work}.DatatypeID = {TYPES[scalar]};"]
    lines += [f"{work}.Complexity = 'Real';", f"{work}.UsedAsDiscState = false;", "end", ""]
    lines += ["function Start(block)", f"{INDENT}p = {scalar}(block.DialogPrm(1).Data);"]
    value = f"{program.name}_prepare(p(:))" if program.kept else f"zeros(1, 1, '{scalar}')"
    return [*lines, f"{work}.Data = {value};", "end"]


def _outputs(program: Program, inputs: list[Argument], outputs: list[Argument], scalar: str) -> list[str]:
    """One evaluation; a vector signal may arrive as a row."""
    given = []
    for a in describing.given(program):
        if program.parameters and a == describing.kept(program):
            given += ["reshape(block.Dwork(1).Data, [], 1)" if program.kept else f"zeros(0, 1, '{scalar}')"]
        elif not a.size:
            given += [f"zeros({', '.join(map(str, (*a.shape, 1)[:2]))}, '{scalar}')"]
        else:
            data = f"block.InputPort({inputs.index(a) + 1}).Data"
            given += [f"{data}(:)" if len(a.shape) == 1 else data]
    lines = ["function Outputs(block)" if inputs or outputs or program.parameters else "function Outputs(~)"]
    names = [a.name for a in program.outputs]
    results = f"[{', '.join(names)}] = " if names[1:] else f"{names[0]} = " if names else ""
    lines += [f"{INDENT}{results}{program.name}( ..."]
    lines += [f"{INDENT * 2}{text}{', ...' if k < len(given) else ');'}" for k, text in enumerate(given, 1)]
    lines = lines if given else [*lines[:-1], f"{INDENT}{results}{program.name}();"]
    lines += [f"{INDENT}block.OutputPort({k}).Data = {a.name};" for k, a in enumerate(outputs, 1)]
    return [*lines, "end"]


def _dimensions(argument: Argument) -> str:
    sizes = argument.shape or (1,)
    return str(sizes[0]) if len(sizes) == 1 else f"[{' '.join(map(str, sizes))}]"
