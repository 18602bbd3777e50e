"""Closed forms: what a program computes, multiplied out, shortened and grouped, for small arms.

Normal form. Every value is a polynomial in symbols (inputs, parameters, and quotients or roots that do not cancel) whose terms
have at most one wave, cos or sin of a sum of joint angles: products of waves become sums,
2 cos u cos v = cos(u + v) + cos(u - v). Waves of different angles are independent functions, so equal values have equal
normal forms, as long as they have no such quotients or roots.

Writing. From the normal form, identities are applied as long as they shorten it: cos u + cos v = 2 cos a cos b with
a, b = (u + v) / 2, (u - v) / 2, likewise for sines and differences, and c^2 + s^2 = 1.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import TypeVar

from forearm.codegen.program import Argument, Op, Program, Ref, Statement, Tree

MOST_TERMS = 120  # of one equation: beyond, nobody reads it as a closed form
MOST_STORED = 12 * MOST_TERMS  # terms of a normal form on the way
MOST_WAVES = 4 * MOST_TERMS  # terms of the normal form of an equation, which is longer than what is written of it
MOST_ALIKE = 2 * MOST_TERMS  # those of them that differ in nothing but their wave
MOST_WORK = 30_000  # products of terms for one output, a fraction of a second
NOISE = 1e-13  # coefficients below this, relative to the largest of their output, are rounding and are dropped
PARAMETER = "prepare.p"  # what the parameters are called in a closed form
QUARTER = 0.5 * math.pi
SAME_ANGLE = 1e-14  # what an offset may differ by from a quarter turn, or from the sum of its joints' offsets

Key = TypeVar("Key")


@dataclass(frozen=True)
class Trig:
    """The cosine or sine of a sum of variables, each with its coefficient."""

    sine: bool
    angle: tuple[tuple[Ref, Fraction], ...]


@dataclass(frozen=True)
class Function:
    """inverse, sqrt, sign, cos or sin of something that does not multiply out."""

    name: str
    argument: Sum


Factor = Ref | Trig | Function
Symbol = Ref | Function


@dataclass(frozen=True)
class Term:
    """coefficient times powers of factors times the sum in the bracket, if there is one."""

    coefficient: float
    factors: tuple[tuple[Factor, int], ...] = ()
    bracket: Sum = ()


Sum = tuple[Term, ...]


@dataclass(frozen=True)
class ClosedForm:
    """The entries of each output as sums; outputs that are too long are not there.

    In the angles of `Trig` a variable stands for itself plus its offset, if it has one; elsewhere for itself.
    """

    outputs: dict[str, tuple[Sum, ...]]
    offsets: dict[Ref, float]


@dataclass(frozen=True)
class Affine:
    """Coefficients times variables plus a number."""

    coefficients: dict[Ref, Fraction]
    offset: float


class NoClosedForm(Exception):
    """Multiplying out takes more terms than anybody would read, or ends in a division by zero."""


def closed_form(program: Program) -> ClosedForm:
    """The outputs of the program in closed form, as far as they are short enough."""
    expansion = Expansion(program)
    rates = {a.name for a in program.inputs if a.name != "q"}
    outputs: dict[str, tuple[Sum, ...]] = {}
    for output in program.outputs:
        try:
            outputs[output.name] = written(expansion.ring, expansion.output(output), rates)
        except NoClosedForm:
            continue
    return ClosedForm(outputs, expansion.offsets)


def all_statements(program: Program) -> tuple[Statement, ...]:
    """Those that prepare and the others; parameters are called PARAMETER, since an argument may be called p."""

    def renamed(tree: Tree) -> Tree:
        if isinstance(tree, Op):
            return replace(tree, operands=tuple(map(renamed, tree.operands)))
        return Ref(PARAMETER, tree.index) if isinstance(tree, Ref) and tree.name == "p" else tree

    return (*(replace(s, value=renamed(s.value)) for s in program.prepare), *program.statements)


def affine_values(statements: tuple[Statement, ...]) -> dict[Ref, Affine]:
    """The statements that are sums of inputs and parameters with constant coefficients."""
    known: dict[Ref, Affine] = {}
    made = {s.target for s in statements}
    for statement in statements:
        value = affine(statement.value, known, made)
        if value is not None:
            known[statement.target] = value
    return known


def affine(tree: Tree, known: dict[Ref, Affine], made: set[Ref]) -> Affine | None:
    """A tree as a sum of variables, if it is one; `known` are statements that are, `made` all statements."""
    if isinstance(tree, float | int):
        return Affine({}, float(tree))
    if isinstance(tree, Ref):
        return known.get(tree) if tree in made else Affine({tree: Fraction(1)}, 0.0)
    parts = [affine(operand, known, made) for operand in tree.operands]
    x, y = parts[0], parts[-1]
    if x is None or y is None:
        return None
    if tree.operator == "neg":
        return _combined(Affine({}, 0.0), x, Fraction(-1))
    if tree.operator in ("+", "-"):
        return _combined(x, y, Fraction(1 if tree.operator == "+" else -1))
    if tree.operator == "*" and not (x.coefficients and y.coefficients):
        x, y = (x, y) if x.coefficients else (y, x)
        return _combined(Affine({}, 0.0), x, Fraction(y.offset))
    if tree.operator == "/" and not y.coefficients and y.offset != 0.0:
        return _combined(Affine({}, 0.0), x, 1 / Fraction(y.offset))
    return None


def needed(statements: Iterable[Statement], targets: Iterable[Ref], leaves: frozenset[Ref] = frozenset()) -> set[Ref]:
    """The statements that the targets need; what `leaves` are made of is not followed."""
    wanted = set(targets)
    for statement in reversed(list(statements)):
        if statement.target in wanted and statement.target not in leaves:
            wanted.update(references(statement.value))
    return wanted


def references(tree: Tree) -> Iterator[Ref]:
    """The values that a tree names."""
    if isinstance(tree, Ref):
        yield tree
    elif isinstance(tree, Op):
        for operand in tree.operands:
            yield from references(operand)


def _combined(x: Affine, y: Affine, factor: Fraction) -> Affine:
    coefficients = dict(x.coefficients)
    for variable, c in y.coefficients.items():
        coefficients[variable] = coefficients.get(variable, Fraction(0)) + factor * c
    return Affine({v: c for v, c in coefficients.items() if c}, x.offset + float(factor) * y.offset)


# Polynomials. Symbols are numbered; a wave is (is it a sine, its angle), and no wave is the cosine of nothing. Angles have
# whole coefficients: a variable that comes with others counts in units of their greatest common divisor.

Angle = tuple[tuple[int, int], ...]
Wave = tuple[bool, Angle]
Powers = tuple[tuple[int, int], ...]
Polynomial = dict[tuple[Wave, Powers], float]
FLAT: Wave = (False, ())
ONE: tuple[Wave, Powers] = (FLAT, ())


class Ring:
    """Polynomials over symbols that are numbered as they come, and the work spent on them."""

    def __init__(self, symbols: Iterable[Ref]) -> None:
        self.symbols: list[Symbol] = list(symbols)
        self.numbers: dict[Symbol, int] = {s: i for i, s in enumerate(self.symbols)}
        self.squares: dict[int, Polynomial] = {}  # of roots
        self.units: dict[Ref, Fraction] = {}  # of variables in angles
        self.work = 0

    def number(self, symbol: Symbol) -> int:
        """The number of a symbol, new if it was not there."""
        if symbol not in self.numbers:
            self.numbers[symbol] = len(self.symbols)
            self.symbols.append(symbol)
        return self.numbers[symbol]

    def symbol(self, symbol: Symbol) -> Polynomial:
        """A symbol as a polynomial."""
        return {(FLAT, ((self.number(symbol), 1),)): 1.0}

    def function(self, name: str, argument: Polynomial) -> Polynomial:
        """A function of a polynomial, as a symbol of its own."""
        (made,) = written(self, [argument], set())
        return self.symbol(Function(name, made))

    def plus(self, a: Polynomial, b: Polynomial, factor: float = 1.0) -> Polynomial:
        """a + factor b"""
        self._charge(len(b))
        made = dict(a)
        for key, c in b.items():
            _add(made, key, factor * c)
        return self._checked(made)

    def times(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """a b"""
        self._charge(len(a) * len(b))
        made: Polynomial = {}
        for (wave_a, powers_a), ca in a.items():
            for (wave_b, powers_b), cb in b.items():
                powers = _joined(powers_a, powers_b)
                for wave, factor in _waves(wave_a, wave_b):
                    _add(made, (wave, powers), ca * cb * factor)
        return self._checked(self._without_squares(made) if self.squares else made)

    def over(self, a: Polynomial, b: Polynomial) -> Polynomial:
        """a / b: divided out where that goes without remainder, otherwise a times the inverse of b as a symbol."""
        if not b:
            raise NoClosedForm
        if len(b) == 1:
            ((wave, powers), c) = next(iter(b.items()))
            if wave == FLAT:
                return self.times(a, {(FLAT, tuple((s, -p) for s, p in powers)): 1.0 / c})
        divided = self._divided(a, b)
        return self.times(a, self.function("inverse", b)) if divided is None else divided

    def root(self, a: Polynomial) -> Polynomial:
        """The square root, whose square is a again."""
        if not a:
            return {}
        if set(a) == {ONE} and a[ONE] > 0.0:
            return {ONE: math.sqrt(a[ONE])}
        made = self.function("sqrt", a)
        self.squares[next(iter(made))[1][0][0]] = a
        return made

    def _divided(self, a: Polynomial, b: Polynomial) -> Polynomial | None:
        """a / b by long division, for polynomials without waves; None where something remains."""
        if any(wave != FLAT or any(p < 0 for _, p in powers) for x in (a, b) for wave, powers in x):
            return None
        symbols = sorted({s for x in (a, b) for _, powers in x for s, _ in powers})

        def rank(key: tuple[Wave, Powers]) -> tuple[int, ...]:
            powers = dict(key[1])
            return tuple(powers.get(s, 0) for s in symbols)

        lead, made, rest = max(b, key=rank), dict[tuple[Wave, Powers], float](), dict(a)
        lowest = NOISE * max((abs(c) for c in a.values()), default=0.0)
        while rest:
            first = max(rest, key=rank)
            powers = _joined(first[1], tuple((s, -p) for s, p in lead[1]))
            if any(p < 0 for _, p in powers) or len(made) == MOST_TERMS:
                return None
            step = {(FLAT, powers): rest[first] / b[lead]}
            made.update(step)
            rest = self.plus(rest, self.times(step, b), -1.0)
            rest = {key: c for key, c in rest.items() if abs(c) > lowest and key != first}
        return made

    def _without_squares(self, a: Polynomial) -> Polynomial:
        """Squares of roots as what they are squares of."""
        made: Polynomial = {}
        for (wave, powers), c in a.items():
            square = next((s for s, p in powers if s in self.squares and p >= 2), None)
            value = {(wave, powers): c}
            if square is not None:
                value = self.times({(wave, _joined(powers, ((square, -2),))): c}, self.squares[square])
            made = self.plus(made, value)
        return made

    def _charge(self, work: int) -> None:
        self.work += work
        if self.work > MOST_WORK:
            raise NoClosedForm

    def _checked(self, a: Polynomial) -> Polynomial:
        if len(a) > MOST_STORED:
            raise NoClosedForm
        return a


def _add(made: dict[Key, float], key: Key, c: float) -> None:
    value = made.get(key, 0.0) + c
    if value == 0.0:
        made.pop(key, None)
    else:
        made[key] = value


@lru_cache(maxsize=1 << 16)
def _joined(a: Powers, b: Powers) -> Powers:
    """The product of two products of symbols."""
    powers = Counter(dict(a))
    powers.update(dict(b))
    return tuple(sorted((s, p) for s, p in powers.items() if p))


@lru_cache(maxsize=1 << 16)
def _waves(a: Wave, b: Wave) -> tuple[tuple[Wave, float], ...]:
    """The product of two waves as a sum of waves."""
    if a == FLAT or b == FLAT:
        return ((b if a == FLAT else a, 1.0),)
    (sine_a, u), (sine_b, v) = a, b
    if sine_b and not sine_a:
        return _waves(b, a)
    upper, lower = _sum(u, v, 1), _sum(u, v, -1)
    signs = (-0.5, 0.5) if sine_b else (0.5, 0.5)
    made = [_signed(sine_a is not sine_b, angle, c) for angle, c in zip((upper, lower), signs, strict=True)]
    return tuple((wave, c) for wave, c in made if c)


@lru_cache(maxsize=1 << 16)
def _sum(u: Angle, v: Angle, sign: int) -> Angle:
    """u + sign v"""
    made = dict(u)
    for symbol, c in v:
        made[symbol] = made.get(symbol, 0) + sign * c
    return tuple(sorted((s, c) for s, c in made.items() if c))


def _signed(sine: bool, angle: Angle, c: float) -> tuple[Wave, float]:
    """c times cos or sin of an angle, with the first coefficient of the angle positive; the sine of nothing is 0."""
    if not angle:
        return FLAT, 0.0 if sine else c
    if angle[0][1] > 0:
        return (sine, angle), c
    return (sine, tuple((s, -k) for s, k in angle)), -c if sine else c


# From the program to polynomials.


class Expansion:
    """The values of a program multiplied out, each once, and only those that are asked for."""

    def __init__(self, program: Program) -> None:
        self.statements = all_statements(program)
        arguments = [a for a in program.inputs if a.name == "q"] + [a for a in program.inputs if a.name != "q"]
        symbols = [Ref(PARAMETER, i) for i in range(len(program.parameters))]
        self.ring = Ring([*symbols, *(Ref(a.name, i) for a in arguments for i in range(a.size))])
        self.values: dict[Ref, Polynomial | None] = {}  # None: too long
        self.made = {s.target for s in self.statements}
        self.affine = affine_values(self.statements)
        angles = [a for s in self.statements for a in self._angles(s.value) if a.coefficients]
        self.offsets = _offsets(angles)
        self.ring.units = _units(angles)

    def output(self, output: Argument) -> list[Polynomial]:
        """The entries of an output, row by row."""
        self.ring.work = 0
        targets = [Ref(output.name, i) for i in range(output.size)]
        wanted = needed(self.statements, targets)
        for statement in self.statements:
            if statement.target in wanted and statement.target not in self.values:
                self.values[statement.target] = None
                self.values[statement.target] = self._value(statement.value)
        return [self._named(target) for target in targets]

    def _named(self, ref: Ref) -> Polynomial:
        value = self.values[ref] if ref in self.made else self.ring.symbol(ref)
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
        x, y = self._value(tree.operands[0]), self._value(tree.operands[-1])
        if tree.operator == "neg":
            return {key: -c for key, c in x.items()}
        if tree.operator in ("+", "-"):
            return ring.plus(x, y, 1.0 if tree.operator == "+" else -1.0)
        if tree.operator == "*":
            return ring.times(x, y)
        if tree.operator == "/":
            return ring.over(x, y)
        if tree.operator == "sqrt":
            return ring.root(x)
        assert tree.operator == "sign", tree.operator
        if not x or set(x) == {ONE}:
            return {ONE: math.copysign(1.0, x[ONE])} if x else {}
        return ring.function("sign", x)

    def _wave(self, tree: Op) -> Polynomial:
        """cos or sin: a wave for a sum of variables; what its offset has beyond those of its variables is multiplied out."""
        angle, sine = affine(tree.operands[0], self.affine, self.made), tree.operator == "sin"
        if angle is None:
            return self.ring.function(tree.operator, self._value(tree.operands[0]))
        c, s = _cos_sin(self._left_over(angle))
        key = tuple(sorted((self.ring.number(v), int(k / self.ring.units[v])) for v, k in angle.coefficients.items()))
        made: Polynomial = {}
        for is_sine, factor in ((False, s if sine else c), (True, c if sine else -s)):
            wave, value = _signed(is_sine, key, factor)
            _add(made, (wave, ()), value)
        return made

    def _left_over(self, angle: Affine) -> float:
        return angle.offset - sum(float(c) * self.offsets.get(v, 0.0) for v, c in angle.coefficients.items())

    def _angles(self, tree: Tree) -> Iterator[Affine]:
        if isinstance(tree, Op):
            if tree.operator in ("cos", "sin"):
                angle = affine(tree.operands[0], self.affine, self.made)
                if angle is not None:
                    yield angle
            for operand in tree.operands:
                yield from self._angles(operand)


def _quarters(angle: float) -> int | None:
    whole = round(angle / QUARTER)
    return whole if abs(angle - whole * QUARTER) <= SAME_ANGLE * max(1.0, abs(angle)) else None


def _cos_sin(angle: float) -> tuple[float, float]:
    """Cosine and sine, those of quarter turns exactly."""
    quarters = _quarters(angle)
    if quarters is None:
        return math.cos(angle), math.sin(angle)
    return ((1.0, 0.0), (0.0, 1.0), (-1.0, 0.0), (0.0, -1.0))[quarters % 4]


def _offsets(angles: list[Affine]) -> dict[Ref, float]:
    """An offset for each variable whose angle always comes with one; quarter turns need none, they swap cos and sin."""
    known: dict[Ref, float] = {}
    while True:
        for a in angles:
            open_ones = [v for v in a.coefficients if v not in known]
            if len(open_ones) == 1:
                rest = a.offset - sum(float(c) * known[v] for v, c in a.coefficients.items() if v in known)
                offset = rest / float(a.coefficients[open_ones[0]])
                known[open_ones[0]] = 0.0 if _quarters(offset) is not None else math.remainder(offset, QUARTER)
                break
        else:
            return {v: offset for v, offset in known.items() if offset}


def _units(angles: list[Affine]) -> dict[Ref, Fraction]:
    """The greatest common divisor of each variable's coefficients."""
    units: dict[Ref, Fraction] = {}
    for angle in angles:
        for v, c in angle.coefficients.items():
            u = units.get(v, abs(c))
            bottom = u.denominator * c.denominator
            units[v] = Fraction(math.gcd(u.numerator * c.denominator, c.numerator * u.denominator), bottom)
    return units


