"""Completion scripts for bash, zsh and fish, from what may stand at each place of the command line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

SAID = 70  # characters of a description


@dataclass(frozen=True)
class ShellOption:
    """An option: its spellings, help, whether a value follows, and what that may be: names, a file."""

    names: tuple[str, ...]
    help: str
    takes_value: bool = False
    values: tuple[str, ...] = ()
    takes_file: bool = False


@dataclass(frozen=True)
class Place:
    """Behind `forearm` and the words of `path`: words with their meaning ("" where none need be
    said), options, files.
    """

    path: tuple[str, ...]
    words: dict[str, str]
    options: tuple[ShellOption, ...]
    takes_file: bool

    @property
    def key(self) -> str:
        """The path as one word for scripts."""
        return "-".join(self.path)

    @property
    def spellings(self) -> list[str]:
        """Every spelling of every option."""
        return [name for option in self.options for name in option.names]


def bash(places: Sequence[Place]) -> str:
    """For bash 4 or newer, without the bash-completion package."""
    lines = [
        '# Completion of forearm in bash: eval "$(forearm completion bash)"',
        "_forearm() {",
        '    local current="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD-1]}"',
        '    local place="" words="" options="" files=0 i',
        "    COMPREPLY=()",
        "    # bash splits --option=value at the sign",
        '    if [[ "$current" == "=" ]]; then current=""',
        '    elif [[ "$before" == "=" ]]; then before="${COMP_WORDS[COMP_CWORD-2]}"; fi',
        "    for ((i = 1; i < COMP_CWORD; i++)); do",
        *_walk('"$place:${COMP_WORDS[i]}"', places, "        "),
        "    done",
        '    case "$place:$before" in',
        *(f"        {pattern}) {_bash_value(option)} ;;" for pattern, option in _valued(places)),
        '        *) case "$place" in',
        *(f"            {_single(p.key)}) {_bash_place(p)} ;;" for p in places),
        "        esac",
        (
            '        if [[ "$current" == -* || -z "$words$current" && $files == 0 ]]; then '
            'words="$options"; files=0; fi ;;'
        ),
        "    esac",
        '    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$current")',
        "    if [[ $files == 1 ]]; then",
        '        mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$current")',
        "        compopt -o filenames 2>/dev/null",
        "    fi",
        "}",
        "complete -F _forearm forearm",
    ]
    return "\n".join(lines) + "\n"


def zsh(places: Sequence[Place]) -> str:
    """For zsh: evaluated after compinit, or as the file _forearm in a folder of $fpath."""
    lines = [
        "#compdef forearm",
        '# Completion of forearm in zsh: eval "$(forearm completion zsh)" after compinit',
        "_forearm() {",
        '    local place="" before="${words[CURRENT-1]}" i',
        "    local -a entries",
        "    for ((i = 2; i < CURRENT; i++)); do",
        *_walk('"$place:${words[i]}"', places, "        "),
        "    done",
        '    if compset -P "*="; then before="${words[CURRENT]%%=*}"; fi',
        '    case "$place:$before" in',
        *(f"        {pattern}) {_zsh_value(option)}; return ;;" for pattern, option in _valued(places)),
        "    esac",
        '    case "$place" in',
    ]
    for place in places:
        options = " ".join(
            _described_zsh(name, option.help) for option in place.options for name in option.names
        )
        words = " ".join(_described_zsh(word, said) for word, said in place.words.items())
        lines += [
            f"        {_single(place.key)})",
            (
                f'            if [[ "$PREFIX" == -* ]]; then entries=({options}); _describe -o '
                "option entries; return; fi"
            ),
            *([f"            entries=({words}); _describe name entries"] if words else []),
            *(["            _files"] if place.takes_file else []),
            "            ;;",
        ]
    lines += [
        "    esac",
        "}",
        'if [[ "${funcstack[1]}" == "_forearm" ]]; then _forearm "$@"; else compdef _forearm forearm; fi',
    ]
    return "\n".join(lines) + "\n"


def fish(places: Sequence[Place]) -> str:
    """For fish 3 or newer."""
    lines = ["# Completion of forearm in fish: forearm completion fish | source", "complete -c forearm -f"]
    for place in places:
        start = f"complete -c forearm -n {_single_fish(_fish_condition(place, places))}"
        lines += [f"{start} -a {word}{_fish_said(said)}" for word, said in place.words.items() if said]
        plain = " ".join(word for word, said in place.words.items() if not said)
        if plain or place.takes_file:
            lines.append(
                start + (f" -a {_single_fish(plain)}" if plain else "") + (" -F" if place.takes_file else "")
            )
        for option in place.options:
            lines.append(f"{start} {_fish_option(option)}{_fish_said(option.help)}")
    return "\n".join(lines) + "\n"


def _walk(subject: str, places: Sequence[Place], indent: str) -> list[str]:
    """A case that goes from a place to the one behind it when its word is met."""
    by_key = {place.path: place for place in places}
    steps = [(by_key[p.path[:-1]].key, p.path[-1], p.key) for p in places if p.path]
    branches = [f"{indent}    {_single(f'{key}:{word}')}) place={_single(to)} ;;" for key, word, to in steps]
    return [f"{indent}case {subject} in", *branches, f"{indent}esac"]


def _valued(places: Sequence[Place]) -> list[tuple[str, ShellOption]]:
    """Patterns of place and option behind which a value stands."""
    return [
        ("|".join(_single(f"{place.key}:{name}") for name in option.names), option)
        for place in places
        for option in place.options
        if option.takes_value
    ]


def _bash_value(option: ShellOption) -> str:
    if option.takes_file:
        return "files=1"
    return f"words={_single(' '.join(option.values))}" if option.values else "return"


def _bash_place(place: Place) -> str:
    text = f"words={_single(' '.join(place.words))}; options={_single(' '.join(place.spellings))}"
    return text + ("; files=1" if place.takes_file else "")


def _zsh_value(option: ShellOption) -> str:
    if option.takes_file:
        return "_files"
    return f"compadd -- {' '.join(_single(v) for v in option.values)}" if option.values else "_message value"


def _described_zsh(word: str, said: str) -> str:
    return _single(f"{word}:{_short(said)}" if said else word)


def _fish_condition(place: Place, places: Sequence[Place]) -> str:
    """Whether the line has come to the place and not beyond."""
    beyond = [p.path[-1] for p in places if p.path and p.path[:-1] == place.path]
    seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in place.path)
    if not beyond:
        return seen
    not_beyond = f"not __fish_seen_subcommand_from {' '.join(beyond)}"
    return f"{seen}; and {not_beyond}" if seen else not_beyond


def _fish_option(option: ShellOption) -> str:
    words = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    if option.takes_file:
        words.append("-r -F")
    elif option.values:
        words.append(f"-x -a {_single_fish(' '.join(option.values))}")
    elif option.takes_value:
        words.append("-x")
    return " ".join(words)


def _fish_said(text: str) -> str:
    return f" -d {_single_fish(_short(text))}" if text else ""


def _short(text: str) -> str:
    line = " ".join(text.replace("%%", "%").split())
    return line if len(line) <= SAID else line[: SAID - 3] + "..."


def _single(text: str) -> str:
    """In single quotes for bash and zsh."""
    return "'" + text.replace("'", "'\\''") + "'"


def _single_fish(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
