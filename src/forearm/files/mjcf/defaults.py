"""Default classes: a tree in which each class inherits the attributes of its parent."""

from __future__ import annotations

from forearm.errors import InputError, NameNotFound, shorten, suggest
from forearm.files.mjcf.attributes import MjcfElement
from forearm.reading.xml import Element

ACTUATORS = (
    "general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle", "adhesion",
    "dcmotor", "pid", "orientation", "plugin",
)  # fmt: skip
MAIN = "main"
# Tags that share their defaults: MuJoCo has one kind of actuator, the others are shortcuts.
FAMILIES = {**dict.fromkeys(ACTUATORS, "general"), **dict.fromkeys(("fixed", "spatial", "tendon"), "tendon")}
Attributes = dict[str, dict[str, str]]  # family -> attribute -> value


class Defaults:
    """The default classes of a file by name."""

    def __init__(self, root: Element) -> None:
        self.classes: dict[str, Attributes] = {MAIN: {}}
        for element in root.all("default"):
            self._add(element, element.attributes.get("class", MAIN), None)

    def _add(self, element: Element, name: str, parent: str | None) -> None:
        # A class may be extended later, also in included files; the outermost is `main`, whatever its name.
        inherited = self.classes[MAIN if parent is None else parent]
        found = self.classes.setdefault(name, {family: dict(v) for family, v in inherited.items()})
        for child in element.children:
            if child.tag != "default":
                family = _family(child.tag, of_equality=False)
                found.setdefault(family, {}).update(child.attributes)
        if parent is None and name != MAIN:
            self.classes[MAIN] = found
        for child in element.all("default"):
            if not child.attributes.get("class"):
                raise InputError("a <default> inside another needs the attribute 'class'.", child.place)
            self._add(child, child.attributes["class"], name)

    def check(self, name: str, where: str) -> str:
        """The name of an existing class."""
        if name not in self.classes:
            raise NameNotFound(
                f"there is no default class {shorten(name)}; {suggest(name, self.classes)}", where
            )
        return name

    def of(self, element: Element, childclass: str | None = None, of_equality: bool = False) -> MjcfElement:
        """An element with the defaults of its own class, else of the enclosing `childclass`, else of main."""
        name = element.attributes.get("class") or childclass or MAIN
        found = self.classes[self.check(name, f"{element.place}, <{element.tag:.40}>")]
        family = _family(element.tag, of_equality)
        return MjcfElement(element, found.get(family, {}) | element.attributes)


def _family(tag: str, of_equality: bool) -> str:
    return "equality" if of_equality else FAMILIES.get(tag, tag)
