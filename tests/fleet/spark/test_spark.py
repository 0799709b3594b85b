"""A lake asked by DuckDB and by Spark: the same rows. `make spark-tests` runs these: they need Spark, and minutes."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import pytest
from iolens.error import IolensError
from iolens.fleet import Lake
from iolens.fleet.ingest.batch import Options
from iolens.fleet.ingest.ingest import Ingest, Summary
from iolens.fleet.saved_queries import queries, statement
from iolens.fleet.spark.untranslated import UNTRANSLATED
from iolens.metrics import metrics
from iolens.metrics.tables import DERIVED
from observed import Observe
from row_differences import differences

pytestmark = pytest.mark.skipif("SPARK_TESTS" not in os.environ, reason="make spark-tests runs this")

# More than one layer, shared files, traces, heat maps, Lustre, HDF5, PnetCDF, MPI; other versions of Darshan.
LOGS = """
    sample-badost hdf5-diagonal-1-byte-dxt mpi-io-test-dxt runtime-and-dxt-heatmaps apmpi ior-hdf5
    release-x86_64-3.4.4 release-ppc64-3.1.7 partial-data-stdio nonmpi-dxt-anonymized imbalanced-io
""".split()


@pytest.fixture(scope="module")
def area(corpus: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of Darshan."""
    folder = tmp_path_factory.mktemp("area")
    for name in LOGS:
        (folder / f"{name}.darshan").write_bytes((corpus / "logs" / f"{name}.darshan").read_bytes())
    return folder


def ingested(area: Path, lake: Path, **more: Any) -> Summary:
    return Ingest(Lake.create(lake), Options(str(lake)), jobs=2, batch_logs=5, **more).run([area])


def test_every_carried_query_has_the_rows_that_duckdb_has(
    session: Any, area: Path, observe: Observe, tmp_path: Path
) -> None:
    from iolens.fleet.spark.data import SparkData

    program = f"open('{tmp_path}/x', 'w').write('1' * 9999); print(open('{tmp_path}/x').read(5))"
    (area / "made.darshan").write_bytes(observe([sys.executable, "-c", program]).log.read_bytes())
    assert ingested(area, tmp_path / "lake").ingested == len(LOGS) + 1
    asked = [*DERIVED, "record", "finding", "metric", "posix", "process", *(f"metric.{m}" for m in metrics())]
    wrong, rows = {}, 0
    with Lake(tmp_path / "lake").open() as data, SparkData(data.lake, session, data.snapshot) as spark:
        for name in asked:
            if name not in UNTRANSLATED:
                if found := differences(data, spark, f"SELECT * FROM {name}"):
                    wrong[name] = found[:2]
                rows += len(data.query(f"SELECT 1 FROM {name}").fetchall())
        for name in (name for name in queries() if name != "series_at"):
            if found := differences(data, spark, *statement(name)):
                wrong[name] = found[:2]
    assert not wrong
    assert rows > 10_000


def test_spark_ingests_what_processes_here_ingest(session: Any, area: Path, tmp_path: Path) -> None:
    from iolens.fleet.spark.data import SparkData
    from iolens.fleet.spark.pool import SparkPool

    (area / "broken.darshan").write_bytes(b"no log")
    here = ingested(area, tmp_path / "here")
    there = ingested(area, tmp_path / "there", pool=SparkPool(session, 3))
    assert there.quarantined == here.quarantined == 1
    assert (there.ingested, there.findings, there.bytes) == (here.ingested, here.findings, here.bytes)
    again = ingested(area, tmp_path / "there", pool=SparkPool(session, 3))
    assert (again.ingested, again.known) == (0, here.found)
    query = "SELECT digest, value FROM metric JOIN job USING (log)"
    with Lake(tmp_path / "here").open() as data, SparkData(Lake(tmp_path / "there"), session) as spark:
        assert differences(data, spark, query) == []
        assert len(data.query(query).fetchall()) > 30


def test_a_snapshot_is_one_moment(session: Any, area: Path, tmp_path: Path) -> None:
    from iolens.fleet.spark.data import SparkData

    ingested(area, tmp_path / "lake")
    lake = Lake(tmp_path / "lake")
    with lake.open() as data, SparkData(lake, session, data.snapshot) as spark:
        log = area / f"{LOGS[-1]}.darshan"
        os.utime(log, ns=(1, 1))
        assert ingested(area, tmp_path / "lake").replaced == 1
        assert differences(data, spark, "SELECT log FROM job") == []
    with lake.open() as data, SparkData(lake, session) as spark:
        assert differences(data, spark, "SELECT log, count(*) AS n FROM posix GROUP BY log") == []


def test_questions_that_spark_does_not_take_are_a_line(session: Any, area: Path, tmp_path: Path) -> None:
    from iolens.fleet.spark.data import SparkData

    ingested(area, tmp_path / "lake")
    with SparkData(Lake(tmp_path / "lake"), session) as spark:
        with pytest.raises(IolensError, match=r"metric\.tree is not available on Spark: a recursive query"):
            spark.metric("tree")
        with pytest.raises(IolensError, match='has no table "nothing"'):
            spark.query("SELECT * FROM nothing")
        with pytest.raises(IolensError, match=r"Spark: .*`nothing`") as caught:
            spark.query("SELECT nothing FROM job")
        assert "\n" not in str(caught.value)
        assert spark.rows("SELECT $a AS a, count(*) AS n FROM job WHERE nprocs > $a", {"a": 10**9}) == [
            {"a": 10**9, "n": 0}
        ]
