"""An FMU's modelDescription.xml, in FMI's versions 2 and 3."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite

from forearm.fmi.instance_memory import CATEGORY
from forearm.fmi.naming import attributes
from forearm.fmi.variables import UNITS, FmuVariable

HEAD = '<?xml version="1.0" encoding="UTF-8"?>'
TOOL = "forearm"
STOP = 1.0  # s, of the default experiment


@dataclass(frozen=True)
class Described:
    """What is described; `sources` are the names of its C files."""

    name: str
    identifier: str
    description: str
    token: str
    variables: Sequence[FmuVariable]
    sources: Sequence[str]

    @property
    def states(self) -> list[FmuVariable]:
        """Derivatives of the continuous states, in the order of these."""
        return [v for v in self.variables if v.derivative_of is not None]

    @property
    def outputs(self) -> list[FmuVariable]:
        """Output variables."""
        return [v for v in self.variables if v.causality == "output"]

    @property
    def indicators(self) -> list[FmuVariable]:
        """Event indicators."""
        return [v for v in self.variables if v.name.endswith(".event_indicator")]

    @property
    def first_unknowns(self) -> list[FmuVariable]:
        """Initial unknowns: outputs, states and derivatives."""
        states = {v.derivative_of for v in self.states}
        return [
            v
            for v in self.variables
            if v.initial == "calculated"
            and (v.causality == "output" or v.derivative_of is not None or v.place in states)
        ]


def description_2(d: Described) -> str:
    """FMI 2.0: variables are referenced by their index in the list, counted from 1."""
    number = {v.place: str(k) for k, v in enumerate(d.variables, start=1)}
    capabilities = attributes(
        modelIdentifier=d.identifier,
        canNotUseMemoryManagementFunctions="true",
        canGetAndSetFMUstate="true",
        canSerializeFMUstate="true",
    )
    modes = []
    files = [f"      <File{attributes(name=name)}/>" for name in d.sources]
    inner = ["    <SourceFiles>", *files, "    </SourceFiles>"] if files else []
    for tag, more in (
        ("ModelExchange", attributes(completedIntegratorStepNotNeeded="true")),
        ("CoSimulation", attributes(canHandleVariableCommunicationStepSize="true")),
    ):
        start = f"  <{tag}{capabilities}{more}"
        modes += [f"{start}>", *inner, f"  </{tag}>"] if inner else [f"{start}/>"]
    variables = []
    for v in d.variables:
        derivative = None if v.derivative_of is None else number[v.derivative_of]
        real = attributes(unit=v.unit, **_bounds(v), start=_start(v), derivative=derivative)
        variables += [f"    <ScalarVariable{attributes(**_about(v))}><Real{real}/></ScalarVariable>"]
    structure = []
    for tag, unknowns, needs in (
        ("Outputs", d.outputs, "needs"),
        ("Derivatives", d.states, "needs"),
        ("InitialUnknowns", d.first_unknowns, "needs_first"),
    ):
        listed = [
            attributes(index=number[v.place], dependencies=" ".join(number[p] for p in getattr(v, needs)))
            for v in unknowns
        ]
        structure += [f"    <{tag}>", *(f"      <Unknown{some}/>" for some in listed), f"    </{tag}>"]
    indicators = attributes(numberOfEventIndicators=str(len(d.indicators)))
    return _document(d, "2.0", "guid", indicators, modes, variables, structure)


def description_3(d: Described) -> str:
    """FMI 3.0: variables are referenced by their value references."""
    capabilities = attributes(
        modelIdentifier=d.identifier, canGetAndSetFMUState="true", canSerializeFMUState="true"
    )
    step = attributes(canHandleVariableCommunicationStepSize="true")
    modes = [
        f"  <ModelExchange{capabilities}{attributes(needsCompletedIntegratorStep='false')}/>",
        f"  <CoSimulation{capabilities}{step}/>",
    ]
    variables = []
    for v in d.variables:
        derivative = None if v.derivative_of is None else str(v.derivative_of)
        shown = attributes(**_about(v), unit=v.unit, **_bounds(v), derivative=derivative, start=_start(v))
        variables += [f"    <Float64{shown}/>"]
    structure = []
    for tag, unknowns, needs in (
        ("Output", d.outputs, "needs"),
        ("ContinuousStateDerivative", d.states, "needs"),
        ("InitialUnknown", d.first_unknowns, "needs_first"),
        ("EventIndicator", d.indicators, "needs"),
    ):
        for v in unknowns:
            dependencies = " ".join(map(str, getattr(v, needs)))
            shown = attributes(valueReference=str(v.place), dependencies=dependencies)
            structure += [f"    <{tag}{shown}/>"]
    return _document(d, "3.0", "instantiationToken", "", modes, variables, structure)


def _document(d: Described, version: str, token: str, more: str, *parts: Sequence[str]) -> str:
    """The file, from the lines of its modes, variables and structure."""
    modes, variables, structure = parts
    head = attributes(
        fmiVersion=version,
        modelName=d.name,
        **{token: d.token},
        description=d.description,
        generationTool=TOOL,
        variableNamingConvention="structured",
    )
    lines = [HEAD, f"<fmiModelDescription{head}{more}>", *modes, *_units(), *_told(), "  <ModelVariables>"]
    lines += [*variables, "  </ModelVariables>", "  <ModelStructure>", *structure]
    return "\n".join([*lines, "  </ModelStructure>", "</fmiModelDescription>", ""])


def _about(v: FmuVariable) -> dict[str, str | None]:
    return {
        "name": v.name,
        "valueReference": str(v.place),
        "causality": v.causality,
        "variability": v.variability,
        "initial": None if v.causality in ("input", "independent") else v.initial,
        "description": v.description,
    }


def build_description(identifier: str, sources: Iterable[str]) -> str:
    """FMI 3.0's sources/buildDescription.xml."""
    files = [f"    <SourceFile{attributes(name=name)}/>" for name in sources]
    return "\n".join(
        [
            HEAD,
            '<fmiBuildDescription fmiVersion="3.0">',
            f"  <BuildConfiguration{attributes(modelIdentifier=identifier)}>",
            '  <SourceFileSet language="C99">',
            *files,
            "  </SourceFileSet>",
            "  </BuildConfiguration>",
            "</fmiBuildDescription>",
            "",
        ]
    )


def _units() -> list[str]:
    made = ["  <UnitDefinitions>"]
    for name, exponents in UNITS.items():
        powers = attributes(**{key: str(power) for key, power in exponents.items()})
        made += [f"    <Unit{attributes(name=name)}><BaseUnit{powers}/></Unit>"]
    return [*made, "  </UnitDefinitions>"]


def _told() -> list[str]:
    category = attributes(name=CATEGORY, description="what is wrong")
    return [
        "  <LogCategories>",
        f"    <Category{category}/>",
        "  </LogCategories>",
        f"  <DefaultExperiment{attributes(startTime='0', stopTime=repr(STOP), stepSize='0.01')}/>",
    ]


def _bounds(v: FmuVariable) -> dict[str, str | None]:
    return {
        "min": repr(float(v.low)) if isfinite(v.low) else None,
        "max": repr(float(v.high)) if isfinite(v.high) else None,
        "nominal": "1.0" if v.name.endswith((".q", ".qd")) else None,
    }


def _start(v: FmuVariable) -> str | None:
    return None if v.start is None else repr(float(v.start))
