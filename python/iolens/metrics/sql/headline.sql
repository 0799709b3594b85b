-- title: The job in one row
-- topic: job
-- layout: table
-- definition: bytes are those of the interfaces that the program itself called (own_file); where MPI-IO bytes were not
--   counted (Darshan 1.x and 2.x), those at POSIX. io_time is the wall-clock time that the process with the most I/O
--   time spent in I/O calls, with overlapping calls of its threads counted once; in non-MPI jobs, the time during
--   which at least one process was in an I/O call. basis: "process" or "timeline" (measured), "records" (the estimate
--   of perf from own_record, at most the run time). read_time, write_time and meta_time are its parts; meta_share,
--   read_share and write_share are these as fractions of the run time.
-- unit: seconds, bytes, parts of 1
-- needs: any log
-- caveats: An estimate from records adds up overlapping calls of threads, and shared files that are used at the same
--   time. unseen_read and unseen_written: bytes that the kernel counted and no wrapper saw; null where not counted.
-- source: iolens; estimate: darshan-parser --perf
WITH below AS (
    SELECT log, id, bytes_read AS below_read, bytes_written AS below_written FROM file_of
    WHERE interface = 'posix' AND (log, id) IN (SELECT (log, id) FROM mpiio WHERE bytes_read IS NULL)
), moved AS (
    SELECT log, sum(bytes_read + coalesce(below_read, 0))::BIGINT AS bytes_read,
        sum(bytes_written + coalesce(below_written, 0))::BIGINT AS bytes_written,
        sum(read_time) AS read_time, sum(write_time) AS write_time, sum(meta_time) AS meta_time
    FROM own_file LEFT JOIN below USING (log, id) GROUP BY log
), by_rank AS (
    SELECT log, rank, sum(io_time) AS io_time FROM own_record GROUP BY log, rank
), estimated AS (
    SELECT log, coalesce(max(io_time) FILTER (rank >= 0), 0) + coalesce(sum(io_time) FILTER (rank < 0), 0) AS io_time
    FROM by_rank GROUP BY log
), busy AS (
    SELECT log, rank, max(mpi) AS mpi, sum(io_time) AS io_time,
        [sum(read_time), sum(write_time), sum(meta_time)] AS kinds
    FROM process GROUP BY log, rank
), measured AS (
    SELECT log, max(mpi) AS mpi, max(io_time) FILTER (mpi <> '') AS slowest, max(io_time) AS longest,
        arg_max(kinds, io_time ORDER BY rank) FILTER (mpi <> '') AS slowest_kinds, arg_max(kinds, io_time ORDER BY rank) AS longest_kinds
    FROM busy GROUP BY log
), edge AS (
    SELECT log, moment, sum(sign * whole) AS whole, sum(sign * (1 - whole)) AS partly,
        sum(sign * (1 - whole) * ln(greatest(1e-12, 1 - share))) AS idle,
        sum(sign * "read" / length) AS "read", sum(sign * "write" / length) AS "write", sum(sign * meta / length) AS meta
    FROM (
        SELECT *, (share > 1 - 1e-9)::INT AS whole FROM (
            SELECT *, "end" - "start" AS length, ("read" + "write" + meta) / ("end" - "start") AS share
            FROM timeline WHERE "end" > "start"
        )
    ), (SELECT unnest([1, -1]) AS sign), LATERAL (SELECT CASE WHEN sign > 0 THEN "start" ELSE "end" END AS moment)
    GROUP BY log, moment
), stretch AS (
    SELECT log, lead(moment) OVER until - moment AS seconds, sum(whole) OVER until AS whole, sum(partly) OVER until AS partly,
        sum(idle) OVER until AS idle, sum("read") OVER until AS "read", sum("write") OVER until AS "write", sum(meta) OVER until AS meta
    FROM edge WINDOW until AS (PARTITION BY log ORDER BY moment)
), occupied AS (
    SELECT *, seconds * CASE WHEN whole > 0 THEN 1 WHEN partly > 0 THEN 1 - exp(least(0, idle)) ELSE 0 END AS busy,
        greatest(0, "read") + greatest(0, "write") + greatest(0, meta) AS rate
    FROM stretch WHERE seconds > 0
), together AS (
    SELECT log, coalesce(sum(busy), 0) AS io_time, [coalesce(sum(busy * greatest(0, "read") / rate), 0),
        coalesce(sum(busy * greatest(0, "write") / rate), 0), coalesce(sum(busy * greatest(0, meta) / rate), 0)] AS kinds
    FROM occupied WHERE rate > 0 GROUP BY log
), timed AS (
    SELECT job.log, run_time,
        CASE WHEN measured.mpi <> '' THEN measured.slowest
            WHEN together.io_time IS NOT NULL THEN together.io_time
            WHEN measured.longest IS NOT NULL THEN measured.longest
            ELSE estimated.io_time END AS spent,
        CASE WHEN measured.mpi <> '' THEN measured.slowest_kinds
            WHEN together.io_time IS NOT NULL THEN together.kinds
            WHEN measured.longest IS NOT NULL THEN measured.longest_kinds END AS kinds,
        CASE WHEN measured.mpi <> '' THEN 'process' WHEN together.io_time IS NOT NULL THEN 'timeline'
            WHEN measured.longest IS NOT NULL THEN 'process'
            WHEN estimated.io_time IS NOT NULL THEN 'records' END AS basis
    FROM job LEFT JOIN measured USING (log) LEFT JOIN together USING (log) LEFT JOIN estimated USING (log)
), time AS (
    SELECT log, basis, CASE WHEN spent > run_time THEN run_time ELSE spent END AS io_time,
        CASE WHEN coalesce(list_sum(kinds), 0) > 0 THEN kinds ELSE [read_time, write_time, meta_time] END AS kinds
    FROM timed LEFT JOIN moved USING (log)
), unseen AS (
    SELECT log, sum(unseen_read)::BIGINT AS unseen_read, sum(unseen_written)::BIGINT AS unseen_written FROM process GROUP BY log
)
SELECT log, run_time, nprocs, coalesce(bytes_read, 0) AS bytes_read, coalesce(bytes_written, 0) AS bytes_written,
    io_time, basis,
    io_time / run_time AS io_share,
    io_time / run_time * kinds[3] / nullif(list_sum(kinds), 0) AS meta_share,
    io_time / run_time * kinds[1] / nullif(list_sum(kinds), 0) AS read_share,
    io_time / run_time * kinds[2] / nullif(list_sum(kinds), 0) AS write_share,
    io_time * kinds[1] / nullif(list_sum(kinds), 0) AS read_time,
    io_time * kinds[2] / nullif(list_sum(kinds), 0) AS write_time,
    io_time * kinds[3] / nullif(list_sum(kinds), 0) AS meta_time,
    unseen_read, unseen_written
FROM job JOIN time USING (log) LEFT JOIN moved USING (log) LEFT JOIN unseen USING (log)
ORDER BY log