# From polynomials to sums for people.


def written(ring: Ring, values: list[Polynomial], rates: set[str]) -> tuple[Sum, ...]:
    """Polynomials as sums: first what goes with inputs named in `rates`, collected by their products, then the rest."""
    noise = NOISE * max((abs(c) for value in values for c in value.values()), default=0.0)
    kept = [{key: c for key, c in value.items() if abs(c) > noise} for value in values]
    squared = {ring.symbols[s] for value in kept for _, powers in value for s, p in powers if p > 1}
    largest_first = sorted(range(len(kept)), key=lambda i: -len(kept[i]))  # what is too long is found soon
    made = {i: _written(ring, kept[i], noise, rates, squared) for i in largest_first}
    return tuple(made[i] for i in range(len(kept)))


def _written(ring: Ring, value: Polynomial, noise: float, rates: set[str], squared: set[Symbol]) -> Sum:
    alike = Counter(powers for _, powers in value)
    if len(value) > MOST_WAVES or max(alike.values(), default=0) > MOST_ALIKE:
        raise NoClosedForm
    groups: dict[Powers, dict[Powers, dict[Wave, float]]] = defaultdict(lambda: defaultdict(dict))
    for (wave, powers), c in value.items():
        outside = tuple((s, p) for s, p in powers if _is_rate(ring.symbols[s], rates))
        groups[outside][tuple(x for x in powers if x not in outside)][wave] = c
    made: list[Term] = []
    count = 0
    for outside in sorted(groups, key=lambda powers: _rank(ring, powers)):
        terms = [
            Term(c, tuple((ring.symbols[s], p) for s, p in powers) + tuple((_trig(ring, w), p) for w, p in product))
            for powers in sorted(groups[outside], key=_reading_order)
            for product, c in sorted(shortest(groups[outside][powers], noise).items(), key=lambda item: (len(item[0]), item[0]))
        ]
        count += len(terms)
        if count > MOST_TERMS:
            raise NoClosedForm
        factors = tuple((ring.symbols[s], p) for s, p in outside)
        made += _collected(factors, _factored(terms, squared))
    return _over_common(tuple(made))


