"""Structured Text of IEC 61131-3: function blocks for a PLC, and methods around them for newer systems."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from forearm.codegen.languages import c_family, describing, st_functions
from forearm.codegen.languages.describing import TextFunction
from forearm.codegen.languages.language import Language
from forearm.codegen.languages.naming import LONGEST_ELSEWHERE, legal
from forearm.codegen.program import (
    ARRAY,
    END,
    REPEAT,
    WHILE,
    Argument,
    Arguments,
    Program,
    Ref,
    Routine,
    Statement,
)
from forearm.codegen.text import (
    CODE_WIDTH,
    Dialect,
    expression,
    folded,
    paragraphs,
    passed,
    rounds,
    sectioned,
    tables,
)
from forearm.symbols.table import LookupTable

INDENT = "    "
# What would end or begin a comment.
MARKS = re.compile(r"(?<=\*)(?=\))|(?<=\()(?=\*)|(?<=/)(?=[*/])|(?<=\*)(?=/)")
SUFFIXES = ("atan2", "methods", "rint", "sign")
# Case-insensitive: words of IEC 61131-3, its types and functions, and CODESYS extensions.
WORDS = frozenset(
    """
    abstract acos action add adr and and_then any any_int any_num any_real array array_of asin at atan
    bit bitadr bool by byte cal calc case class concat configuration constant continue cos ctd ctu ctud
    date date_and_time delete dint div do dt dword else elsif en end_action end_case end_class
    end_configuration end_for end_function end_function_block end_if end_interface end_method
    end_namespace end_program end_property end_repeat end_resource end_step end_struct end_transition
    end_type end_var end_while eno eq exit exp expt extends f_edge f_trig false final find for from
    function function_block ge get gt if implements in indexof ini initial_step insert int interface
    internal interval jmp jmpc ld ldate ldn ldt le left len limit lint ln log lower_bound lreal lt ltime
    ltod lword max method mid min mod move mul mux namespace ndt ne non_retain not null of on or or_else
    out overlap override p_edge pointer priority private program property protected public r r_edge
    r_trig read_only read_write real ref reference repeat replace resource ret retain retc return right
    rol ror rs s sel set shl shr sin single sint sizeof sqrt sr st stc step stn string struct sub super
    tan task test_and_set then this time time_of_day to tod tof ton tp transition true trunc type udint
    uint ulint union until upper_bound using usint var var_access var_config var_external var_global
    var_in_out var_input var_inst var_output var_stat var_temp wchar while with word wstring xor
    """.split()  # noqa: SIM905
)


class _StDialect(Dialect):
    """A function for each table."""

    def look_up(self, table: LookupTable, x: str) -> str:
        """A table's value at x."""
        return f"{self.tables[table]}({x})"


def write(program: Program) -> tuple[str, str]:
    """The function blocks, preceded by the functions that they call."""
    program = legal_names(program)
    about = describing.full_description(
        program, f"all {_type(program)}", lambda a: _declared(a, program), c_family.entry, _example(program)
    )
    lines = [*_comment(about), *st_functions.definitions(program, _type(program), _comment)]
    routines, prepare, evaluation = describing.functions_of(program, lambda r: f"{program.name}_{r}")
    for function in (*routines, *prepare, evaluation):
        lines += ["", *_block(program, function)]
    return "\n".join(lines) + "\n", ""


