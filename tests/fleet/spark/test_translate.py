"""DuckDB's SQL as Spark reads it: no Spark is needed here, sqlglot's parser of Spark's SQL judges."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import sqlglot
from iolens.error import IolensError
from iolens.fleet import saved_queries
from iolens.fleet.spark.translate import spark_name, tables_of, to_spark
from iolens.fleet.spark.untranslated import UNTRANSLATED
from iolens.metrics import Dataset, metrics
from iolens.metrics.tables import DERIVED
from iolens.metrics.views import LISTS
from logmaker import LogMaker


@pytest.fixture(scope="module")
def data(corpus: Path) -> Any:
    with Dataset(corpus / "logs/mpi-io-test-dxt.darshan") as data:
        yield data


def spark(query: str, columns: dict[str, list[str]] | None = None, parameters: Any = None) -> str:
    return to_spark(query, lambda name: (columns or {})[name], parameters)


def queries() -> dict[str, tuple[str, Any]]:
    """Derived tables, metrics and named queries, each with the defaults of its parameters."""
    derived = {name: (query, None) for name, (_, query) in DERIVED.items() if name != "job"}
    computed = {f"metric.{name}": (metric.sql, None) for name, metric in metrics().items()}
    return {
        **derived,
        **computed,
        **{f"fleet.{name}": saved_queries.statement(name) for name in saved_queries.queries()},
    }


def test_every_query_is_carried_but_for_those_that_the_list_names(data: Dataset) -> None:
    def columns(name: str) -> list[str]:
        full = f"metric.{name.removeprefix('metric__')}" if name.startswith("metric__") else name
        return [column[0] for column in data.query(f"SELECT * FROM {full} LIMIT 0").description or ()]

    refused = set()
    for name, (query, parameters) in queries().items():
        try:
            carried = to_spark(query, columns, parameters)
        except IolensError:
            refused.add(name)
            continue
        parsed = sqlglot.parse_one(carried, read="spark", error_level=sqlglot.ErrorLevel.RAISE)
        assert not list(parsed.find_all(sqlglot.exp.Columns)), name
        left = {function.name.lower() for function in parsed.find_all(sqlglot.exp.Anonymous)}
        assert not {word for word in left if word.startswith(("list_", "epoch", "counted", "string_"))}, name
        named = {table.name for table in parsed.find_all(sqlglot.exp.Table)}
        assert {spark_name(table) for table in tables_of(query)} <= named, name
    assert refused == set(UNTRANSLATED)
    assert len(UNTRANSLATED) * 10 <= len(queries())


def test_tables_of_a_query_are_those_that_it_does_not_define() -> None:
    query = (
        "WITH heat AS (SELECT * FROM metric.heat), x AS (FROM heat) SELECT * FROM x JOIN posix USING (log)"
    )
    assert set(tables_of(query)) == {"metric.heat", "posix"}
    assert tables_of("SELECT * FROM (SELECT log FROM job WHERE log IN (SELECT log FROM async))") == [
        "job",
        "async",
    ]


@pytest.mark.parametrize(
    ("query", "carried"),
    [
        ("SELECT a / b", "SELECT TRY_DIVIDE(`a`, `b`)"),
        ("SELECT a % b", "SELECT TRY_MOD(`a`, `b`)"),
        ("SELECT a // b", "SELECT `a` DIV NULLIF(`b`, 0)"),
        ("SELECT a::BIGINT", "SELECT CAST(BROUND(`a`) AS BIGINT)"),
        ("SELECT (a > 1)::INT, NULL::BIGINT", "SELECT CAST((`a` > 1) AS INT), CAST(NULL AS BIGINT)"),
        ("SELECT a[1], a[b]", "SELECT GET(`a`, 0), TRY_ELEMENT_AT(`a`, CAST(`b` AS INT))"),
        ("SELECT a[2:]", "SELECT SLICE(`a`, 2, SIZE(`a`) - (2) + 1)"),
        ("SELECT list_extract(a, b)", "SELECT TRY_ELEMENT_AT(`a`, CAST(`b` AS INT))"),
        ("SELECT list_slice(a, 1, b)", "SELECT SLICE(`a`, CAST(1 AS INT), CAST((`b` - (1) + 1) AS INT))"),
        ("SELECT list_position(a, b)", "SELECT NULLIF(ARRAY_POSITION(`a`, `b`), 0)"),
        ("SELECT counted(n)", "SELECT SUM(`n`) FILTER(WHERE `n` >= 0)"),
        (
            "SELECT x IN libc_interfaces()",
            f"SELECT `x` IN ({', '.join(map(repr, LISTS['libc_interfaces']))})",
        ),
        ("SELECT regexp_matches(a, 'b$')", "SELECT `a` RLIKE '(?d)b\\\\z'"),
        ("SELECT quantile_cont(a, 0.25)", "SELECT PERCENTILE(`a`, 0.25)"),
        ("FROM metric.heat", "SELECT * FROM `metric__heat` AS `heat`"),
        (
            "SELECT arg_max(a, b)",
            "SELECT MAX_BY(`a`, `b`) FILTER(WHERE NOT `a` IS NULL)",
        ),
        (
            "SELECT arg_max(a, b ORDER BY c)",
            "SELECT MIN_BY(CASE WHEN NOT `b` IS NULL THEN `a` END, (-`b`, `c`)) "
            "FILTER(WHERE NOT CASE WHEN NOT `b` IS NULL THEN `a` END IS NULL)",
        ),
        (
            "SELECT any_value(a ORDER BY b, c)",
            "SELECT MIN_BY(`a`, (`b`, `c`)) FILTER(WHERE NOT `a` IS NULL)",
        ),
        (
            "SELECT count(*) FILTER (a) OVER (ORDER BY b)",
            "SELECT COUNT(CASE WHEN `a` THEN 1 END) OVER (ORDER BY `b` NULLS LAST)",
        ),
        (
            "SELECT unnest(a) AS x, unnest(b) AS y, c",
            "SELECT `c`, INLINE(ARRAYS_ZIP(`a`, `b`)) AS (`x`, `y`)",
        ),
        ("SELECT 1 WHERE (a, b) = (c, d)", "SELECT 1 WHERE `a` = `c` AND `b` = `d`"),
        (
            "SELECT a FROM t WHERE (a, b) NOT IN (SELECT (c, d) FROM u)",
            "SELECT `a` FROM `t` WHERE NOT EXISTS(SELECT 1 FROM (SELECT `c`, `d` FROM `u`) AS `member`(`key_1`, "
            "`key_2`) WHERE `member`.`key_1` IS NOT DISTINCT FROM `a` AND `member`.`key_2` IS NOT DISTINCT FROM `b`)",
        ),
        (
            "SELECT a, sum(b) AS c FROM t GROUP BY a QUALIFY row_number() OVER (ORDER BY c) = 1 ORDER BY a",
            "SELECT * EXCEPT (`_qualifies`) FROM (SELECT `a`, SUM(`b`) AS `c`, ROW_NUMBER() OVER "
            "(ORDER BY (SUM(`b`)) NULLS LAST) = 1 AS `_qualifies` FROM `t` GROUP BY `a`) AS `_all` WHERE `_qualifies` "
            "ORDER BY `a` NULLS LAST",
        ),
        ("SELECT a FROM t LIMIT 3", "SELECT `a` FROM `t` LIMIT 3"),
        ("SELECT a FROM t LIMIT 1 + 2", "SELECT `a` FROM `t` LIMIT CAST(BROUND(1 + 2) AS INT)"),
        (
            "SELECT a FROM t LIMIT 3 OFFSET CAST(2 AS BIGINT)",
            "SELECT `a` FROM `t` LIMIT 3 OFFSET CAST(BROUND(CAST(2 AS BIGINT)) AS INT)",
        ),
        (
            "SELECT a FROM t GROUP BY a ORDER BY sum(b) LIMIT 2 OFFSET 4",
            "SELECT * EXCEPT (`_key_1`) FROM (SELECT `a`, SUM(`b`) AS `_key_1` FROM `t` GROUP BY `a`) AS `_all` "
            "ORDER BY `_key_1` NULLS LAST LIMIT 2 OFFSET 4",
        ),
        (
            "SELECT a, sum(b) AS b FROM t GROUP BY a ORDER BY sum(b) DESC, a LIMIT 2",
            "SELECT * EXCEPT (`_key_1`, `_key_2`) FROM (SELECT `a`, SUM(`b`) AS `b`, SUM(`b`) AS `_key_1`, "
            "`a` AS `_key_2` FROM `t` GROUP BY `a`) AS `_all` ORDER BY `_key_1` DESC, `_key_2` NULLS LAST LIMIT 2",
        ),
        (
            "SELECT * REPLACE (a + 1 AS a) FROM t",
            "SELECT * EXCEPT (`a`), `a` + 1 AS `a` FROM `t`",
        ),
    ],
)
def test_what_sqlglot_lacks_is_rewritten(query: str, carried: str) -> None:
    assert spark(query).replace("\n", " ") == carried


def test_columns_are_written_out() -> None:
    query = "WITH w AS (SELECT t.*, 1 AS n FROM t) SELECT sum(COLUMNS('^.*_time$'))::BIGINT FROM w"
    assert spark(query, {"t": ["log", "read_time", "time", "meta_time"]}).endswith(
        "SELECT CAST(BROUND(SUM(`read_time`)) AS BIGINT) AS `read_time`, "
        "CAST(BROUND(SUM(`meta_time`)) AS BIGINT) AS `meta_time` FROM `w`"
    )


def test_parameters_are_values_not_text() -> None:
    assert spark("SELECT $a, $b", parameters={"a": "x' OR 1", "b": 2}) == "SELECT 'x\\' OR 1', 2"
    assert spark("SELECT ?, ?", parameters=[1, None]) == "SELECT 1, NULL"
    with pytest.raises(IolensError, match="no value is given for \\$b"):
        spark("SELECT $b", parameters={"a": 1})
    with pytest.raises(IolensError, match="fewer values"):
        spark("SELECT ?, ?", parameters=[1])


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("SELECT (", "no valid SQL"),
        ("DROP TABLE job", "queries"),
        ("CREATE TABLE x AS SELECT 1", "queries"),
        ("ATTACH 'x.db'", "queries"),
        ("SELECT * FROM read_parquet('/etc/x')", "not a table of the lake"),
        ("SELECT * FROM a.b.c", "not a table of the lake"),
        ("SELECT reflect('java.lang.System', 'exit', 1)", "not available on Spark: reflect"),
        ("SELECT * FROM a ASOF JOIN b ON a.x >= b.x", "ASOF"),
        ("WITH RECURSIVE r AS (SELECT 1 AS n UNION ALL SELECT n + 1 FROM r) FROM r", "recursive"),
    ],
)
def test_what_is_no_query_of_the_lake_is_refused(query: str, message: str) -> None:
    with pytest.raises(IolensError, match=message):
        spark(query)


def test_the_rewritten_queries_still_run_on_duckdb(tmp_path: Path) -> None:
    """The forms that the translation relies on mean the same there: rounding, and what is outside of a list."""
    (tmp_path / "log").write_bytes(bytes(LogMaker()))
    with Dataset(tmp_path / "log") as data:
        rows = data.query(
            "SELECT 0.5::DOUBLE::BIGINT, 2.5::DOUBLE::BIGINT, [1][2], list_position([1], 2), 1 % 0, 1 // 0"
        )
        assert rows.fetchall() == [(0, 2, None, None, None, None)]


def test_the_guide_names_what_is_not_carried(root: Path) -> None:
    text = (root / "docs/guide/spark.md").read_text(encoding="utf-8")
    after = text.partition("| query | why |\n")[2]
    table = [line for line in after.splitlines() if line.startswith("| `")]
    assert table == [f"| `{name}` | {reason} |" for name, reason in UNTRANSLATED.items()]