def _is_rate(symbol: Symbol, rates: set[str]) -> bool:
    return isinstance(symbol, Ref) and symbol.name in rates


def _rank(ring: Ring, powers: Powers) -> tuple[object, ...]:
    """qdd before other inputs before qd before nothing, then by joints."""
    names = {ring.symbols[s].name for s, _ in powers}
    kind = 3 if not names else 0 if "qdd" in names else 2 if names == {"qd"} else 1
    return kind, _reading_order(powers)


def _reading_order(powers: Powers) -> list[int]:
    return [s for s, p in powers for _ in range(abs(p))]


def _trig(ring: Ring, wave: Wave) -> Trig:
    sine, angle = wave
    made = []
    for s, c in angle:
        symbol = ring.symbols[s]
        assert isinstance(symbol, Ref)
        made.append((symbol, c * ring.units[symbol]))
    return Trig(sine, tuple(made))


def _collected(factors: tuple[tuple[Factor, int], ...], terms: Sum) -> Sum:
    """factors (terms)"""
    if not factors:
        return terms
    if len(terms) == 1:
        return (replace(terms[0], factors=terms[0].factors + factors),)
    sign = _main_sign(terms)
    return (Term(sign, factors, tuple(replace(t, coefficient=sign * t.coefficient) for t in terms)),)


