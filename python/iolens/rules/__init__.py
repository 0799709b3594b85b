"""Rules: what to conclude from metrics, and what to change. Each rule is one TOML file in ``catalog/``.

A site adds rules of its own by a directory of such files.
"""

from iolens.rules.find import find
from iolens.rules.finding import SEVERITIES, Advice, Evidence, Finding, Findings, opened_by, overlap
from iolens.rules.load import Catalog, load
from iolens.rules.rule import Rule, RuleError, Threshold, parse

__all__ = [
    "SEVERITIES",
    "Advice",
    "Catalog",
    "Evidence",
    "Finding",
    "Findings",
    "Rule",
    "RuleError",
    "Threshold",
    "find",
    "load",
    "opened_by",
    "overlap",
    "parse",
]
