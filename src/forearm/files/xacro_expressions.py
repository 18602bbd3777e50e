"""Values of xacro's expressions `${...}`: parsed as Python, evaluated by a walk over the syntax tree.

Nothing of the text is ever compiled or run. The walk knows the node types of `_value` and the functions
listed here; values are numbers, text, lists, tuples, dictionaries and these functions. A dot looks up a key
of a dictionary, a name of a namespace or one of the methods below, never an attribute of a Python object.
"""

from __future__ import annotations

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from forearm.errors import shorten, suggest

MAX_STEPS = 400_000  # evaluated nodes, expanded elements and every fourth item or character of a value
MAX_EXPRESSION = 2000  # characters
MAX_NESTING = 100  # of one expression, also of a sum of so many terms
MAX_SIZE = 20_000  # items and characters of one value
MAX_VALUE_DEPTH = 20
MAX_BITS = 1024  # of an integer: beyond the range of floats
NOT_XML = re.compile(r"[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Value = Any  # None, bool, int, float, str, list, tuple, dict, XacroFunction


class RefusedExpression(Exception):
    """An expression without a value, or one that is not allowed; the caller adds the location."""


@dataclass(frozen=True)
class XacroFunction:
    """A function that expressions may call."""

    name: str
    call: Callable[..., Value]

    def __repr__(self) -> str:
        return self.name


@dataclass(eq=False)
class Namespace:
    """Values by name; names that are missing here are looked up in `outer`. `is_include` says whether it
    belongs to an included file, otherwise to a macro or the whole.
    """

    outer: Namespace | None = None
    is_include: bool = False
    values: dict[str, Value] = field(default_factory=dict)

    def owner(self, name: str) -> Namespace | None:
        """The innermost namespace that has the name."""
        space: Namespace | None = self
        while space is not None and name not in space.values:
            space = space.outer
        return space


class StepBudget:
    """What the expansion of one file may still cost."""

    def __init__(self) -> None:
        self.left = MAX_STEPS

    def spend(self, steps: int = 1) -> None:
        """Count steps; refuse the file when none are left."""
        self.left -= steps
        if self.left < 0:
            raise RefusedExpression(
                f"the file takes more than {MAX_STEPS} steps to expand. If you trust it, expand it with "
                "xacro: xacro FILE > arm.urdf."
            )

    def check(self, value: Value) -> Value:
        """The value, if its type is allowed and its size in bounds; its size is counted."""
        if type(value) in (float, bool):
            return value
        size, rest = 0, [(value, 0)]
        while rest:
            item, depth = rest.pop()
            kind = type(item)
            size += 1
            if kind is str:
                size += len(item)
                if NOT_XML.search(item):
                    raise RefusedExpression(f"text with characters that XML does not allow: {shorten(item)}.")
            elif kind is int:
                if item.bit_length() > MAX_BITS:
                    raise RefusedExpression(f"an integer of more than {MAX_BITS} bits.")
            elif kind in (list, tuple, dict):
                rest += [(inner, depth + 1) for inner in item]
                if kind is dict:
                    rest += [(inner, depth + 1) for inner in item.values()]
            elif item is not None and kind not in (float, bool, XacroFunction):
                raise RefusedExpression(
                    f"expected a number, text, list or dictionary, got {'a ' + kind.__name__:.40}."
                )
            if size > MAX_SIZE or depth > MAX_VALUE_DEPTH:
                raise RefusedExpression(
                    f"a value of more than {MAX_SIZE} items and characters, or nested deeper than "
                    f"{MAX_VALUE_DEPTH}."
                )
        self.spend(size // 4)
        return value


class Evaluator:
    """Evaluates expressions within a budget. `lookup` finds the value of a name in a namespace."""

    def __init__(self, budget: StepBudget, lookup: Callable[[Namespace, str], Value]) -> None:
        self.budget = budget
        self.lookup = lookup
        self.trees: dict[str, ast.expr] = {}

    def evaluate(self, text: str, names: Namespace) -> Value:
        """The value of an expression."""
        self.budget.spend(1 + len(text) // 8)
        try:
            value = self._value(self._tree(text.strip()), names, 0)
        except (ArithmeticError, LookupError, TypeError, ValueError) as error:
            raise RefusedExpression(f"cannot be evaluated: {shorten(str(error), 200)[1:-1]}.") from error
        if isinstance(value, Namespace):
            raise RefusedExpression("a namespace is no value; name something in it.")
        return value

    def _tree(self, text: str) -> ast.expr:
        if text not in self.trees:
            if len(text) > MAX_EXPRESSION:
                raise RefusedExpression(f"longer than {MAX_EXPRESSION} characters.")
            try:
                self.trees[text] = ast.parse(text, mode="eval").body
            except (SyntaxError, ValueError, MemoryError, RecursionError) as error:
                reason = error.msg if isinstance(error, SyntaxError) else "nested too deeply"
                raise RefusedExpression(f"not a valid expression: {shorten(reason, 200)}.") from error
        return self.trees[text]

    def _value(self, node: ast.expr, names: Namespace, depth: int) -> Value:
        """The value of a node: the language, one case for each kind of node."""
        self.budget.spend()
        if depth > MAX_NESTING:
            raise RefusedExpression(f"nested deeper than {MAX_NESTING}.")
        depth += 1
        match node:
            case ast.Constant(value=value):
                return self.budget.check(value)
            case ast.Name(id=name):
                return self.lookup(names, name)
            case ast.List(elts=items) | ast.Tuple(elts=items):
                values = [self._value(item, names, depth) for item in items]
                return self.budget.check(values if isinstance(node, ast.List) else tuple(values))
            case ast.UnaryOp(op=sign, operand=operand) if type(sign) in UNARY:
                return self.budget.check(UNARY[type(sign)](self._value(operand, names, depth)))
            case ast.BinOp(left=left, op=sign, right=right) if type(sign) in BINARY:
                operands = self._value(left, names, depth), self._value(right, names, depth)
                return self._binary(type(sign), *map(self.budget.check, operands))
            case ast.BoolOp(op=sign, values=parts):
                for part in parts:
                    value = self._value(part, names, depth)
                    if bool(value) is isinstance(sign, ast.Or):
                        break
                return value
            case ast.Compare(left=left, ops=signs, comparators=parts):
                value = self.budget.check(self._value(left, names, depth))
                for relation, part in zip(signs, parts, strict=True):
                    previous, value = value, self.budget.check(self._value(part, names, depth))
                    if not COMPARISONS[type(relation)](previous, value):
                        return False
                return True
            case ast.IfExp(test=test, body=body, orelse=otherwise):
                return self._value(body if self._value(test, names, depth) else otherwise, names, depth)
            case ast.Subscript(value=whole, slice=ast.Slice(lower=lower, upper=upper, step=step)):
                ends = [
                    None if end is None else self._value(end, names, depth) for end in (lower, upper, step)
                ]
                return self.budget.check(_item(self._value(whole, names, depth), slice(*ends)))
            case ast.Subscript(value=whole, slice=key):
                return _item(self._value(whole, names, depth), self._value(key, names, depth))
            case ast.Attribute(value=whole, attr=name):
                return self._member(self._value(whole, names, depth), name)
            case ast.Call(func=called, args=parts, keywords=pairs):
                function = self._called(called, names, depth)
                arguments = [self.budget.check(self._value(part, names, depth)) for part in parts]
                keywords = {
                    pair.arg: self.budget.check(self._value(pair.value, names, depth))
                    for pair in pairs
                    if pair.arg and function is DICT
                }
                if len(keywords) < len(pairs):
                    raise RefusedExpression(
                        "arguments by name are for dict(...) only; give them by position."
                    )
                return self.budget.check(function.call(*arguments, **keywords))
        raise RefusedExpression(
            f"{REFUSED.get(type(node), 'this operator')} is not allowed: only numbers, text, lists, "
            "arithmetic, comparisons, conditions, indices and calls of known functions."
        )

    def _called(self, node: ast.expr, names: Namespace, depth: int) -> XacroFunction:
        if isinstance(node, ast.Attribute):
            whole = self._value(node.value, names, depth)
            methods = METHODS.get(type(whole), {})
            if node.attr in methods:
                method, (checked,) = methods[node.attr], [self.budget.check(whole)]
                return XacroFunction(node.attr, lambda *arguments: method(checked, *arguments))
            if isinstance(whole, str):
                raise RefusedExpression(
                    f"text has no method {node.attr!r:.60}; {suggest(node.attr, methods)}"
                )
            function = self._member(whole, node.attr)
        else:
            function = self._value(node, names, depth)
        if not isinstance(function, XacroFunction):
            raise RefusedExpression(f"expected a function before (...), got {_kind(function)}.")
        return function

    def _member(self, whole: Value, name: str) -> Value:
        if isinstance(whole, Namespace):
            return self.lookup(whole, name)
        if type(whole) is dict:
            return _item(whole, name)
        raise RefusedExpression(f".{name:.60} is not allowed: a dot is for keys of a dictionary only.")

    def _binary(self, sign: type[ast.operator], left: Value, right: Value) -> Value:
        """The result, with its size known before it is computed."""
        if sign is ast.Mod and isinstance(left, str):
            raise RefusedExpression("text cannot be formatted with %; join it with +.")
        if sign is ast.Mult:
            for items, count in ((left, right), (right, left)):
                if isinstance(items, str | list | tuple) and isinstance(count, int):
                    _check_size(len(items) * count)
        is_power = sign is ast.Pow and isinstance(left, int) and isinstance(right, int)
        if is_power and (left.bit_length() - 1) * right > MAX_BITS:
            raise RefusedExpression(f"a power of more than {MAX_BITS} bits.")
        return self.budget.check(BINARY[sign](left, right))

    def map(self, function: Value, *lists: Value) -> list[Value]:
        """The function applied to the items of each list."""
        if not isinstance(function, XacroFunction):
            raise RefusedExpression("map expects a function and lists.")
        results: list[Value] = []
        size = 0
        for items in zip(*lists, strict=False):
            results.append(self.budget.check(function.call(*items)))
            size += len(results[-1]) if isinstance(results[-1], str | list | tuple) else 1
            _check_size(size)
        return results


UNARY: dict[type[ast.unaryop], Callable[[Value], Value]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}
BINARY: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: operator.pow,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Value, Value], bool]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, items: item in items,
    ast.NotIn: lambda item, items: item not in items,
}
REFUSED: dict[type[ast.expr], str] = {
    ast.Lambda: "lambda",
    ast.NamedExpr: "assignment with :=",
    ast.JoinedStr: "an f-string",
    ast.Starred: "an argument with *",
    ast.Dict: "{...}",
    ast.Set: "{...}",
    **dict.fromkeys((ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp), "a comprehension"),
    **dict.fromkeys((ast.Await, ast.Yield, ast.YieldFrom), "a coroutine"),
}


