-- title: Where the run time goes
-- topic: time
-- layout: table
-- definition: the run time divided into computing (and everything else), MPI communication, reading, writing and
--   metadata. who: "average" and "slowest" (the rank with the most I/O time) in a job of several ranks; otherwise
--   "job": a process, or a tree, which is in I/O while at least one of its processes is. basis as in headline:
--   "process" (measured in each rank, overlapping calls of its threads counted once), "timeline", or "records": the
--   average from sums of own_record, the slowest as estimated by headline, with rank null. Only what the program
--   itself called counts, not the POSIX calls of MPI-IO. io_time = read_time + write_time + meta_time, at most the run
--   time. in_both = the overlap that communication and I/O must have to fit into the run; compute + communication +
--   io_time - in_both = run_time.
-- unit: seconds
-- needs: a run time, any interface; apmpi for communication (null without)
-- caveats: An average from records adds up overlapping calls of threads. In Darshan's logs, communication inside
--   MPI-IO is in both communication and io_time; in_both is a lower bound of it. From records, the slowest rank's
--   parts are in the proportions of all ranks, and its communication is the average rank's.
-- source: iolens
WITH rank_of AS (
    SELECT log, rank, max(mpi) AS mpi, sum(io_time) AS io_time, sum(read_time) AS "read", sum(write_time) AS "write", sum(meta_time) AS meta
    FROM process GROUP BY log, rank
), measured AS (
    SELECT log, avg(io_time) AS io_time, [avg("read"), avg("write"), avg(meta)] AS kinds FROM rank_of WHERE mpi <> '' GROUP BY log
), recorded AS (
    SELECT log, sum(total_time) AS total, [sum(read_time), sum(write_time), sum(meta_time)] AS kinds FROM own_record GROUP BY log
), slowest AS (
    SELECT log, arg_max(rank, io_time ORDER BY rank) AS rank FROM rank_of WHERE mpi <> '' GROUP BY log
), parallel AS (
    SELECT h.*, processes, slowest.rank, processes > 1 AND (slowest.rank IS NOT NULL OR basis = 'records') AS several
    FROM metric.headline AS h JOIN metric.taking_part USING (log) LEFT JOIN slowest USING (log) WHERE run_time > 0 AND h.io_time IS NOT NULL
), spoken AS (
    SELECT log, rank, sum(total_comm_time + coalesce(total_comm_sync_time, 0)) AS seconds FROM apmpi
    WHERE total_comm_time IS NOT NULL GROUP BY log, rank
), row_of AS (
    SELECT p.log, 'average' AS who, NULL::BIGINT AS rank, run_time, basis,
        CASE WHEN basis = 'process' THEN measured.io_time ELSE recorded.total / processes END AS io_time,
        CASE WHEN basis = 'process' THEN measured.kinds ELSE recorded.kinds END AS kinds,
        (SELECT sum(seconds) FROM spoken WHERE spoken.log = p.log) / processes AS communication
    FROM parallel AS p LEFT JOIN measured USING (log) LEFT JOIN recorded USING (log) WHERE several
    UNION ALL
    SELECT p.log, CASE WHEN several THEN 'slowest' ELSE 'job' END, CASE WHEN basis = 'process' AND several THEN rank END, run_time, basis,
        io_time, [read_time, write_time, meta_time],
        CASE WHEN several AND basis = 'process' THEN (SELECT sum(seconds) FROM spoken WHERE spoken.log = p.log AND spoken.rank = p.rank)
            ELSE (SELECT sum(seconds) FROM spoken WHERE spoken.log = p.log) / processes END
    FROM parallel AS p
), capped AS (
    SELECT * REPLACE (least(greatest(io_time, 0), run_time) AS io_time, CASE WHEN communication > run_time THEN run_time ELSE communication END AS communication),
        coalesce(nullif(list_sum(kinds), 0), 1) AS parts
    FROM row_of WHERE io_time IS NOT NULL
)
SELECT log, who, rank, run_time,
    greatest(0, run_time - io_time - coalesce(communication, 0)) AS compute, communication,
    greatest(0, io_time + coalesce(communication, 0) - run_time) AS in_both,
    io_time * kinds[1] / parts AS read_time, io_time * kinds[2] / parts AS write_time, io_time * kinds[3] / parts AS meta_time,
    io_time, basis
FROM capped
ORDER BY log, who
