"""One small file per language: a program in, text out.

A language is a `Language`: its name, its file extensions, and a function that writes a `Program`.
"""