def _over_common(terms: Sum) -> Sum:
    """A denominator that all terms have goes outside."""
    common = {f: p for f, p in terms[0].factors if isinstance(f, Function) and f.name == "inverse"} if len(terms) > 1 else {}
    common = {f: p for f, p in common.items() if all((f, p) in t.factors for t in terms)}
    if not common:
        return terms
    inside: list[Term] = []
    for t in terms:
        left = replace(t, factors=tuple(x for x in t.factors if x[0] not in common))
        plain = left.bracket and not left.factors
        inside += [replace(x, coefficient=t.coefficient * x.coefficient) for x in left.bracket] if plain else [left]
    return (Term(1.0, tuple(common.items()), tuple(inside)),)


def _main_sign(terms: Iterable[Term]) -> float:
    """The sign that most terms have."""
    return -1.0 if sum(math.copysign(1.0, t.coefficient) for t in terms) < 0.0 else 1.0


def _factored(terms: list[Term], squared: set[Symbol]) -> Sum:
    """What terms share outside a bracket, the most frequent first: g (m (x^2 + y^2) + I).

    Only functions, and parameters that are nowhere squared, such as masses: x^2 + 2 a x reads better than x (x + 2 a).
    """
    held = Counter(f for t in terms for f, p in t.factors if p > 0 and _is_outer(f) and f not in squared)
    for factor, _ in sorted(held.items(), key=lambda item: -item[1]):
        holders = [i for i, t in enumerate(terms) if not t.bracket and factor in dict(t.factors)]
        if len(holders) > 1:
            bracket = _taken_out([terms[i] for i in holders], squared)
            terms = [bracket if i == holders[0] else t for i, t in enumerate(terms) if i not in holders[1:]]
    return tuple(terms)