def _item(whole: Value, key: Value) -> Value:
    if type(whole) is dict and key not in whole:
        raise RefusedExpression(f"no key {shorten(key)}; {suggest(str(key)[:60], map(str, whole))}")
    if type(whole) not in (dict, list, tuple, str):
        raise RefusedExpression(
            f"expected a list, text or dictionary before [...] or a dot, got {_kind(whole)}."
        )
    return whole[key]


def _kind(value: Value) -> str:
    return "a function" if isinstance(value, XacroFunction) else f"{type(value).__name__} {shorten(value)}"


def _check_size(size: int) -> None:
    if size > MAX_SIZE:
        raise RefusedExpression(f"a value of more than {MAX_SIZE} items and characters.")


# --- functions ---------------------------------------------------------------------------------------------


def _range(*bounds: int) -> list[int]:
    numbers = range(*bounds)
    _check_size(len(numbers))
    return list(numbers)


def _round(number: float, digits: int | None = None) -> float:
    if digits is not None and abs(digits) > 400:  # 10**digits would be computed
        raise RefusedExpression(f"round: expected at most 400 digits, got {shorten(digits)}.")
    return round(number, digits)


def _sum(numbers: Iterable[Value]) -> Value:
    items = list(numbers)
    if not all(isinstance(item, int | float) for item in items):
        raise RefusedExpression("sum: expected numbers.")
    return sum(items)


