"""Logs of past days, packed: a ZIP file per day and cluster, from which each log is read by its place."""
