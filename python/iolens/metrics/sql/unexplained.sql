-- title: How much of the data movement is unexplained
-- topic: job
-- layout: table
-- definition: of all bytes moved: unexplained are those that the kernel counted and nothing accounts for; untimed are
--   those whose time is unknown: moved by mapped files, by unobserved programs, or by rings of whose requests only the
--   number is known. possible: seconds that both took at most: 1 s per GB from the page cache, a fourth of it for
--   mapped files (1 us a page), and 20 s per GB from storage, but for mapped files whose page faults are estimated
--   (metric.instead). partly: together they are at least 1 MB and more than 5 % of all bytes, and can have taken more
--   than 5 % of the run, so that I/O cannot be called fine. much_unexplained: unexplained bytes alone are. unwatched:
--   seconds for which the program waited that the command became, where it was not observed, or its end was not (calls
--   that do not go through libc), it waited for longer than it computed, and for a quarter of the run or more.
-- unit: bytes, part of 1
-- direction: lower
-- needs: process
-- source: iolens
WITH unknown AS (
    SELECT log, sum(untimed) AS untimed FROM async GROUP BY log
), first AS (
    SELECT log, sum(storage_read)::BIGINT AS stored, bool_and(coalesce(storage_read, -1) >= 0) AS known FROM process AS p
    WHERE NOT EXISTS (SELECT 1 FROM process AS q WHERE q.log = p.log AND q.pid = p.parent) GROUP BY log
), estimated AS (
    SELECT log FROM metric.instead WHERE unknown = 0 AND log NOT IN (
        SELECT log FROM metric.moved WHERE way IN ('libaio', 'io_uring', 'unobserved') AND bytes_read > 0)
), sums AS (
    SELECT m.log, coalesce(sum(bytes_read + bytes_written) FILTER (lowest_of(way) = way), 0)::BIGINT AS moved,
        coalesce(sum(bytes_read + bytes_written) FILTER (way = 'mapped'), 0)::BIGINT AS mapped,
        coalesce(sum(bytes_read + bytes_written) FILTER (way IN ('mapped', 'unobserved')
            OR (way IN ('libaio', 'io_uring') AND u.log IS NULL)), 0)::BIGINT
            + coalesce(any_value(u.untimed), 0)::BIGINT AS untimed,
        coalesce(sum(bytes_read + bytes_written) FILTER (way = 'unexplained'), 0)::BIGINT AS unexplained
    FROM metric.moved AS m LEFT JOIN unknown AS u ON u.log = m.log GROUP BY m.log
), bytes AS (
    SELECT sums.*, run_time, unexplained + untimed AS open, open - mapped AS copied, e.log IS NOT NULL AND known AS estimated,
        CASE WHEN known THEN stored ELSE open END AS storage
    FROM sums JOIN job USING (log) LEFT JOIN first USING (log) LEFT JOIN estimated AS e USING (log)
), command AS (
    SELECT log, arg_min(pid, rank) AS pid FROM process WHERE rank >= 0 AND ended <> 'missing' GROUP BY log HAVING coalesce(max(mpi), '') = ''
), lost AS (
    SELECT log FROM process JOIN command USING (log, pid) GROUP BY log HAVING arg_max(ended, "start") = 'exec'
        OR (arg_max(ended, "start") = 'exit' AND arg_max(user_time, "start") < 0)
    UNION SELECT log FROM observers WHERE observer = 'totals'
), unwatched AS (
    SELECT log, waited AS unwatched FROM metric.instead JOIN lost USING (log) JOIN job USING (log)
    WHERE waited >= 0.25 * run_time AND waited > processor
        AND log IN (SELECT log FROM operation WHERE interface = 'unobserved' AND name = 'processor')
), possible AS (
    SELECT *, least(storage, copied) AS copied_stored, CASE WHEN estimated THEN 0 ELSE least(storage - copied_stored, mapped) END AS mapped_stored,
        (copied - copied_stored) / 1e9 + (mapped - mapped_stored) / 4e9 + (copied_stored + mapped_stored) / 5e7 AS possible,
        least(storage, unexplained) AS lost_stored, (unexplained - lost_stored) / 1e9 + lost_stored / 5e7 AS possible_lost
    FROM bytes
)
SELECT log, moved, untimed, unexplained, unexplained / nullif(moved, 0) AS share, possible,
    open >= 1000000 AND open > 0.05 * moved AND possible > 0.05 * coalesce(run_time, 0) AS partly,
    unexplained >= 1000000 AND unexplained > 0.05 * moved AND possible_lost > 0.05 * coalesce(run_time, 0) AS much_unexplained,
    unwatched
FROM possible LEFT JOIN unwatched USING (log) ORDER BY log
