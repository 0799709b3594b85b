"""Processes that a job starts and that do no I/O, such as /bin/true: added to a job that has been recorded."""

from __future__ import annotations

from iolens.metrics import Dataset

COUNT = 20


def add_helpers(data: Dataset) -> None:
    """As a log has them: ranks of their own in a tree of processes; in an MPI job no rank, as the launcher."""
    data.query("SELECT 1 FROM job_of, process LIMIT 1")  # from now on both are tables
    data.connection.execute(f"""
        INSERT INTO process BY NAME SELECT log, CASE WHEN mpi THEN -1 ELSE nprocs + n END AS rank, 9000 + n AS pid,
            1 AS parent, 'n1' AS host, '/bin/true' AS exe, 'exit' AS ended, 0 AS signal, '' AS mpi,
            0.001 * n AS "start", 0.001 * n + 0.0005 AS "end",
            COLUMNS(['io_time', 'read_time', 'write_time', 'meta_time', 'seen_read', 'seen_written',
                'unseen_read', 'unseen_written'])
        FROM job_of JOIN (SELECT log, bool_or(mpi <> '') AS mpi FROM process GROUP BY log) USING (log),
            (SELECT n, 0 AS io_time, 0 AS read_time, 0 AS write_time, 0 AS meta_time, 0 AS seen_read,
                0 AS seen_written, 0 AS unseen_read, 0 AS unseen_written FROM range({COUNT}) AS t(n))
    """)
    data.connection.execute(f"""
        UPDATE job_of SET nprocs = nprocs + {COUNT} WHERE log IN (
            SELECT log FROM process GROUP BY log HAVING bool_and(mpi = ''))
    """)