def others(program: Program) -> dict[str, str]:
    """The same as methods of a block, for systems with the third edition of the standard."""
    name, program = program.name, legal_names(program)
    own, block = program.name, _free("evaluation", program)
    lines = [
        *_comment(_methods_about(program)),
        f"FUNCTION_BLOCK {own}_methods",
        "VAR",
        f"{INDENT}{block} : {own};",
    ]
    lines += [f"{INDENT}{block}_prepare : {own}_prepare;"] if program.parameters else []
    lines += ["END_VAR"]
    if program.parameters:
        lines += [
            "",
            "METHOD PUBLIC Prepare : BOOL",
            *_variables("VAR_INPUT", (describing.parameters(program),), program),
        ]
        lines += ["", f"{INDENT}{block}_prepare(p := p);", f"{INDENT}Prepare := TRUE;", "END_METHOD"]
    lines += ["", "METHOD PUBLIC Evaluate : BOOL", *_variables("VAR_INPUT", program.inputs, program)]
    lines += _variables("VAR_OUTPUT", program.outputs, program)
    inputs = [f"{a.name} := {a.name}" for a in program.inputs]
    inputs += [f"k := {block}_prepare.k"] if program.parameters else []
    lines += ["", *folded(f"{block}({', '.join(inputs)});", INDENT)]
    lines += [f"{INDENT}{a.name} := {block}.{a.name};" for a in program.outputs]
    lines += [f"{INDENT}Evaluate := TRUE;", "END_METHOD", "END_FUNCTION_BLOCK"]
    return {f"{name}_methods.st": "\n".join(lines) + "\n"}


def _methods_about(program: Program) -> list[str]:
    lines = [
        f"{program.name} as a method, for systems with the third edition of IEC 61131-3, such as CODESYS and "
        "TwinCAT."
    ]
    torques = [a.name for a in program.inputs] == ["q", "qd", "qdd"] and program.outputs[0].name == "tau"
    if torques:
        lines += [
            "",
            "CODESYS SoftMotion takes a dynamic model as a block that implements SMDYN.ISMDynamics of the "
            "library SM3_Dynamics: let its method AxesStateToTorque call Evaluate, in SI units and radians.",
        ]
    return lines


def legal_names(program: Program) -> Program:
    """Names without consecutive or trailing underscores, as IEC 61131-3 requires, also for blocks."""
    name = _identifier(program.name)
    words = WORDS | {f"{name.lower()}_{suffix}" for suffix in SUFFIXES} | {"evaluate", "prepare"}
    words |= {_instance(routine) for routine in program.routines}
    return legal(replace(program, name=name), LONGEST_ELSEWHERE, words, _identifier)


def _instance(routine: Routine) -> str:
    """The variable that holds the block instance of a routine."""
    return f"{routine.name}_block"


def _identifier(name: str) -> str:
    return re.sub(r"_{2,}", "_", name).rstrip("_")


def _free(wanted: str, program: Program) -> str:
    """A name that no argument uses."""
    taken = {a.name.lower() for a in (*describing.given(program), *program.outputs)} | {"p"}
    while wanted in taken:
        wanted += "_1"
    return wanted


def _type(program: Program) -> str:
    return "REAL" if program.single else "LREAL"


def _block(program: Program, function: TextFunction) -> list[str]:
    lines = [f"FUNCTION_BLOCK {function.name}", *_variables("VAR_INPUT", function.taken, program)]
    lines += _variables("VAR_OUTPUT", function.made, program)
    blocks = dict.fromkeys(s.routine for s in function.statements if s.routine is not None)
    counters, values = function.counters, function.values
    if counters or values or blocks or function.arrays:
        lines += ["VAR", *(f"{INDENT}{_instance(r)} : {program.name}_{r.name};" for r in blocks)]
        arrays = (Argument(name, shape, "") for name, shape in function.arrays.items())
        lines += [f"{INDENT}{_declared(a, program)};" for a in arrays]
        lines += [*_listed(values, _type(program)), *_listed(counters, "DINT"), "END_VAR"]
    body = _body(program, function)
    return [*lines, "", *(body or [f"{INDENT};"]), "END_FUNCTION_BLOCK"]


def _variables(kind: str, arguments: Arguments, program: Program) -> list[str]:
    if not arguments:
        return []
    return [kind, *(f"{INDENT}{_declared(a, program)};" for a in arguments), "END_VAR"]


