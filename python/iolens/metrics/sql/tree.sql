-- title: The processes of a job
-- topic: job
-- layout: table
-- definition: one row for each program that a process ran: depth below the first process, command, when it ran, how it
--   ended, time in I/O, bytes. position orders the rows as a tree. observed_by: itself (preloaded or linked), kernel
--   (iolens run --kernel, iolens-kernel) or totals (by /proc).
-- unit: seconds, bytes
-- needs: process
-- source: iolens
WITH RECURSIVE numbered AS (
    SELECT log, row_number() OVER (PARTITION BY log ORDER BY "start", pid, host, rank, "end", exe) AS number, * EXCLUDE (log) FROM process
), image AS (
    SELECT *, lag(number) OVER (PARTITION BY log, host, pid ORDER BY number) AS before FROM numbered
), parent AS (
    SELECT c.*, coalesce(c.before, p.number) AS above, c.before IS NOT NULL AS same
    FROM image AS c ASOF LEFT JOIN numbered AS p
        ON p.log = c.log AND p.host = c.host AND p.pid = c.parent AND p.number < c.number
), walk AS (
    SELECT *, 0 AS depth, [number] AS place FROM parent WHERE above IS NULL
    UNION ALL
    SELECT c.*, w.depth + CASE WHEN c.same THEN 0 ELSE 1 END, list_append(w.place, c.number)
    FROM parent AS c JOIN walk AS w ON w.log = c.log AND w.number = c.above
)
SELECT log, row_number() OVER (PARTITION BY log ORDER BY place) AS position, depth, rank, pid, parent, exe, command, host, forked, ended,
    signal, exit_code, "start", "end", io_time, read_time, write_time, meta_time, seen_read AS bytes_read, seen_written AS bytes_written,
    coalesce((SELECT min(o.observer) FROM observers AS o
        WHERE o.log = walk.log AND o.rank = walk.rank AND o.pid = walk.pid AND o."start" = walk."start"), 'itself') AS observed_by
FROM walk
ORDER BY log, position