def _is_outer(factor: Factor) -> bool:
    return isinstance(factor, Function) or (isinstance(factor, Ref) and factor.name == PARAMETER)


def _taken_out(terms: list[Term], squared: set[Symbol]) -> Term:
    """The terms as their common factors times a bracket."""
    powers = [dict(t.factors) for t in terms]
    common = {}
    for factor, _ in terms[0].factors:
        all_powers = [x.get(factor, 0) for x in powers]
        if min(all_powers) == max(all_powers) or (factor not in squared and min(all_powers) > 0):
            common[factor] = min(all_powers)
    sizes = {abs(t.coefficient) for t in terms}
    size = sizes.pop() if len(sizes) == 1 else 1.0
    size *= _main_sign(terms)
    inside = []
    for t in terms:
        kept = tuple((f, p - common.get(f, 0)) for f, p in t.factors if p != common.get(f, 0))
        inside.append(Term(t.coefficient / size, kept))
    return Term(size, tuple((f, common[f]) for f, _ in terms[0].factors if f in common), _factored(inside, squared))


# Shorter writings of sums of waves. A product is a tuple of waves with their powers.

Product = tuple[tuple[Wave, int], ...]
Writing = dict[Product, float]
TERM, PLAIN, ODD, EACH = 10, 4, 10, 1  # what a term costs to read, and in it an angle like q2 + q3, or one like 2 q2 - q3


