"""Write src/forearm/__init__.pyi: the public names, with every keyword of functions that also take the fields
of their records one by one, so that editors and type checkers know them.

    python docs/make_stub.py
"""

from __future__ import annotations

import ast
import inspect
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import forearm as fa

STUB = Path(fa.__file__).with_suffix(".pyi")
HEAD = '"""Public names of forearm, for editors and type checkers; written by docs/make_stub.py."""\n'


@cache
def _origins(module: str) -> dict[str, tuple[str, str]]:
    """Where each name of a module comes from, imports for type checkers included."""
    source = Path(str(import_module(module).__file__)).read_text(encoding="utf-8")
    found: dict[str, tuple[str, str]] = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            found |= {each.asname or each.name: (node.module or "", each.name) for each in node.names}
        elif isinstance(node, ast.Import):
            found |= {each.asname or each.name: (each.name, "") for each in node.names}
    return found


def _origin(module: str, name: str) -> tuple[str, str] | None:
    """The module that defines a name, and its name there; None for a built-in one."""
    while name in _origins(module):
        module, name = _origins(module)[name]
        if not module.startswith("forearm"):
            return module, name
    return (module, name) if hasattr(import_module(module), name) else None


class Stub:
    """The text of a stub, and what it imports."""

    def __init__(self) -> None:
        self._imports: dict[str, tuple[str, str]] = {}

    def annotation(self, text: str, module: str) -> str:
        """An annotation as written in a module, with the names that it needs imported."""
        for name in dict.fromkeys(re.findall(r"(?<![\w.'\"])[A-Za-z_]\w*", text)):
            origin = _origin(module, name)
            if origin is None:
                continue
            alias = f"_{origin[1] or origin[0]}"
            while self._imports.setdefault(alias, origin) != origin:
                alias = f"_{alias}"
            text = re.sub(rf"(?<![\w.'\"]){name}\b", alias, text)
        return text

    def function(self, name: str, function: Any) -> str:
        """A function with all its keywords."""
        homes = dict.fromkeys(inspect.signature(function.__wrapped__).parameters, function.__module__)
        for cls in function.records.values():
            homes |= dict.fromkeys(inspect.signature(cls).parameters, cls.__module__)
        shown, starred = [], False
        for parameter in inspect.signature(function).parameters.values():
            if parameter.kind is parameter.KEYWORD_ONLY and not starred:
                shown.append("*")
                starred = True
            kind = self.annotation(str(parameter.annotation), homes[parameter.name])
            default = "" if parameter.default is parameter.empty else " = ..."
            shown.append(f"{parameter.name}: {kind}{default}")
        result = self.annotation(str(inspect.signature(function).return_annotation), function.__module__)
        lines = "".join(f"    {parameter},\n" for parameter in shown)
        return f"def {name}(\n{lines}) -> {result}: ...\n"

    def text(self) -> str:
        """The whole stub."""
        functions = {name: thing for name in fa.__all__ if hasattr(thing := getattr(fa, name), "records")}
        bodies = [self.function(name, thing) for name, thing in functions.items()]
        source = Path(fa.__file__).read_text(encoding="utf-8")
        names = []
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("forearm"):
                shared = [each.name for each in node.names if each.name not in functions]
                if shared:
                    listed = ", ".join(f"{each} as {each}" for each in shared)
                    names.append(f"from {node.module} import {listed}\n")
        own = [
            f"from {module} import {name} as {alias}\n" if name else f"import {module} as {alias}\n"
            for alias, (module, name) in sorted(self._imports.items())
        ]
        return "\n".join([HEAD, "".join(names + own), "__version__: str\n__all__: list[str]\n", *bodies])


def main() -> None:
    """Write the stub."""
    STUB.write_text(Stub().text(), encoding="utf-8")
    print(f"written: {STUB.name}")


if __name__ == "__main__":
    main()
