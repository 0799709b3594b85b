"""Spark's session: where it runs, and how it is set so that answers are DuckDB's."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import Any

from iolens.error import USAGE, IolensError
from iolens.extras import lacks

__all__ = ["DELTA", "MEANING", "first_line", "open_session"]

DELTA = "io.delta:delta-spark_2.13:4.0.1"
"""Delta's connector for Spark 4.0, as ``spark.jars.packages`` takes it."""

_DELTA = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
}

MEANING = {
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.ansi.enabled": "true",
    "spark.sql.groupByAliases": "true",
    "spark.sql.caseSensitive": "false",
    "spark.sql.parquet.enableVectorizedReader": "false",
}
"""Settings that answers depend on. ansi: a sum that 64 bits do not hold is an error, not another number. The vectorized
reader does not know BYTE_STREAM_SPLIT, in which a lake has its fractions."""

# What a site may set otherwise.
_USUAL = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.execution.arrow.maxRecordsPerBatch": "4096",
}


def open_session(master: str = "", settings: Mapping[str, str] | None = None) -> Any:
    """Spark's session for this process, made if there is none.

    master: ``local[4]``, ``spark://host:7077``, ``yarn``, ...; "" = as spark-submit or spark-defaults.conf say.
    settings: Spark's own. Raises IolensError if PySpark, Java or Delta's connector is missing.
    """
    try:
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise lacks("Spark", "PySpark", "spark") from error
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName("iolens")
    if master:
        builder = builder.master(master)
    for name, value in {**_USUAL, **(settings or {}), **_DELTA, **MEANING}.items():
        builder = builder.config(name, value)
    try:
        session = builder.getOrCreate()
    except PySparkException as error:
        raise IolensError(f"Spark does not start: {first_line(error)}", exit_code=USAGE) from error
    if not _has_delta(session):
        raise IolensError(
            f"Spark has no Delta connector: give --spark-conf spark.jars.packages={DELTA}, or put its jars "
            "where Spark has its own",
            exit_code=USAGE,
        )
    session.sparkContext.setLogLevel("OFF")
    return session


def first_line(error: BaseException) -> str:
    """What Spark says, without its plans and stacks."""
    return next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)


def _has_delta(session: Any) -> bool:
    loader = session.sparkContext._jvm.Thread.currentThread().getContextClassLoader()
    return loader.getResource("io/delta/sql/DeltaSparkSessionExtension.class") is not None