def shortest(waves: dict[Wave, float], noise: float) -> Writing:
    """A sum of waves in as few and as plain products of waves as the identities give."""
    made: Writing = {(((wave, 1),) if wave != FLAT else ()): c for wave, c in waves.items()}
    while True:
        trades = sorted(_trades(made, noise), key=lambda trade: trade.key)
        touched: set[Product] = set()
        for trade in trades:
            if touched.isdisjoint(trade.after):
                touched.update(trade.after)
                for product, c in trade.after.items():
                    if abs(c) > noise:
                        made[product] = c
                    else:
                        made.pop(product, None)
        if not trades:
            return made


@dataclass(frozen=True)
class Trade:
    """What the coefficients of some products become; the smaller the key, the better."""

    after: Writing
    key: tuple[int, float, tuple[Product, ...]]


def _trades(made: Writing, noise: float) -> Iterator[Trade]:
    """All uses of an identity that make the writing cheaper, on one term or on two that differ in one factor."""
    alike: dict[tuple[object, ...], list[tuple[Product, Product]]] = defaultdict(list)
    for product in made:
        for (sine, angle), power in product:
            odd = frozenset(s for s, c in angle if c % 2)
            for p, kind in ((1, (sine, odd)), (2, angle))[:power]:
                part = (((sine, angle), p),)
                rest = _times(product, (((sine, angle), -p),))
                alike[rest, kind].append((rest, part))
    for parts in alike.values():
        for i, (rest, f) in enumerate(parts):
            for g in ((), *(part for _, part in parts[i + 1 :])):
                for zero in _zeros(f, g):
                    for target in (h for h in (f, g) if h in zero):
                        amount = made.get(_times(rest, target), 0.0) / zero[target]
                        trade = _trade(made, {_times(rest, h): -amount * c for h, c in zero.items()}, noise) if amount else None
                        if trade is not None:
                            yield trade


