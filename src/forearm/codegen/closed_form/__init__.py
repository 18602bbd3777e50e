"""Closed forms of small arms: a program's results expanded, shortened and grouped for readers.

`closed_form` is the entry point: a program is expanded (`expansion`, with `angles` and `polynomial`) into a
normal form, which is shortened by trigonometric identities (`shortening`) and grouped (`collecting`) as it is
written (`writing`).
"""

from forearm.codegen.closed_form.expansion import closed_form
from forearm.codegen.closed_form.sums import (
    MOST_TERMS,
    NOISE,
    PARAMETER,
    Factor,
    FunctionCall,
    Sum,
    SymbolicClosedForm,
    Term,
    Trig,
)

__all__ = [
    "MOST_TERMS",
    "NOISE",
    "PARAMETER",
    "Factor",
    "FunctionCall",
    "Sum",
    "SymbolicClosedForm",
    "Term",
    "Trig",
    "closed_form",
]
