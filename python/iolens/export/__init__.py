"""Logs for other programs: tables in Parquet, CSV and JSON, traces for Perfetto, numbers for OpenMetrics.

Each form is a function that writes files into a folder and yields their paths. All of them stream: memory is that of
the dataset.
"""

from iolens.export.openmetrics import write_openmetrics
from iolens.export.perfetto import write_perfetto
from iolens.export.tables import FORMATS, table_names, write_tables

__all__ = ["FORMATS", "table_names", "write_openmetrics", "write_perfetto", "write_tables"]
