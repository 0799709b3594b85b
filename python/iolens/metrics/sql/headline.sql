-- title: The job in one row
-- topic: job
-- layout: table
-- definition: bytes and shares of reading, writing and metadata are of what the program called itself (own_file).
--   io_time is the wall-clock that the process longest in I/O calls spent there; for programs without MPI that follow
--   each other or run side by side, the time in which at least one of them was in an I/O call. basis says where it is
--   from: "process" or "timeline" (measured), "records" (the estimate of perf, at most the run time). meta_share,
--   read_share and write_share are parts of the run time and add up to io_share. Of files whose MPI-IO bytes were not
--   counted (Darshan 1.x and 2.x) the bytes are POSIX's.
-- unit: seconds, bytes, parts of 1
-- needs: any log
-- caveats: An estimate from records adds up calls of threads that overlap, and shared files that are used at once.
--   unseen_read and unseen_written are what the kernel counted and no wrapper saw; null where nobody counted.
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
    SELECT log, rank, max(mpi) AS mpi, sum(io_time) AS io_time FROM process GROUP BY log, rank
), measured AS (
    SELECT log, max(mpi) AS mpi, max(io_time) FILTER (mpi <> '') AS slowest, max(io_time) AS longest, sum(io_time) AS total
    FROM busy GROUP BY log
), lane AS (
    SELECT log, "start", "end", max("end") OVER (
        PARTITION BY log ORDER BY "start", "end" ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
    FROM timeline
), together AS (
    SELECT log, sum(greatest(0, "end" - greatest("start", coalesce(before, "start")))) AS io_time FROM lane GROUP BY log
), time AS (
    SELECT job.log,
        CASE WHEN measured.mpi <> '' THEN measured.slowest
            WHEN together.io_time IS NOT NULL
            THEN least(greatest(together.io_time, measured.longest), measured.total, run_time)
            WHEN measured.longest IS NOT NULL THEN measured.longest
            WHEN estimated.io_time > run_time THEN run_time
            ELSE estimated.io_time END AS io_time,
        CASE WHEN measured.mpi <> '' THEN 'process' WHEN together.io_time IS NOT NULL THEN 'timeline'
            WHEN measured.longest IS NOT NULL THEN 'process'
            WHEN estimated.io_time IS NOT NULL THEN 'records' END AS basis
    FROM job LEFT JOIN measured USING (log) LEFT JOIN together USING (log) LEFT JOIN estimated USING (log)
), unseen AS (
    SELECT log, sum(unseen_read)::BIGINT AS unseen_read, sum(unseen_written)::BIGINT AS unseen_written FROM process GROUP BY log
)
SELECT log, run_time, nprocs, coalesce(bytes_read, 0) AS bytes_read, coalesce(bytes_written, 0) AS bytes_written,
    io_time, basis,
    io_time / run_time AS io_share,
    io_time / run_time * meta_time / nullif(read_time + write_time + meta_time, 0) AS meta_share,
    io_time / run_time * read_time / nullif(read_time + write_time + meta_time, 0) AS read_share,
    io_time / run_time * write_time / nullif(read_time + write_time + meta_time, 0) AS write_share,
    unseen_read, unseen_written
FROM job JOIN time USING (log) LEFT JOIN moved USING (log) LEFT JOIN unseen USING (log)
ORDER BY log
