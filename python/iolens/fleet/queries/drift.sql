-- title: Applications that have become slower, or vary
-- definition: the last $recent runs of each application (same user and number of processes) compared with the earlier
--   ones. Slower: median I/O time above $factor times, and outside the usual range (the quartiles of earlier runs);
--   faster: below the inverse. spread: (third - first quartile) / median of earlier runs.
-- parameter recent (5): runs that are the last ones
-- parameter factor (1.2): what is a drift
-- column user (): who ran it
-- column application (): the program
-- column nprocs (count): processes
-- column runs (count): with a log
-- column earlier (seconds): median of io_time before
-- column recent (seconds): median of io_time of the last runs
-- column change (factor): recent / earlier
-- column spread (percent): of the earlier runs
-- column drift (): slower, faster, or empty
-- column last (): day of the last run
WITH numbered AS (
    SELECT "user", application, nprocs, io_time, "start",
        row_number() OVER (PARTITION BY "user", application, nprocs ORDER BY "start" DESC, log DESC) AS ago
    FROM fleet.jobs WHERE io_time IS NOT NULL
), halves AS (
    SELECT "user", application, nprocs, count(*) AS runs,
        quantile_cont(io_time, 0.5) FILTER (ago > $recent) AS earlier,
        quantile_cont(io_time, 0.25) FILTER (ago > $recent) AS low,
        quantile_cont(io_time, 0.75) FILTER (ago > $recent) AS high,
        quantile_cont(io_time, 0.5) FILTER (ago <= $recent) AS recent, CAST(max("start") AS DATE) AS last
    FROM numbered GROUP BY "user", application, nprocs
    HAVING count(*) FILTER (ago > $recent) >= $recent
)
SELECT "user", application, nprocs, runs, earlier, recent, recent / nullif(earlier, 0) AS change,
    (high - low) / nullif(earlier, 0) AS spread,
    CASE WHEN recent > earlier * $factor AND recent > high THEN 'slower'
        WHEN recent < earlier / $factor AND recent < low THEN 'faster' ELSE '' END AS drift, last
FROM halves ORDER BY drift = '', change DESC NULLS LAST, "user", application, nprocs
