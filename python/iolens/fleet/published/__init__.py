"""Published data sets of parsed logs (CSV or Parquet with Darshan's counter names) as the tables of a lake."""

from iolens.fleet.published.columns import Column, columns_of
from iolens.fleet.published.read import RECORDS, TOTALS, Published

__all__ = ["RECORDS", "TOTALS", "Column", "Published", "columns_of"]
