"""Metrics: what is computed from logs, each one SQL file over their tables (DuckDB's dialect).

The same file serves one log and many: its rows say which log they are of. Reports, rules and the command line all
take their numbers from here.
"""

from iolens.metrics.dataset import MODULES, Dataset
from iolens.metrics.metric import TOPICS, Metric, find_metric, metrics
from iolens.metrics.sections import SECTIONS

__all__ = ["MODULES", "SECTIONS", "TOPICS", "Dataset", "Metric", "find_metric", "metrics"]
