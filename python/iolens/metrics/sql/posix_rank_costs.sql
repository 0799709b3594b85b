-- title: Each rank's POSIX calls, and the cost of each kind of access
-- topic: ranks and layers
-- layout: table
-- definition: sums over the rank's records. rank -1: files that all ranks share, with the seconds of the slowest rank
--   in each: the mean metadata time of all ranks, the rest as reading and writing as far as there is any. The overhead
--   of an access is taken to be the time of moving 256 KiB: a read of n bytes takes (256 KiB + n) / (256 KiB * reads +
--   bytes_read) of the record's read_time. Where few wait ($waiting of them; a process's waits tell), a read, and a write of those that
--   follow each other, costs $call at most: its data are in memory, read ahead, or written behind. X_small_10k (100k, 1m): accesses of at most 10 KiB (100 KiB, less than 1
--   MiB), and their seconds in excess. X_random_time: the same for random accesses, which go backwards and, where
--   these are more than a fifth of a record's accesses, all that do not begin where the last one ended, because in
--   random order half go forwards. X_stepping: in equal steps, and not random: backwards (X_reversed), where fewer
--   than a tenth as many skip forwards, or back and forth, where four distances make up nine tenths of those forwards.
--   empty_reads: reads of 0 bytes at the end of a file, as far as the record tells; they count neither as reads of
--   data nor as small. opens: without dup and fileno. files: with the estimated number of those without a record of
--   their own. files_random: files in which at least 10 reads are out of order, or any if there are none of these.
--   sync_time: fsync and fdatasync, which logs count as writing (measured, or as if each cost as much as writing 16
--   MiB), and, where iolens wrote the log, writes that are forced to storage (O_SYNC, O_DSYNC), by their share of all
--   writing; the seconds of kinds of writes exclude it.
-- unit: calls, bytes, seconds
-- needs: posix
-- caveats: Seconds of kinds of access are estimates: logs have seconds per file only.
-- source: iolens
-- threshold following = 80 %: of a file's writes, from which they count as following each other
-- threshold waiting = 25 %: of them, above which the storage keeps them waiting one by one
-- threshold call = 0.002 ms: what a call costs besides copying its data, at most
WITH divided AS (
    -- What the slowest rank of a shared file did is not recorded: its share of the metadata, and data as far as there is any.
    SELECT posix.*, nprocs,
        CASE WHEN rank >= 0 THEN read_time + write_time
            WHEN slowest_rank_time > 0
            THEN least(greatest(0, slowest_rank_time - meta_time / nprocs), read_time + write_time)
            ELSE (read_time + write_time) / nprocs END AS wall_data,
        CASE WHEN rank >= 0 THEN meta_time
            WHEN slowest_rank_time > 0 THEN slowest_rank_time - wall_data
            ELSE meta_time / nprocs END AS wall_meta,
        coalesce(wall_data / nullif(read_time + write_time, 0), 0) AS wall
    FROM posix JOIN job USING (log)
), counted_sync AS (
    SELECT log, sum(time) AS synced, sum(time) / nullif(sum(count), 0) AS seconds FROM operation
    WHERE interface = 'posix' AND name IN ('fsync', 'fdatasync') GROUP BY log
), means AS (
    SELECT divided.* EXCLUDE (fsyncs, fdsyncs), greatest(fsyncs, 0) + greatest(fdsyncs, 0) AS syncs, synced,
        least(write_time, write_time * coalesce(share, 0) + syncs * coalesce(seconds,
            coalesce(write_time / nullif(16777216 * syncs + 262144 * greatest(writes, 0) + greatest(bytes_written, 0), 0), 0) * 16777216
        )) AS at_mean,
        -- What files' writing is cut off by at the mean is left in others with a longer one: the measured sum is what fsync took.
        CASE WHEN syncs > 0 THEN write_time - at_mean ELSE 0 END AS beyond
    FROM divided LEFT JOIN counted_sync USING (log) LEFT JOIN forced USING (log)
), left_over AS (
    SELECT log, least(1, (any_value(synced) - sum(at_mean)) / sum(beyond)) AS part FROM means WHERE synced > 0
    GROUP BY log HAVING sum(beyond) > 0
), synced AS (
    SELECT means.* EXCLUDE (synced), at_mean + beyond * greatest(0, coalesce(part, 0)) AS sync_time
    FROM means LEFT JOIN left_over USING (log)
), weighted AS (
    SELECT * EXCLUDE (opens, reads, writes, bytes_read, bytes_written, consec_writes),
        opened(opens, dups, filenos) AS opens,
        -- An open for each write: logs have the first one of each open as one behind the file's start, and appends skip nothing.
        CASE WHEN opened(opens, dups, filenos) >= greatest(writes, 1) THEN greatest(consec_writes, seq_writes) ELSE consec_writes END AS consec_writes,
        -- Darshan lists accesses of 0 bytes among the frequent sizes, iolens does not: where the list has room left, what it lacks.
        CASE WHEN access_count[list_position(access, 0)] > 0 THEN least(access_count[list_position(access, 0)], size_read[1], reads)
            WHEN list_contains(access_count, 0)
            THEN greatest(0, least(size_read[1], reads, greatest(reads, 0) + greatest(writes, 0) - list_sum(access_count)))
            ELSE 0 END AS empty_reads,
        size_read[1] - empty_reads AS read_100b,
        greatest(reads, 0) AS all_reads, greatest(reads, 0) - empty_reads AS reads, greatest(writes, 0) AS writes,
        greatest(bytes_read, 0) AS bytes_read, greatest(bytes_written, 0) AS bytes_written,
        read_100b + size_read[2] + size_read[3] AS read_10k,
        size_write[1] + size_write[2] + size_write[3] AS write_10k,
        CASE WHEN list_contains(access, 1048576)
            THEN access_count[list_position(access, 1048576)] ELSE 0 END AS exact_1m
    FROM synced LEFT JOIN (
        SELECT log, rank, sum(waits) FILTER (waits >= 0) AS waits FROM process WHERE rank >= 0 GROUP BY log, rank
    ) USING (log, rank)
), classed AS (
    SELECT *,
        read_10k + size_read[4] AS read_100k, write_10k + size_write[4] AS write_100k,
        -- The class ends at 1 MiB and includes it. Which direction such accesses had is not recorded: the larger class first.
        CASE WHEN size_read[5] >= size_write[5] THEN least(exact_1m, size_read[5])
            ELSE greatest(0, exact_1m - size_write[5]) END AS read_exact,
        CASE WHEN size_read[5] >= size_write[5] THEN greatest(0, exact_1m - size_read[5])
            ELSE least(exact_1m, size_write[5]) END AS write_exact,
        coalesce(wall * read_time / nullif(262144 * reads + bytes_read, 0), 0) * 262144 AS read_each,
        coalesce(wall * (write_time - sync_time) / nullif(262144 * writes + bytes_written, 0), 0) * 262144 AS write_each,
        CASE WHEN waits < $waiting * reads THEN least(read_each, $call * wall) ELSE read_each END AS read_cost,
        CASE WHEN waits < $waiting * writes AND consec_writes >= $following * writes THEN least(write_each, $call * wall) ELSE write_each END AS write_cost,
        -- The first access of each open goes nowhere: it is not out of order. Not every open has one: what is known to follow counts.
        greatest(0, all_reads - seq_reads - greatest(opens, 1)) AS back_reads, greatest(0, writes - seq_writes - greatest(opens, 1)) AS back_writes,
        CASE WHEN back_reads > 0.2 * reads THEN greatest(back_reads, all_reads - greatest(consec_reads, 0) - greatest(opens, 1)) ELSE back_reads END AS jumping_reads,
        CASE WHEN back_writes > 0.2 * writes THEN greatest(back_writes, writes - greatest(consec_writes, 0) - greatest(opens, 1)) ELSE back_writes END AS jumping_writes,
        -- Logs have the distances of accesses that skip forwards, of reads and writes together.
        greatest(0, seq_reads - consec_reads) AS skipping_reads, greatest(0, seq_writes - consec_writes) AS skipping_writes,
        (greatest(0, stride_count[1]) + greatest(0, stride_count[2]) + greatest(0, stride_count[3]) + greatest(0, stride_count[4])) > 0.9 * (skipping_reads + skipping_writes) AS in_steps,
        back_reads > 0.2 * reads AND skipping_reads < 0.1 * back_reads AS back_only_reads,
        back_writes > 0.2 * writes AND skipping_writes < 0.1 * back_writes AS back_only_writes,
        CASE WHEN back_only_reads OR back_reads > 0.2 * reads AND in_steps THEN jumping_reads ELSE 0 END AS stepping_reads,
        CASE WHEN back_only_writes OR back_writes > 0.2 * writes AND in_steps THEN jumping_writes ELSE 0 END AS stepping_writes,
        jumping_reads - stepping_reads AS irregular_reads, jumping_writes - stepping_writes AS irregular_writes
    FROM weighted
)
SELECT log, rank,
    count(*) + coalesce(any_value(folded_files), 0)::BIGINT AS files,
    count(*) FILTER (bytes_read > 0) AS files_read, count(*) FILTER (bytes_written > 0) AS files_written,
    coalesce(nullif(count(*) FILTER (irregular_reads >= 10), 0), count(*) FILTER (irregular_reads > 0)) AS files_random,
    sum(opens)::BIGINT AS opens, sum(reads)::BIGINT AS reads, sum(empty_reads)::BIGINT AS empty_reads, sum(writes)::BIGINT AS writes,
    sum(greatest(seeks, 0))::BIGINT AS seeks, sum(greatest(stats, 0))::BIGINT AS stats,
    sum(greatest(mmaps, 0))::BIGINT AS mmaps, sum(syncs)::BIGINT AS syncs,
    sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written,
    sum(wall * read_time) AS read_time, sum(wall * write_time) AS write_time, sum(wall_meta) AS meta_time,
    sum(meta_time) AS meta_sum, sum(read_time + write_time) AS data_sum,
    counted(consec_reads)::BIGINT AS consec_reads, counted(consec_writes)::BIGINT AS consec_writes,
    counted(seq_reads)::BIGINT AS seq_reads, counted(seq_writes)::BIGINT AS seq_writes,
    sum(greatest(all_reads - greatest(opens, 1), least(seq_reads, all_reads - 1), 0))::BIGINT AS following_reads,
    sum(greatest(writes - greatest(opens, 1), least(seq_writes, writes - 1), 0))::BIGINT AS following_writes,
    sum(back_reads)::BIGINT AS back_reads, sum(back_writes)::BIGINT AS back_writes,
    sum(irregular_reads)::BIGINT AS random_reads, sum(irregular_writes)::BIGINT AS random_writes,
    sum(irregular_reads * read_cost) AS random_read_time, sum(irregular_writes * write_cost) AS random_write_time,
    sum(stepping_reads)::BIGINT AS reads_stepping, sum(stepping_writes)::BIGINT AS writes_stepping,
    coalesce(sum(stepping_reads) FILTER (back_only_reads), 0)::BIGINT AS reads_reversed,
    coalesce(sum(stepping_writes) FILTER (back_only_writes), 0)::BIGINT AS writes_reversed,
    sum(stepping_reads * read_cost) AS stepping_read_time, sum(stepping_writes * write_cost) AS stepping_write_time,
    sum(wall * sync_time) AS sync_time,
    counted(rw_switches)::BIGINT AS rw_switches, counted(mem_not_aligned)::BIGINT AS mem_not_aligned,
    counted(file_not_aligned)::BIGINT AS file_not_aligned, max(file_alignment) AS file_alignment,
    sum(wall * (read_time + write_time - sync_time) * coalesce(least(1, file_not_aligned / nullif(all_reads + writes, 0)), 0)) AS not_aligned_time,
    sum(read_100b + size_read[2])::BIGINT AS reads_small_1k, sum(size_write[1] + size_write[2])::BIGINT AS writes_small_1k,
    sum(read_10k)::BIGINT AS reads_small_10k, sum(write_10k)::BIGINT AS writes_small_10k,
    sum(read_100k)::BIGINT AS reads_small_100k, sum(write_100k)::BIGINT AS writes_small_100k,
    sum(read_100k + size_read[5] - read_exact)::BIGINT AS reads_small_1m,
    sum(write_100k + size_write[5] - write_exact)::BIGINT AS writes_small_1m,
    sum((read_100b + size_read[2]) * read_cost) AS read_small_1k_time,
    sum((size_write[1] + size_write[2]) * write_cost) AS write_small_1k_time,
    sum(read_10k * read_cost) AS read_small_10k_time, sum(write_10k * write_cost) AS write_small_10k_time,
    sum(read_100k * read_cost) AS read_small_100k_time, sum(write_100k * write_cost) AS write_small_100k_time,
    sum((read_100k + size_read[5] - read_exact) * read_cost) AS read_small_1m_time,
    sum((write_100k + size_write[5] - write_exact) * write_cost) AS write_small_1m_time
FROM classed LEFT JOIN (
    SELECT log, rank, sum(files) AS folded_files FROM folded GROUP BY log, rank
) USING (log, rank)
GROUP BY log, rank
ORDER BY log, rank
