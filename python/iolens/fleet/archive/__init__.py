"""Logs of past days, packed: a ZIP file per day and cluster, from which each log is read by its place.

A log leaves the log area when its archive has been read back, is on disk, and the lake says where the log is.
"""

from iolens.fleet.archive.pack import Archived, archive
from iolens.fleet.archive.restore import Restored, restore
from iolens.fleet.archive.source import Source, archived_before, extracted, sources

__all__ = ["Archived", "Restored", "Source", "archive", "archived_before", "extracted", "restore", "sources"]
