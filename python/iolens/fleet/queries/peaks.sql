-- title: What file systems could do
-- definition: one row per measurement by `iolens peak` that was added to the lake, the last first.
-- parameter rows (50): how many
-- parameter cluster (): only file systems of this cluster
-- parameter since (): measured on this day or later (UTC)
-- parameter until (): measured on this day or before
-- column measured (): UTC
-- column mount (): where it is mounted
-- column file_system (): its type
-- column host (): the node that measured
-- column read_rate (rate): of one process
-- column write_rate (rate): of one process
-- column past_page_cache (): false where reads may have come from the page cache
SELECT measured, mount, file_system, host, read_rate, write_rate, past_page_cache FROM peak
WHERE ($cluster = '' OR cluster = $cluster) AND ($since = '' OR measured >= TRY_CAST($since AS DATE))
    AND ($until = '' OR measured < TRY_CAST($until AS DATE) + INTERVAL 1 DAY)
ORDER BY measured DESC, mount, host LIMIT CAST($rows AS BIGINT)
