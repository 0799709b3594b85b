"""The commands that are written in Python, one file each; the native ``iolens`` hands over to them by name."""

from iolens.cli.command import main

__all__ = ["main"]
