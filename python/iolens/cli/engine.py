"""Which engine computes what is asked of a lake: DuckDB in this process, or Spark."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import TYPE_CHECKING, Any, Callable, TypeVar

import click

if TYPE_CHECKING:
    from iolens.fleet import Lake, LakeData
    from iolens.fleet.spark.data import SparkData

__all__ = ["engine_options", "open_data", "spark_session"]

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _settings(context: click.Context, parameter: click.Parameter, given: tuple[str, ...]) -> dict[str, str]:
    pairs = [text.partition("=") for text in given]
    wrong = [name + equals for name, equals, _ in pairs if not name or not equals]
    if wrong:
        raise click.BadParameter(f"{wrong[0]}: expected KEY=VALUE")
    return {name: value for name, _, value in pairs}


def engine_options(command: _Command) -> _Command:
    """--engine, --master and --spark-conf of a command: parameters engine, master, spark_conf."""
    command = click.option(
        "--spark-conf",
        multiple=True,
        metavar="KEY=VALUE",
        callback=_settings,
        help="A setting of Spark's; repeatable.",
    )(command)
    command = click.option(
        "--master",
        metavar="URL",
        default="",
        help="Of Spark: local[4], spark://HOST:7077, yarn [as Spark is set up].",
    )(command)
    return click.option(
        "--engine",
        type=click.Choice(["duckdb", "spark"]),
        default="duckdb",
        show_default=True,
        help="The engine that computes.",
    )(command)


def spark_session(master: str, spark_conf: Mapping[str, str]) -> Any:
    """Spark's session. Raises IolensError if Spark is not there."""
    from iolens.fleet.spark.session import open_session

    return open_session(master, spark_conf)


def open_data(
    lake: Lake, engine: Mapping[str, Any], *, since: date | None = None, until: date | None = None
) -> LakeData | SparkData:
    """The lake at this moment, by the engine that the options of ``engine_options`` name."""
    if engine["engine"] == "duckdb":
        return lake.open(since=since, until=until)
    session = spark_session(engine["master"], engine["spark_conf"])
    from iolens.fleet.spark.data import SparkData

    return SparkData(lake, session, lake.snapshot(since=since, until=until), since=since, until=until)
