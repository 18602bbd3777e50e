"""The results of a study as a folder of Parquet parts, each committed atomically, so that none is lost.

    study.json                  the manifest: what is computed, written once
    parts/part-000000.parquet   rows 0 to rows_per_part - 1, and so on

A process may be killed at any moment, on any of several machines: committed parts stay valid, and the same
command continues with the missing ones.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from forearm.errors import ForearmError, InputError, shorten
from forearm.logs.arrow import arrow_for
from forearm.studies.storage.atomic_files import (
    Signature,
    entries,
    replace_file,
    signature,
    sweep,
    sync_folder,
    visible,
    write_new,
)
from forearm.studies.storage.manifest import MANIFEST, check_same, digest_of, plain, read_manifest
from forearm.studies.storage.part_file import fault_in, read_columns
from forearm.studies.storage.part_table import Columns, PartStore

PARTS = "parts"
PART_NAME = re.compile(r"part-(\d{6,})\.parquet")
RECENT = 64  # commits over which the rate is measured


class StudyError(ForearmError):
    """A study that cannot continue; committed parts are kept."""


class RunProgress(NamedTuple):
    """Progress of a run, from the names and times of the committed files."""

    parts_done: int
    parts: int
    parts_per_s: float


class ResultFolder(PartStore):
    """A results folder, created by `open` or `at`."""

    part_type = bytes  # of what `commit` takes

    path: Path

    def __init__(self, path: Path, manifest: dict[str, Any], writes: bool) -> None:
        super().__init__(manifest)
        self.path, self.place, self.digest, self._writes = path, str(path), digest_of(manifest), writes
        self._checked: dict[int, Signature] = {}  # parts found valid, as long as their files do not change
        self._manifest_seen: Signature | None = None  # nothing yet: the first commit reads it again

    @classmethod
    def open(cls, path: str | os.PathLike[str], manifest: Mapping[str, Any]) -> ResultFolder:
        """Create the folder, or open an existing one with the same manifest to continue.

        Args:
            path: The folder; it may exist if it is empty or holds this study.
            manifest: `rows`, `rows_per_part`, `columns` (name: "float64", "string" or "int64", without "row")
                and anything else that defines the study, as JSON values.
        """
        where, wanted = Path(path), plain(manifest)
        arrow_for(f"{where}: a results folder")
        try:
            where.mkdir(parents=True, exist_ok=True)
            _check_place(where)
            if not (where / MANIFEST).exists():
                write_new(where / MANIFEST, json.dumps(wanted, indent=1, allow_nan=False).encode() + b"\n")
            check_same(where, _manifest_to_go_on(where), wanted)
            (where / PARTS).mkdir(exist_ok=True)
            for folder in (where, where.absolute().parent):  # the folder itself may be new, too
                sync_folder(folder)
            for folder in (where, where / PARTS):
                sweep(folder)
            return cls(where, wanted, writes=True)
        except OSError as error:
            raise InputError(
                f"cannot hold results: {error.strerror or error}. Free some space, get write "
                "permission, or give another folder.",
                where,
            ) from error

    @classmethod
    def at(cls, path: str | os.PathLike[str]) -> ResultFolder:
        """Open an existing folder for reading, even while others write to it."""
        where = Path(path)
        if not (where / MANIFEST).is_file():
            raise InputError(f"expected a results folder with a {MANIFEST}. Check the path.", where)
        return cls(where, read_manifest(where), writes=False)

    def part_path(self, part: int) -> Path:
        """The path of a part, existing or not."""
        return self.path / PARTS / f"part-{part:06d}.parquet"

    def missing(self, wanted: Sequence[int] | None = None) -> list[int]:
        """The parts still to be computed, among those wanted (default: all); in a folder opened for writing,
        invalid part files are moved aside as `broken-...`.
        """
        found = super().missing(wanted)
        for part in found if self._writes else ():
            if self._fault(part):
                self._move_aside(part)
        return [part for part in found if not self.has(part)]

    def has(self, part: int) -> bool:
        """Whether a part exists and is valid, from its file's metadata."""
        return self._fault(part) is None

    def commit(self, part: int, data: bytes) -> None:
        """Store the Parquet bytes of a part, atomically; safe with concurrent writers.

        Args:
            part: Its number.
            data: Result of `part_bytes` for its rows.
        """
        self.check_manifest()
        fault = self._fault_in(part, io.BytesIO(data))
        if fault is not None:
            raise StudyError(
                f"{self._named(part)}: expected Parquet bytes of these rows, got {len(data)} other bytes: "
                f"{fault}. The task must return part_bytes(...) for the rows of its part."
            )
        try:
            replace_file(self.part_path(part), data)
        except OSError as error:
            if self.has(part):  # by another writer; Windows does not replace a file that is being read
                return
            raise StudyError(
                f"{self._named(part)}: cannot be written: {error.strerror or error}. {self.kept()}; free "
                "some space, then run the same command again: it computes only what is missing."
            ) from error
        with contextlib.suppress(OSError):
            self._checked[part] = signature(self.part_path(part))

    def check_manifest(self) -> None:
        """Stop if study.json is no longer the one that this folder was opened with."""
        place = self.path / MANIFEST
        try:
            seen = signature(place)
            if seen == self._manifest_seen:
                return
            is_same = digest_of(read_manifest(self.path)) == self.digest
        except (OSError, ForearmError):
            is_same = False
        if not is_same:
            raise StudyError(
                f"{place}: the manifest was changed, damaged or removed during the run. Nothing more is "
                "written; restore the file, or give another folder."
            )
        self._manifest_seen = seen

    def read(self, part: int, names: Sequence[str]) -> Columns:
        """Columns of a part."""
        try:
            return read_columns(self.part_path(part), names)
        except (OSError, ValueError) as error:
            raise StudyError(
                f"{self._named(part)}: {self.part_path(part).name} is damaged or missing: "
                f"{shorten(str(error), 200)}. Remove it, then run the study again: only missing parts are "
                "computed."
            ) from error

    def progress_now(self) -> RunProgress:
        """Progress of the runs on all machines, from one directory listing; no file is opened."""
        times = sorted(self._commit_times())
        recent = times[-RECENT:]
        span = max(time.time(), recent[-1]) - recent[0] if recent else 0.0
        return RunProgress(len(times), self.parts, (len(recent) - 1) / span if span > 0.0 else 0.0)

    def kept(self) -> str:
        """A phrase for messages: number of complete parts."""
        done = self.progress_now().parts_done if (self.path / PARTS).is_dir() else 0
        return f"{done} of {self.parts} parts are complete and kept"

    def on_failure(self) -> str:
        """What to do about failed parts, for messages."""
        return (
            f"{self.kept()}; fix the cause, then run the same command again: it computes only what is "
            "missing."
        )

    def _named(self, part: int) -> str:
        first, last = self.rows_of(part)
        return f"{self.path}, part {part} (rows {first} to {last - 1})"

    def _commit_times(self) -> Iterator[float]:
        for entry in entries(self.path / PARTS):
            found = PART_NAME.fullmatch(entry.name)
            if found and int(found[1]) < self.parts:
                with contextlib.suppress(FileNotFoundError):  # moved aside meanwhile
                    yield entry.stat().st_mtime

    def _move_aside(self, part: int) -> None:
        place = self.part_path(part)
        aside = place.with_name(f"broken-{place.stem}-{os.urandom(4).hex()}{place.suffix}")
        try:
            os.replace(place, aside)
            # Another writer may have stored a valid one meanwhile.
            if self._fault_in(part, aside) is None:
                os.replace(aside, place)
        except FileNotFoundError:
            return
        except OSError as error:
            raise StudyError(
                f"{self._named(part)}: {place.name} is not a valid part and cannot be moved aside: "
                f"{error.strerror or error}. Remove it to recompute the part."
            ) from error

    def _fault(self, part: int) -> str | None:
        """Why a part must be computed: "" if missing, None if valid."""
        place = self.part_path(part)
        try:
            seen = signature(place)
            if self._checked.get(part) == seen:
                return None
            fault = self._fault_in(part, place)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise StudyError(
                f"{self._named(part)}: {place.name} cannot be read: {error.strerror or error}. Make it "
                "readable, or remove it to recompute the part."
            ) from error
        if fault is None:
            self._checked[part] = seen
        return fault

    def _fault_in(self, part: int, source: Path | io.BytesIO) -> str | None:
        return fault_in(source, self.columns, *self.rows_of(part), self.digest)


def _manifest_to_go_on(folder: Path) -> dict[str, Any]:
    try:
        return read_manifest(folder)
    except InputError as error:
        raise InputError(
            f"{error} Restore it; or give a new folder, and move the files in {folder / PARTS} into its "
            f"{PARTS}: parts of the same study are accepted."
        ) from error


def _check_place(folder: Path) -> None:
    """Refuse a folder that has other files and no study, so that results are not mixed with them."""
    others = sorted({*visible(folder)} - {MANIFEST, PARTS})
    is_taken = bool(others) or any(visible(folder / PARTS))
    # The manifest is checked last: another process may create it, and parts, in the meantime.
    if is_taken and not (folder / MANIFEST).exists():
        raise InputError(
            f"expected an empty folder or one with a {MANIFEST}, got one with "
            f"{shorten(', '.join(others[:3]) or PARTS)}. Give another folder.",
            folder,
        )
