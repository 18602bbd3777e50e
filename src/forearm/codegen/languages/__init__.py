"""One small file a language: a program in, text out.

A language is a `Language`: its name, the endings of its files, and a function that writes a `Program`.
"""
