"""Comparison of runs: two logs, or groups of repeated ones, matched file by file by the part the files play."""

from iolens.compare.comparison import Comparison, Group, Limits, RoleRow, Row, compare
from iolens.compare.measure import MEASURES, FileRole, Measure
from iolens.compare.roles import match, parse_substitution, role
from iolens.compare.statistics import Sample, Welch, interleaved, order_chance, sample, welch

__all__ = [
    "MEASURES",
    "Comparison",
    "FileRole",
    "Group",
    "Limits",
    "Measure",
    "RoleRow",
    "Row",
    "Sample",
    "Welch",
    "compare",
    "interleaved",
    "match",
    "order_chance",
    "parse_substitution",
    "role",
    "sample",
    "welch",
]
