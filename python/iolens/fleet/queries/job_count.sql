-- title: How many jobs are found
-- definition: of job_search.
-- column jobs (count): with a log
-- column users (count): different ones
-- column bytes_read (bytes): by the program
-- column bytes_written (bytes): by the program
-- column time_lost (seconds): of the costliest finding of each job
SELECT count(*) AS jobs, count(DISTINCT "user") AS users, sum(bytes_read)::BIGINT AS bytes_read,
    sum(bytes_written)::BIGINT AS bytes_written, sum(time_lost) AS time_lost
FROM fleet.job_search