def _trade(made: Writing, change: Writing, noise: float) -> Trade | None:
    after = {product: made.get(product, 0.0) + c for product, c in change.items()}
    gain = sum(_cost(product) * ((product in made) - (abs(c) > noise)) for product, c in after.items())
    return Trade(after, (-gain, sum(map(abs, after.values())), tuple(sorted(after)))) if gain > 0 else None


@lru_cache(maxsize=1 << 16)
def _zeros(f: Product, g: Product) -> tuple[Writing, ...]:
    """Identities between two waves, or a wave and 1, or their squares, as sums that are zero."""
    ((sine, u), power), ((_, v), _) = f[0], g[0] if g else (FLAT, 1)
    if power == 2:
        return ({(((False, u), 2),): 1.0, (((True, u), 2),): 1.0, (): -1.0},)
    twice_a, twice_b = _sum(u, v, 1), _sum(u, v, -1)
    if any(c % 2 for _, c in twice_a):
        return ()
    a, b = (tuple((s, c // 2) for s, c in angle) for angle in (twice_a, twice_b))
    made = []
    for sign in (1.0, -1.0):
        # cos u + cos v = 2 cos a cos b, cos u - cos v = -2 sin a sin b,
        # sin u + sin v = 2 sin a cos b, sin u - sin v = 2 cos a sin b
        kinds = (sign > 0.0, sign < 0.0) if sine else (sign < 0.0, sign < 0.0)
        (first, ca), (second, cb) = _signed(kinds[0], a, 1.0), _signed(kinds[1], b, 1.0)
        zero = {f: 1.0, _times(((first, 1),), ((second, 1),)): (2.0 if kinds == (True, True) else -2.0) * ca * cb}
        if g or not sine:
            zero[g] = sign
        made.append(zero)
    return tuple(made)


@lru_cache(maxsize=1 << 16)
def _times(a: Product, b: Product) -> Product:
    powers = Counter(dict(a))
    powers.update(dict(b))
    return tuple(sorted((wave, p) for wave, p in powers.items() if p))


@lru_cache(maxsize=1 << 16)
def _cost(product: Product) -> int:
    return TERM + sum(_cost_of_angle(angle) + EACH * (p > 1) for (_, angle), p in product)


def _cost_of_angle(angle: Angle) -> int:
    if all(c == 1 for _, c in angle):
        return PLAIN + EACH * (len(angle) - 1)
    return ODD + sum(EACH + math.ceil(abs(c)) for _, c in angle)