def _listed(names: Iterable[str], kind: str) -> list[str]:
    """Declarations, as many to a line as fit."""
    lines: list[str] = []
    for name in names:
        if lines and len(lines[-1]) + 2 + len(name) + len(f" : {kind};") <= CODE_WIDTH:
            lines[-1] += f", {name}"
        else:
            lines.append(f"{INDENT}{name}")
    return [f"{line} : {kind};" for line in lines]


def _body(program: Program, function: TextFunction) -> list[str]:
    known = function.shapes

    def entry(ref: Ref) -> str:
        places = ", ".join(map(str, describing.subscripts(ref, known)))
        return f"{ref.name}[{places}]" if places else ref.name

    def written(statement: Statement) -> list[str]:
        name = entry(statement.target)
        if statement.role == REPEAT:
            return [f"{INDENT}FOR {name} := 1 TO {rounds(statement)} DO"]
        if statement.role == END:
            return [f"{INDENT}END_FOR;"]
        if statement.role == ARRAY or statement.routine is not None:
            return _array(statement, dialect)
        value = expression(statement.value, dialect)
        if statement.role == WHILE:
            return folded(f"IF NOT ({value}) THEN EXIT; END_IF;", INDENT)
        return folded(f"{name} := {value};", INDENT)

    dialect = _StDialect(
        lambda value: st_functions.literal(value, _type(program)),
        entry,
        lambda name, argument: f"{st_functions.called(name, program)}({argument})",
        lambda a, b, x, y: f"SEL({a} < {b}, {y}, {x})",
        {table: f"{program.name}_{name}" for table, name in tables(program.every_statement).items()},
    )
    return sectioned(function.statements, lambda section: f"{INDENT}(* {_harmless(section)} *)", written)


def _array(statement: Statement, dialect: Dialect) -> list[str]:
    """Assignments entry by entry; or the call of a routine's block and a copy of its result."""
    name, routine = statement.target.name, statement.routine
    values = passed(statement, dialect)
    if routine is None:
        return [line for i, x in enumerate(values) for line in folded(f"{name}[{i}] := {x};", INDENT)]
    kept = ", k := k" if routine.needs_kept else ""
    call = folded(f"{_instance(routine)}({routine.taken.name} := {values[0]}{kept});", INDENT)
    return [*call, f"{INDENT}{name} := {_instance(routine)}.{routine.made.name};"]


def _declared(argument: Argument, program: Program) -> str:
    """q : ARRAY[0..5] OF LREAL; an empty array still gets one entry."""
    bounds = ", ".join(f"0..{max(size, 1) - 1}" for size in argument.shape)
    return f"{argument.name} : {f'ARRAY[{bounds}] OF ' if bounds else ''}{_type(program)}"


def _parameter(ref: Ref) -> str:
    return f"{ref.name}[{ref.index}]"


def _harmless(text: str) -> str:
    return MARKS.sub(" ", text)


def _comment(lines: Iterable[str]) -> list[str]:
    """A comment on lines of its own, which its text cannot close."""
    return ["(*", *(f" * {_harmless(line)}".rstrip() for line in paragraphs(lines)), " *)"]


def _example(program: Program) -> list[str]:
    name = program.name
    lines = ["VAR", f"    block : {name};"]
    lines += [f"    {_declared(a, program)};" for a in (*program.inputs, *program.outputs)]
    if program.parameters:
        values = ", ".join(st_functions.literal(value, _type(program)) for value in program.defaults)
        lines += [f"    block_prepare : {name}_prepare;"]
        lines += [f"    {_declared(describing.parameters(program), program)} := [{values}];"]
    lines += ["END_VAR"]
    inputs = [f"{a.name} := {a.name}" for a in program.inputs]
    if program.parameters:
        lines += ["block_prepare(p := p);"]
        inputs += ["k := block_prepare.k"]
    lines += [f"block({', '.join(inputs)});"]
    return [*lines, *(f"{a.name} := block.{a.name};" for a in program.outputs)]


LANGUAGE = Language("st", "st", "", write, others)