def _replace(text: str, old: str, new: str) -> str:
    _check_size(len(text) + text.count(old) * len(new))
    return text.replace(old, new)


def _join(separator: str, words: list[str]) -> str:
    _check_size(len(separator) * len(words))
    return separator.join(words)


def tokenize(text: str, separators: str = ",; ", skip_empty: bool = True) -> list[str]:
    """The parts of a text between any of the separators."""
    parts = re.split(f"[{re.escape(separators)}]", text)
    return [part for part in parts if part or not skip_empty]


METHODS: dict[type, dict[str, Callable[..., Value]]] = {
    str: {
        **{name: getattr(str, name) for name in ("split", "strip", "lstrip", "rstrip", "lower", "upper")},
        **{name: getattr(str, name) for name in ("startswith", "endswith")},
        "replace": _replace,
        "join": _join,
    },
    dict: {
        "get": dict.get,
        "keys": list,
        "values": lambda pairs: list(pairs.values()),
        "items": lambda pairs: list(pairs.items()),
    },
}
MATH = (
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "ceil", "copysign", "cos", "cosh",
    "degrees", "dist", "e", "erf", "erfc", "exp", "exp2", "expm1", "fabs", "floor", "fmod", "frexp", "fsum",
    "gamma", "gcd", "hypot", "inf", "isclose", "isfinite", "isinf", "isnan", "isqrt", "ldexp", "lgamma",
    "log", "log10", "log1p", "log2", "modf", "nan", "nextafter", "pi", "pow", "radians", "remainder", "sin",
    "sinh", "sqrt", "tan", "tanh", "tau", "trunc", "ulp",
)  # fmt: skip
EVERYWHERE: dict[str, Callable[..., Value]] = {
    "bool": bool,
    "float": float,
    "int": int,
    "len": len,
    "list": list,
    "max": max,
    "min": min,
    "range": _range,
    "round": _round,
    "sorted": sorted,
    "str": str,
}
IN_PYTHON: dict[str, Callable[..., Value]] = {
    "abs": abs,
    "all": all,
    "any": any,
    "divmod": divmod,
    "enumerate": lambda *arguments: list(enumerate(*arguments)),
    "reversed": lambda items: list(reversed(items)),
    "sum": _sum,
    "tuple": tuple,
    "zip": lambda *lists: list(zip(*lists, strict=False)),
}
DICT = XacroFunction("dict", dict)


def global_names(evaluator: Evaluator, of_xacro: Mapping[str, Callable[..., Value]]) -> Namespace:
    """What every expression knows: functions, constants, the namespaces math, python and xacro."""
    mathematics = {name: getattr(math, name) for name in MATH}
    mathematics = {
        name: XacroFunction(name, value) if callable(value) else value for name, value in mathematics.items()
    }
    functions = {
        name: XacroFunction(name, call) for name, call in (EVERYWHERE | {"map": evaluator.map}).items()
    }
    python = functions | {name: XacroFunction(name, call) for name, call in IN_PYTHON.items()}
    xacro = {name: XacroFunction(name, call) for name, call in of_xacro.items()}
    spaces = {"math": mathematics, "python": python | {"dict": DICT}, "xacro": xacro}
    return Namespace(
        values={
            **mathematics,
            **functions,
            "dict": DICT,
            "load_yaml": xacro["load_yaml"],
            "dotify": xacro["dotify"],
            **{name: Namespace(values=values) for name, values in spaces.items()},
        }
    )
