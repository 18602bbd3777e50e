"""Figures as files, in a common style. Needs the extra `plot` (matplotlib), imported only here."""
