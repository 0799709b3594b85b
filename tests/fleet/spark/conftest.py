"""A Spark cluster for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

# Two worker processes of one core, as on a cluster; small plans, so that no code is generated for each of them.
MASTER = "local-cluster[2,1,640]"
SETTINGS = {
    "spark.driver.memory": "640m",
    "spark.executor.memory": "640m",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@pytest.fixture(scope="session")
def session() -> Iterator[Any]:
    from iolens.fleet.spark.session import open_session

    session = open_session(MASTER, SETTINGS)
    yield session
    session.stop()
