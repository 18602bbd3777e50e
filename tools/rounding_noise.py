"""forearm with noise in the last bit of all that rounds differently from machine to machine.

After `begin()` every product of float arrays, every function of numpy.linalg, every sine, power and `sum`
that forearm's code calls comes out up to one unit of the last place off, at random, unless it is exact. What
is the same in spite of that does not depend on BLAS, the C library or the version of Python. `SITES` counts
where noise was added.

    python tools/rounding_noise.py puma560 ur5     digests of these arms and, under "apart", how far two
                                                   equal calls of the reference are apart, as JSON;
                                                   sites on stderr
"""

from __future__ import annotations

import ast
import builtins
import importlib.abc
import importlib.machinery
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Sequence
from types import CodeType, ModuleType
from typing import Any

import numpy as np

SITES: Counter[str] = Counter()
EXACT = (0.0, 1.0, -1.0)  # what any library gives exactly
LINALG = (
    "cholesky",
    "det",
    "eig",
    "eigh",
    "eigvals",
    "eigvalsh",
    "inv",
    "lstsq",
    "matrix_rank",
    "norm",
    "pinv",
    "qr",
)
PRODUCTS = ("convolve", "correlate", "dot", "einsum", "inner", "polyfit", "roots", "tensordot", "vdot")
ELEMENTARY = ("arccos", "arcsin", "arctan2", "cos", "exp", "hypot", "log", "sin", "tan", "tanh")
MATH = (
    "acos",
    "asin",
    "atan",
    "atan2",
    "cos",
    "dist",
    "exp",
    "hypot",
    "log",
    "pow",
    "sin",
    "sumprod",
    "tan",
    "tanh",
)
_random = random.Random(1)


def jolted(value: Any) -> Any:
    """The value with every float in it moved by one unit of the last place, or not."""
    if isinstance(value, np.ndarray) and value.dtype == np.float64:
        return np.array([jolted(float(x)) for x in value.flat]).reshape(value.shape)
    if isinstance(value, float) and math.isfinite(value) and value not in EXACT:
        return type(value)(math.nextafter(value, _random.choice((-math.inf, value, math.inf))))
    if isinstance(value, tuple):
        return tuple(map(jolted, value))
    return value


def noted(what: str, value: Any) -> Any:
    """The value with noise, and the line of forearm that asked for it counted."""
    noisy = jolted(value)
    frame = sys._getframe(2)
    while frame.f_back is not None and "forearm" not in frame.f_code.co_filename:
        frame = frame.f_back
    SITES[f"{what} {frame.f_code.co_filename.rpartition('forearm/')[2]}:{frame.f_lineno}"] += 1
    return noisy


def product(a: Any, b: Any) -> Any:
    """a @ b, with noise where BLAS may round."""
    made = a @ b
    arrays = isinstance(a, np.ndarray) and isinstance(b, np.ndarray)
    if not arrays or a.dtype != np.float64 or b.dtype != np.float64 or _is_exact(a) or _is_exact(b):
        return made
    return noted("@", made)


def power(a: Any, b: Any) -> Any:
    """a ** b, with noise where the C library may round."""
    made = a**b
    return noted("**", made) if isinstance(a, float) and isinstance(made, float) else made


def total(values: Any, start: Any = 0) -> Any:
    """sum(values, start), with noise where versions of Python differ."""
    made = builtins.sum(values, start)
    return noted("sum", made) if isinstance(made, float) and not made.is_integer() else made


def _is_exact(matrix: Any) -> bool:
    """Whether every product with it is exact: in each row and column at most one number, 1 or -1."""
    if not np.isin(matrix, EXACT).all():
        return False
    return matrix.ndim == 2 and all((np.count_nonzero(matrix, axis=k) <= 1).all() for k in (0, 1))


class _Rewritten(ast.NodeTransformer):
    """Operators as calls of the functions above."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        name = {ast.MatMult: "product", ast.Pow: "power"}.get(type(node.op))
        return node if name is None else _call(name, node, [node.left, node.right])

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and node.func.id == "sum":
            return _call("total", node, node.args)
        return node


def _call(name: str, node: ast.expr, arguments: list[ast.expr]) -> ast.AST:
    function = ast.Attribute(ast.Name("__rounding_noise__", ast.Load()), name, ast.Load())
    return ast.fix_missing_locations(ast.copy_location(ast.Call(function, arguments, []), node))


class _Loader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        code = compile(_Rewritten().visit(ast.parse(self.get_data(path), path)), path, "exec")
        assert isinstance(code, CodeType)
        return code


class _Finder(importlib.abc.MetaPathFinder):
    def find_spec(self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None) -> Any:
        if fullname.partition(".")[0] != "forearm":
            return None
        found = importlib.machinery.PathFinder.find_spec(fullname, path, target)
        if found is not None and isinstance(found.loader, importlib.machinery.SourceFileLoader):
            found.loader = _Loader(found.loader.name, found.loader.path)
        return found


def _wrapped(module: Any, name: str) -> None:
    function = getattr(module, name)

    def noisy(*given: Any, **named: Any) -> Any:
        made = function(*given, **named)
        caller = sys._getframe(1).f_code.co_filename
        if "forearm" not in caller or caller.endswith(
            "portable.py"
        ):  # which corrects what the C library gives
            return made
        return made if isinstance(made, float) and made in EXACT else noted(f"{module.__name__}.{name}", made)

    setattr(module, name, noisy)


def begin() -> None:
    """From now on forearm's modules are imported with noise."""
    assert "forearm" not in sys.modules, "forearm was imported without noise already"
    builtins.__rounding_noise__ = sys.modules[__name__]  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _Finder())
    for module, names in ((np.linalg, LINALG), (np, PRODUCTS), (np, ELEMENTARY), (math, MATH)):
        for name in names:
            if hasattr(module, name):  # sumprod is new
                _wrapped(module, name)


if __name__ == "__main__":
    begin()
    import tests_path  # noqa: F401
    from texts import digests

    from forearm import dynamics, load

    chain, state = load("chain7"), np.linspace(0.1, 0.7, 7)
    first, again = (dynamics.inverse(chain, state, state, state) for _ in range(2))
    apart = float(np.abs(first - again).max())
    print(json.dumps({"apart": apart, "texts": {arm: digests(arm) for arm in sys.argv[1:]}}))
    for site, count in SITES.most_common():
        print(count, site, file=sys.stderr)
