"""Names that are legal in every language: a value's name may be a keyword of C, or too long for Fortran."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from forearm.codegen.program import Argument, Op, Program, Ref, Routine, Statement, Statements, Tree
from forearm.codegen.text import tables
from forearm.errors import InputError, shorten

LONGEST = 63  # characters of a name in Fortran 2008
SUFFIXES = ("", "_prepare", "_module", "_look_up")
LONGEST_IN_FORTRAN = LONGEST - max(map(len, SUFFIXES))
LONGEST_ELSEWHERE = 200  # characters: it is also the name of a file
# Case-insensitive, as in Fortran. Keywords of C and C++, names that the generated code itself uses, and C
# library functions that compilers know.
RESERVED = frozenset(word.lower() for word in keyword.kwlist) | frozenset(
    """
    alignas alignof and_eq asm auto bitand bitor bool case catch char char8_t char16_t char32_t co_await co_return co_yield
    compl concept const consteval constexpr constinit const_cast decltype default delete do double dynamic_cast enum explicit
    export extern float friend goto inline int long mutable namespace new noexcept not_eq nullptr operator or_eq private
    protected public register reinterpret_cast requires restrict short signed sizeof static static_assert static_cast struct
    switch template this thread_local throw typedef typeid typename union unsigned using virtual void volatile wchar_t xor
    xor_eq errno huge_val infinity linux main nan null std unix
    abs batch cos dp end exp fabs look_up np real real64 scalar sign sign_of sin sqrt
    abort abs acos asin atan atan2 atexit calloc cbrt ceil cosh erf exit exp exp2 expm1 fabs fclose fdim floor fma fmax fmin
    fmod fopen fprintf free frexp fscanf getchar hypot isnan labs ldexp lgamma log log10 log1p log2 malloc memcpy memset
    modf pow printf putchar puts qsort rand realloc remainder rint round scanf sinh sprintf srand strcmp strcpy strlen
    system tan tanh tgamma time trunc
    """.split()  # noqa: E501, SIM905
)


def legal(
    program: Program,
    longest: int = LONGEST_ELSEWHERE,
    also: frozenset[str] = frozenset(),
    shaped: Callable[[str], str] = str,
) -> Program:
    """The program with its values and arguments renamed to be legal and unambiguous in every language; `also`
    are words of one language, in lower case, for names in the form that `shaped` returns.

    The name of the program itself, of at most `longest` characters, is chosen by the caller and stays: an
    illegal one raises InputError.
    """
    _check(program.name, longest, also)
    arguments = (*program.inputs, *program.outputs)
    # Besides the prepared k, Fortran cannot have a K.
    reserved = (
        RESERVED
        | also
        | {program.name.lower() + suffix for suffix in SUFFIXES}
        | {
            name
            for routine in program.routines
            for name in (routine.name, f"{program.name.lower()}_{routine.name}")
        }
        | ({"k"} if program.parameters else set())
        | set(tables(program.every_statement).values())
    )
    routines: dict[Routine, Routine] = {}
    for routine in program.routines:
        own = _Renaming(_renamed(_values(routine.statements), reserved, shaped), routines)
        routines[routine] = replace(routine, statements=own.statements(routine.statements))
    values = _values((*program.prepare, *program.statements))
    new = _Renaming(_renamed([*(a.name for a in arguments), *values], reserved, shaped), routines)
    return replace(
        program,
        inputs=tuple(map(new.argument, program.inputs)),
        outputs=tuple(map(new.argument, program.outputs)),
        prepare=new.statements(program.prepare),
        statements=new.statements(program.statements),
        routines=tuple(routines.values()),
    )


def _values(statements: Iterable[Statement]) -> list[str]:
    """The names of a function's local values and arrays."""
    return [s.target.name for s in statements if s.target.index is None]


@dataclass(frozen=True)
class _Renaming:
    """New names by old ones, likewise for routines."""

    names: dict[str, str]
    routines: dict[Routine, Routine]

    def argument(self, old: Argument) -> Argument:
        return replace(old, name=self.names.get(old.name, old.name))

    def ref(self, old: Ref) -> Ref:
        return replace(old, name=self.names.get(old.name, old.name))

    def tree(self, old: Tree) -> Tree:
        if isinstance(old, Op):
            return replace(old, operands=tuple(map(self.tree, old.operands)))
        return self.ref(old) if isinstance(old, Ref) else old

    def statements(self, old: Statements) -> Statements:
        if not self.names and not self.routines:
            return old
        return tuple(
            replace(
                s,
                target=self.ref(s.target),
                value=self.tree(s.value),
                routine=None if s.routine is None else self.routines[s.routine],
            )
            for s in old
        )


def _check(name: str, longest: int, also: frozenset[str]) -> None:
    if not _fits(name, longest) or name.lower() in RESERVED | also:
        raise InputError(
            f"the program cannot be called {shorten(name)}; expected a letter followed by "
            f"letters, digits and underscores, at most {longest} characters, and no keyword "
            "of a language. Choose another name.",
            "codegen",
        )


def _fits(name: str, longest: int = LONGEST) -> bool:
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name) is not None and len(name) <= longest


def _renamed(names: Iterable[str], reserved: frozenset[str], shaped: Callable[[str], str]) -> dict[str, str]:
    """New names for those that are not legal."""
    all_names = list(dict.fromkeys(names))
    bad = [n for n in all_names if not _fits(n) or n.lower() in reserved or shaped(n) != n]
    taken = reserved | {name.lower() for name in all_names}
    new: dict[str, str] = {}
    for name in bad:
        stem = re.sub(r"[^A-Za-z0-9_]", "c", name)
        stem = shaped((stem if stem[:1].isalpha() else f"v{stem}")[: LONGEST - 8])
        wanted, copy = stem, 1
        while wanted.lower() in taken:
            copy += 1
            wanted = f"{stem}_{copy}"
        new[name] = wanted
        taken |= {wanted.lower()}
    return new
