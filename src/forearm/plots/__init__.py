"""Figures as files: one look for all of them. Needs the extra `plot` (matplotlib), imported only here."""
