-- title: Checkpoints of training loops
-- topic: time
-- layout: table
-- definition: of each process that loops over a PyTorch DataLoader or iolens.steps: what the loop's thread writes between two
--   waits to files that it opens there, 64 KiB or more (phase `loader: checkpoint`). checkpoints: how often; time: seconds
--   from the first open to the last call, for which the loop stands still; share: of loop, from the first wait to the
--   last wait or checkpoint. Its parts add up to it: write_time, sync_time (fsync), rename_time, meta_time (open, close),
--   read_time, serialize_time (on the processor, without these calls) and other_time (copies from an accelerator, locks,
--   other threads and processes). longest: seconds of one; bytes: written; rate: bytes / time, write_rate: bytes / (write_time + sync_time).
-- unit: seconds, part of 1, bytes
-- direction: lower
-- needs: phases
-- caveats: Threads of Python code whose lines are recorded (CPython 3.8 to 3.13). Files that are opened before the loop,
--   or written by other threads, are not seen. What is serialized before the first file is opened is not counted. The
--   processor time of the calls counts as theirs first: serialize_time may hold a part of other_time.
-- source: iolens
WITH phase AS (
    SELECT *, substr('/' || phase, strpos('/' || phase, '/loader: ') + 9) AS rest, split_part(rest, '/', 1) AS kind, split_part(rest, '/', 2) AS part
    FROM phases WHERE contains('/' || phase, '/loader: ')
), loops AS (
    SELECT log, rank, max("last") - min("first") AS loop FROM phase WHERE part = '' AND kind <> 'fetch' AND count > 0 GROUP BY log, rank
), written AS (
    SELECT log, rank, coalesce(sum(count) FILTER (part = ''), 0)::BIGINT AS checkpoints, sum(time) FILTER (part = '') AS time, max(longest) FILTER (part = '') AS longest,
        coalesce(sum(time) FILTER (part = 'sync'), 0) AS syncs, coalesce(sum(time) FILTER (part = 'rename'), 0) AS renames,
        sum(greatest(0, write_time)) FILTER (part NOT IN ('sync', 'rename')) AS writes, sum(greatest(0, meta_time)) FILTER (part NOT IN ('sync', 'rename')) AS metas,
        sum(greatest(0, read_time)) AS reads, sum(greatest(0, processor_time)) FILTER (part = '') AS processor, sum(bytes_written)::BIGINT AS bytes
    FROM phase WHERE kind = 'checkpoint' GROUP BY log, rank HAVING checkpoints > 0
), scaled AS (
    -- Calls of several threads may take longer together than all of it.
    SELECT *, least(1, coalesce(time / nullif(syncs + renames + writes + metas + reads, 0), 1)) AS scale,
        greatest(0, time - (syncs + renames + writes + metas + reads)) AS rest
    FROM written
)
SELECT log, rank, checkpoints, loop, time, time / nullif(loop, 0) AS share, longest, writes * scale AS write_time, syncs * scale AS sync_time, renames * scale AS rename_time,
    metas * scale AS meta_time, reads * scale AS read_time, least(processor, rest) AS serialize_time, rest - least(processor, rest) AS other_time,
    bytes, bytes / nullif(time, 0) AS rate, bytes / nullif((writes + syncs) * scale, 0) AS write_rate
FROM scaled JOIN loops USING (log, rank)
ORDER BY log, rank
