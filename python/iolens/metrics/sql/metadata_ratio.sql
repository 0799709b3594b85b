-- title: Fraction of the I/O time spent on metadata
-- topic: time
-- definition: metadata time / (read + write + metadata time), each file at MPI-IO if it was opened there, otherwise at
--   POSIX; without STDIO. per_rank = metadata seconds per process that takes part. matches: above 25 %, more than 30 s
--   per process, and at least 192 processes: smaller or shorter jobs are not worth a look.
-- unit: part of 1
-- direction: lower
-- needs: posix or mpiio
-- caveats: Flushing at close counts as metadata. Sums over ranks and threads, not wall-clock.
-- source: NERSC screening study, equation 2
WITH part AS (
    SELECT log, sum(meta_time) AS meta_time, sum(total_time) AS total_time
    FROM own_file WHERE lowest_of(interface) = 'posix' GROUP BY log
)
SELECT log, meta_time / nullif(total_time, 0) AS value, meta_time, meta_time / processes AS per_rank,
    coalesce(meta_time / nullif(total_time, 0) >= 0.25 AND meta_time / processes > 30 AND nprocs >= 192, false) AS matches
FROM job JOIN metric.taking_part USING (log) LEFT JOIN part USING (log)
ORDER BY log
