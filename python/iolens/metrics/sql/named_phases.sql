-- title: Phases named by the program
-- topic: time
-- layout: table
-- definition: each phase over all processes that were in it, without nested phases, except for time. path: the
--   enclosing phases and its own name. count: how often it ended, in the process where that was most often. time:
--   seconds in it, for the process that was in it longest. io_time, read_time, write_time and meta_time: seconds in
--   I/O, summed over all processes, overlapping calls of a thread counted once. share: fraction of the I/O time of all
--   processes. The row without a path is outside all phases.
-- unit: seconds, bytes, operations, part of 1
-- needs: a log written by iolens, of a program that names phases
-- source: iolens
WITH phase AS (
    SELECT log, phase AS path, count(DISTINCT rank) AS processes, max(count)::BIGINT AS count, sum(open)::BIGINT AS open,
        max(time) AS time, min(CASE WHEN count > 0 THEN shortest END) AS shortest, max(longest) AS longest,
        sum(read_time + write_time + meta_time) AS io_time, sum(read_time) AS read_time, sum(write_time) AS write_time,
        sum(meta_time) AS meta_time, sum(reads)::BIGINT AS reads, sum(writes)::BIGINT AS writes,
        sum(meta_ops)::BIGINT AS meta_ops, sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written
    FROM phases GROUP BY log, phase
), everything AS (
    SELECT log, count(*) AS processes, sum(read_time) + sum(write_time) + sum(meta_time) AS io_time, sum(read_time) AS read_time,
        sum(write_time) AS write_time, sum(meta_time) AS meta_time
    FROM (SELECT log, rank, thread, sum("read") AS read_time, sum("write") AS write_time, sum(meta) AS meta_time
        FROM timeline GROUP BY log, rank, thread)
    WHERE log IN (SELECT log FROM phase) GROUP BY log
), rest AS (
    SELECT log, any_value(e.io_time) - sum(p.io_time) AS io_time, any_value(e.read_time) - sum(p.read_time) AS read_time,
        any_value(e.write_time) - sum(p.write_time) AS write_time, any_value(e.meta_time) - sum(p.meta_time) AS meta_time
    FROM phase AS p JOIN everything AS e USING (log) GROUP BY log
)
SELECT log, path, p.processes, count, open, time, shortest, longest, p.io_time, p.read_time, p.write_time, p.meta_time,
    p.io_time / nullif(e.io_time, 0) AS share, reads, writes, meta_ops, bytes_read, bytes_written
FROM phase AS p LEFT JOIN everything AS e USING (log)
UNION ALL
SELECT log, '', NULL, NULL, NULL, NULL, NULL, NULL, greatest(r.io_time, 0), greatest(r.read_time, 0), greatest(r.write_time, 0),
    greatest(r.meta_time, 0), greatest(r.io_time, 0) / nullif(e.io_time, 0), NULL, NULL, NULL, NULL, NULL
FROM rest AS r JOIN everything AS e USING (log)
ORDER BY log, path
