"""From a program to closed forms: its values expanded, each once, and only those that are needed."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from forearm.codegen.closed_form.angles import Affine, affine, affine_values, cos_sin, offsets_in, units_in
from forearm.codegen.closed_form.polynomial import FLAT, ONE, Polynomial, Ring, add, signed
from forearm.codegen.closed_form.sums import PARAMETER, FunctionCall, NoClosedForm, Sum, SymbolicClosedForm
from forearm.codegen.closed_form.writing import written
from forearm.codegen.program import REPEAT, Argument, Op, Program, Ref, Statements, Tree, grouped
from forearm.codegen.text import parts


def closed_form(program: Program) -> SymbolicClosedForm:
    """The outputs of the program in closed form, as far as they are short enough."""
    expansion = Expansion(program)
    rates = {a.name for a in program.inputs if a.name != "q"}
    outputs: dict[str, tuple[Sum, ...]] = {}
    for output in program.outputs:
        with suppress(NoClosedForm):
            outputs[output.name] = written(expansion.ring, expansion.output(output), rates)
    return SymbolicClosedForm(outputs, expansion.offsets, rates)


def all_statements(program: Program) -> Statements:
    """The preparing and the evaluating statements together; parameters are called PARAMETER, since an
    argument may be called p.
    """

    def renamed(tree: Tree) -> Tree:
        if isinstance(tree, Op):
            return replace(tree, operands=tuple(map(renamed, tree.operands)))
        return Ref(PARAMETER, tree.index) if isinstance(tree, Ref) and tree.name == "p" else tree

    return (*(replace(s, value=renamed(s.value)) for s in program.prepare), *program.statements)


def needed(statements: Statements, targets: Iterable[Ref], leaves: Iterable[Ref] = ()) -> set[Ref]:
    """The values that the targets need, without following the operands of `leaves`."""
    wanted, ends = set(targets), set(leaves)
    for group in reversed(grouped(statements)):
        targets = {statement.target for statement in group}
        if targets & (wanted - ends):
            wanted |= targets
            wanted |= {part for s in group for part in parts(s.value) if isinstance(part, Ref)}
    return wanted


class Expansion:
    """The values of a program as polynomials."""

    def __init__(self, program: Program) -> None:
        self.statements = all_statements(program)
        arguments = sorted(program.inputs, key=lambda a: a.name != "q")
        symbols = [Ref(PARAMETER, i) for i in range(len(program.parameters))]
        self.ring = Ring([*symbols, *(Ref(a.name, i) for a in arguments for i in range(a.size))])
        self.values: dict[Ref, Polynomial | None] = {}  # None: too long
        self.affine = affine_values(self.statements)
        found = [self._angle(op) for s in self.statements for op in parts(s.value) if isinstance(op, Op)]
        angles = [angle for angle in found if angle is not None and angle.coefficients]
        self.offsets = offsets_in(angles)
        self.ring.units = units_in(angles)

    def output(self, output: Argument) -> list[Polynomial]:
        """The entries of an output, row by row."""
        self.ring.work = 0
        targets = [Ref(output.name, i) for i in range(output.size)]
        wanted = needed(self.statements, targets)
        if any(s.role == REPEAT and s.target in wanted for s in self.statements):
            raise NoClosedForm
        for statement in self.statements:
            if statement.target in wanted and statement.target not in self.values:
                self.values[statement.target] = None
                self.values[statement.target] = self._value(statement.value)
        return [self._named(target) for target in targets]

    def _named(self, ref: Ref) -> Polynomial:
        value = self.values[ref] if ref in self.values else self.ring.symbol(ref)
        if value is None:
            raise NoClosedForm
        return value

    def _value(self, tree: Tree) -> Polynomial:
        ring = self.ring
        if isinstance(tree, float | int):
            return {ONE: float(tree)} if tree else {}
        if isinstance(tree, Ref):
            return self._named(tree)
        if tree.operator in ("cos", "sin"):
            return self._wave(tree)
        if tree.operator in ("atan2", "choose", "lookup", "rint"):
            raise NoClosedForm
        x, y = self._value(tree.operands[0]), self._value(tree.operands[-1])
        if tree.operator == "neg":
            return {key: -c for key, c in x.items()}
        if tree.operator in ("+", "-"):
            return ring.plus(x, y, 1.0 if tree.operator == "+" else -1.0)
        if tree.operator == "*":
            return ring.times(x, y)
        if tree.operator == "/":
            return self._quotient(x, y)
        if tree.operator == "sqrt":
            return self._root(x)
        if tree.operator == "sign" and (not x or set(x) == {ONE}):
            return {ONE: math.copysign(1.0, x[ONE])} if x else {}
        assert tree.operator in ("sign", "abs", "exp"), tree.operator
        return ring.symbol(_function(tree.operator, x, ring))

    def _quotient(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """a / b: divided out if the remainder is zero, otherwise a times the inverse of b as a symbol."""
        if not b:
            raise NoClosedForm
        if len(b) == 1:
            ((wave, powers), c) = next(iter(b.items()))
            if wave == FLAT:
                return self.ring.times(a, {(FLAT, tuple((s, -p) for s, p in powers)): 1.0 / c})
        divided = self.ring.divided(a, b)
        return (
            self.ring.times(a, self.ring.symbol(_function("inverse", b, self.ring)))
            if divided is None
            else divided
        )

    def _root(self, a: Polynomial) -> Polynomial:
        """The square root as a symbol whose square is a."""
        if not a:
            return {}
        if set(a) == {ONE} and a[ONE] > 0.0:
            return {ONE: math.sqrt(a[ONE])}
        symbol = _function("sqrt", a, self.ring)
        self.ring.squares[self.ring.number(symbol)] = a
        return self.ring.symbol(symbol)

    def _wave(self, tree: Op) -> Polynomial:
        """cos or sin: a wave for a sum of variables;
        what its offset has beyond those of its variables is expanded.
        """
        angle, sine = self._angle(tree), tree.operator == "sin"
        if angle is None:
            return self.ring.symbol(_function(tree.operator, self._value(tree.operands[0]), self.ring))
        c, s = cos_sin(angle.beyond(self.offsets))
        key = tuple(
            sorted((self.ring.number(v), int(k / self.ring.units[v])) for v, k in angle.coefficients.items())
        )
        made: Polynomial = {}
        for is_sine, factor in ((False, s if sine else c), (True, c if sine else -s)):
            wave, value = signed(is_sine, key, factor)
            add(made, (wave, ()), value)
        return made

    def _angle(self, tree: Op) -> Affine | None:
        """The argument of a cosine or sine, if it is a sum of variables."""
        return affine(tree.operands[0], self.affine) if tree.operator in ("cos", "sin") else None


def _function(name: str, argument: Polynomial, ring: Ring) -> FunctionCall:
    (made,) = written(ring, [argument], set())
    return FunctionCall(name, made)
