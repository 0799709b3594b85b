-- title: Processes that wait for each other in named pipes, in logs that do not tell pipes from files
-- topic: files
-- layout: table
-- definition: opens that take $open or more each, move less than 1 MiB an open, and end within $together of another one, while
--   other files are opened as usual; and reads in order that take longer than twice the slowest of them for each page.
--   files, opens, reads: where; calls: in words; longest: an open, or a read. time: as time_basis has the average process;
--   waited: of the process that waits longest, with those that all ranks share, as a part of the time in I/O (headline).
-- unit: calls, seconds
-- direction: lower
-- needs: posix
-- caveats: A guess: a metadata server that is away, and answers all at once, looks the same but for the other files.
-- source: iolens
-- threshold open = 60 s: an overloaded metadata server takes seconds
-- threshold together = 1 s: one event ends several opens within this time: for instance, the process at the other end ends
-- threshold seconds = 1 s: shorter waits do not matter
WITH record AS (
    SELECT log, id, rank, greatest(1, opened(opens, dups, filenos)) AS opened, greatest(reads, 0) AS reads, meta_time, read_time, max_read_time,
        open_start_timestamp AS began, open_end_timestamp AS ended,
        meta_time > $open * opened AND bytes_read + bytes_written < 1048576 * opened AS waits,
        seeks <= 0 AND bytes_read = max_byte_read + 1 AND max_read_time > 0.001 AND read_time > 2 * max_read_time * (opened + bytes_read / 4096) AS by_reads
    FROM posix WHERE opens > 0
), waiting AS (
    SELECT *, ended - lag(ended) OVER one < $together OR lead(ended) OVER one - ended < $together AS joined FROM record WHERE waits
    WINDOW one AS (PARTITION BY log ORDER BY ended)
), answered AS (
    SELECT log FROM record JOIN (SELECT log, min(began) AS first, max(ended) AS last FROM waiting WHERE joined GROUP BY log) USING (log)
    WHERE meta_time < opened AND ended > first + 1 AND ended < last - 1 GROUP BY log
), taken AS (
    SELECT log, id, rank, opened AS n_opens, 0 AS n_reads, meta_time / opened AS each, meta_time AS seconds FROM waiting JOIN answered USING (log) WHERE joined
    UNION ALL
    SELECT log, id, rank, 0, reads, max_read_time, read_time FROM record WHERE by_reads
), by_rank AS (
    SELECT log, rank, sum(seconds) AS seconds FROM taken GROUP BY log, rank
), own AS (
    SELECT log, coalesce(max(seconds) FILTER (rank >= 0), 0) + coalesce(sum(seconds) FILTER (rank < 0), 0) AS own FROM (
        SELECT log, rank, sum(io_time) AS seconds FROM own_record GROUP BY log, rank
    ) GROUP BY log
), slowest AS (
    SELECT log, least(io_time, (coalesce(max(seconds) FILTER (rank >= 0), 0) + coalesce(sum(seconds) FILTER (rank < 0), 0))
        * any_value(io_time) / nullif(any_value(own), 0)) AS waited
    FROM by_rank JOIN own USING (log) JOIN (SELECT log, io_time FROM metric.headline) USING (log) GROUP BY log, io_time
)
SELECT log, count(DISTINCT id) AS files, sum(n_opens)::BIGINT AS opens, sum(n_reads)::BIGINT AS reads, max(each) AS longest,
    sum(seconds) * any_value(mean_scale) AS time, any_value(waited) AS waited,
    concat_ws(' and ', CASE opens WHEN 0 THEN NULL WHEN 1 THEN '1 open' ELSE opens || ' opens' END, CASE reads WHEN 0 THEN NULL WHEN 1 THEN '1 read' ELSE reads || ' reads' END) AS calls
FROM taken JOIN slowest USING (log) JOIN (SELECT log, mean_scale FROM metric.time_basis WHERE interface = 'posix') USING (log)
GROUP BY log HAVING sum(seconds) > $seconds ORDER BY log
