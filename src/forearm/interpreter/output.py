"""Output of the session: the screen, and a file while one is open."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import TextIO

from forearm.errors import InputError


class Output:
    """The screen, and additionally a file between `open` and `close`."""

    def __init__(self, screen: TextIO, width: int | None) -> None:
        self.screen, self.width = screen, width
        self._file: TextIO | None = None
        self.name = ""

    def show(self, text: str) -> None:
        """Write to the screen, and to the file if one is open."""
        print(text, file=self.screen)
        if self._file is not None:
            self._write(text)

    def note(self, text: str) -> None:
        """Write to the screen only."""
        print(text, file=self.screen)

    def listing(self, text: str) -> None:
        """Write to the file if one is open, otherwise to the screen, as Swartz's print_simulation does."""
        if self._file is None:
            print(text, file=self.screen)
        else:
            self._write(text)

    @property
    def is_open(self) -> bool:
        """Whether a file is open."""
        return self._file is not None

    @property
    def width_of_listing(self) -> int | None:
        """Width of a listing: None for a file, which has no edge."""
        return None if self.is_open else self.width

    def open(self, path: str) -> None:
        """Open a file and overwrite its content."""
        if self.is_open:
            raise InputError(f"the output file {self.name!r} is already open; use close_output_file first.")
        try:
            if Path(path).exists() and not Path(path).is_file():
                raise InputError("not a regular file; give another name.", path)
            self._file = Path(path).open("w", encoding="utf-8")  # noqa: SIM115 - it stays open from command to command
            self.name = path
        except (OSError, ValueError) as error:
            raise InputError(
                f"cannot be written: {getattr(error, 'strerror', None) or error}.", path
            ) from error

    def close(self) -> None:
        """Close the file if one is open."""
        file, self._file = self._file, None
        if file is not None:
            try:
                file.close()
            except OSError as error:
                raise self._failed(error) from error

    def _write(self, text: str) -> None:
        assert self._file is not None
        try:
            print(text, file=self._file, flush=True)
        except OSError as error:
            file, self._file = self._file, None
            with suppress(OSError):
                file.close()
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> InputError:
        return InputError(
            f"cannot be written: {error.strerror or error}. The output file is closed.", self.name
        )
