-- title: Users by what their jobs cost
-- definition: sums over jobs; time_lost of a job is that of its costliest finding. In order of $by: time (lost to
--   findings), bytes (read and written), metadata (seconds in metadata calls), small (writes below 1 MiB), io (seconds
--   in I/O), jobs.
-- parameter by (time): what comes first: time, bytes, metadata, small, io, jobs
-- parameter rows (10): how many
-- column user (): who ran it
-- column jobs (count): with a log
-- column applications (count): different ones
-- column core_hours (factor): processes times hours
-- column time_lost (seconds): wall-clock that findings account for
-- column io_time (seconds): wall-clock in I/O
-- column bytes_read (bytes): by the program
-- column bytes_written (bytes): by the program
-- column metadata_time (seconds): over all processes
-- column small_writes (count): below 1 MiB
SELECT "user", count(*) AS jobs, count(DISTINCT "application") AS applications, sum(run_time * nprocs) / 3600 AS core_hours,
    sum(time_lost) AS time_lost, sum(io_time) AS io_time, sum(bytes_read)::BIGINT AS bytes_read,
    sum(bytes_written)::BIGINT AS bytes_written, sum(metadata_time) AS metadata_time,
    sum(small_writes)::BIGINT AS small_writes
FROM fleet.job_costs GROUP BY "user" ORDER BY sum(place) DESC NULLS LAST, "user" LIMIT CAST($rows AS BIGINT)
