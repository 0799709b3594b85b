-- title: I/O time and bandwidth of each interface
-- topic: time
-- layout: table
-- definition: time by slowest = I/O time of the slowest rank in its own files + that of the slowest rank in each
--   shared file; bandwidth = bytes / that time. The other estimates replace the shared part: cumulative time / ranks,
--   time from first open to last close, time from first open to last read or write.
-- unit: seconds, bytes, MiB/s
-- needs: posix, mpiio, stdio, dfs or daos
-- caveats: Shared files are added up although they may be used at the same time: the time is an upper bound, the
--   bandwidth a lower one. Overlapping calls of threads are added up. Do not add up interfaces: POSIX includes what
--   MPI-IO issued.
-- source: darshan-parser --perf
WITH part AS (
    SELECT log, interface, rank,
        sum(coalesce(bytes_read, 0) + coalesce(bytes_written, 0)) AS bytes,
        sum(io_time) AS io_time,
        sum(coalesce(meta_time, 0)) AS meta_time,
        sum(coalesce(read_time, 0) + coalesce(write_time, 0)) AS rw_time,
        sum(greatest(0, close_end - open_start)) AS open_time,
        sum(greatest(0, greatest(read_end, write_end) - open_start)) AS lastio_time
    FROM record WHERE interface IN data_interfaces()
    GROUP BY ALL
), own AS (
    SELECT log, interface,
        arg_max(rank, (io_time, -rank)) AS slowest_rank,
        max(io_time) AS slowest_rank_io_time,
        arg_max(meta_time, (io_time, -rank)) AS slowest_rank_meta_time,
        arg_max(rw_time, (io_time, -rank)) AS slowest_rank_rw_time
    FROM part WHERE rank >= 0 GROUP BY ALL
), shared AS (
    SELECT log, interface, sum(io_time) AS by_slowest, sum(meta_time + rw_time) AS cumulative,
        sum(meta_time) AS cumulative_meta, sum(open_time) AS by_open, sum(lastio_time) AS by_lastio
    FROM part WHERE rank < 0 GROUP BY ALL
), total AS (
    SELECT log, interface, sum(bytes)::BIGINT AS bytes FROM part GROUP BY ALL
)
SELECT log, interface, bytes,
    coalesce(slowest_rank, 0) AS slowest_rank,
    coalesce(slowest_rank_io_time, 0) AS slowest_rank_io_time,
    coalesce(slowest_rank_meta_time, 0) AS slowest_rank_meta_time,
    coalesce(slowest_rank_rw_time, 0) AS slowest_rank_rw_time,
    coalesce(by_slowest, 0) AS shared_by_slowest,
    coalesce(cumulative, 0) / nprocs AS shared_by_cumul,
    coalesce(by_open, 0) AS shared_by_open,
    coalesce(by_lastio, 0) AS shared_by_open_lastio,
    coalesce(slowest_rank_io_time, 0) + coalesce(by_slowest, 0) AS time_by_slowest,
    coalesce(bytes / 1048576 / nullif(coalesce(slowest_rank_io_time, 0) + coalesce(by_slowest, 0), 0), 0) AS mib_per_s_by_slowest,
    coalesce(bytes / 1048576 / nullif(coalesce(slowest_rank_io_time, 0) + coalesce(cumulative, 0) / nprocs, 0), 0) AS mib_per_s_by_cumul,
    coalesce(bytes / 1048576 / nullif(coalesce(slowest_rank_io_time, 0) + coalesce(by_open, 0), 0), 0) AS mib_per_s_by_open,
    coalesce(bytes / 1048576 / nullif(coalesce(slowest_rank_io_time, 0) + coalesce(by_lastio, 0), 0), 0) AS mib_per_s_by_open_lastio
FROM total LEFT JOIN own USING (log, interface) LEFT JOIN shared USING (log, interface) JOIN job USING (log)
ORDER BY log, list_position(data_interfaces(), interface)
