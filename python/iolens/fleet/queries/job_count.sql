-- title: How many jobs are found
-- definition: of job_search, in all.
-- column jobs (count): with a log
-- column users (count): different ones
-- column bytes_read (bytes): by the programs
-- column bytes_written (bytes): by the programs
-- column time_lost (seconds): of each job what its costliest finding accounts for
SELECT count(*) AS jobs, count(DISTINCT "user") AS users, sum(bytes_read)::BIGINT AS bytes_read,
    sum(bytes_written)::BIGINT AS bytes_written, sum(time_lost) AS time_lost
FROM fleet.job_search
