-- title: What the time goes into besides I/O
-- topic: job
-- layout: table
-- definition: processor is the processor time of all processes, by the kernel's count; program is the one that used
--   most of it, program_part its part. faults are pages that processes waited for until they came from storage,
--   fault_bytes what was read for them and ahead of them. fault_time is, of each process, their number times what one
--   takes, or the time of these bytes at 100 MB/s if that is more, at most what it neither ran nor was in I/O. What one
--   takes: where a process waited for little else, that time by the number of its waits (0.05 to 10 ms), else 0.2 ms.
--   unknown is the number of processes that were killed or confined, so that the kernel could not be asked. kind is what
--   it is mostly, of page faults (a fifth of the run), the start of processes (100 or more, of less than 20 ms each), the
--   processor (half of the run, with the time that processes waited for one: delay), else the larger one of the processor
--   and waiting (in runs of 0.1 s and more).
-- unit: seconds, bytes, parts of 1
-- needs: process
-- caveats: fault_time is an estimate. What a process waited for is not known: waiting is what is left.
-- source: iolens; processor time, faults and waits: getrusage(2)
WITH known AS (
    SELECT *, user_time + system_time AS processor,
        greatest(0, "end" - "start" - user_time - system_time - io_time) AS idle
    FROM process WHERE user_time >= 0 AND ended <> 'missing'
), children AS (
    SELECT log, parent AS pid, sum(storage_read) AS read_by_children FROM process WHERE ended <> 'missing' GROUP BY log, parent
), first AS (
    SELECT *, row_number() OVER (PARTITION BY log, pid ORDER BY "start") AS image FROM known
), counted AS (
    SELECT first.*, storage_read - coalesce(seen_read, 0) - CASE WHEN image = 1 THEN coalesce(read_by_children, 0) ELSE 0 END AS page_bytes,
        major_faults * CASE WHEN waits > 0 AND waits <= 2 * major_faults THEN least(greatest(idle / waits, 0.00005), 0.01)
            ELSE 0.0002 END AS by_number
    FROM first LEFT JOIN children USING (log, pid)
), of_process AS (
    SELECT *, greatest(0, least(idle, coalesce(processor_wait, 0))) AS delayed, greatest(0, coalesce(page_bytes, 0)) AS fault_bytes,
        least(idle, greatest(by_number, fault_bytes / 1e8)) AS fault_time
    FROM counted
), by_program AS (
    SELECT log, regexp_extract(exe, '[^/]*$') AS program, sum(processor) AS processor FROM of_process GROUP BY log, program
), program AS (
    SELECT log, arg_max(program, processor ORDER BY program) AS program, max(processor) AS most,
        count(*)::BIGINT AS programs FROM by_program GROUP BY log
), sums AS (
    SELECT log, count(*)::BIGINT AS processes, sum(processor) AS processor, coalesce(sum(delayed), 0) AS delay, sum(major_faults)::BIGINT AS faults,
        sum(fault_bytes)::BIGINT AS fault_bytes, sum(fault_time) AS fault_time
    FROM of_process GROUP BY log
), closed AS (
    SELECT log, count(*) FILTER (user_time IS NULL OR user_time < 0)::BIGINT AS unknown FROM process
    WHERE ended <> 'missing' GROUP BY log
)
SELECT log, processes, unknown, processor, delay, programs, program, most / nullif(processor, 0) AS program_part, faults, fault_bytes, fault_time,
    greatest(0, run_time - processor - fault_time - coalesce(io_time, 0)) AS waited,
    CASE WHEN fault_time >= 0.2 * run_time AND log NOT IN (SELECT log FROM async) THEN 'page faults'
        WHEN processes >= 100 AND run_time < 0.02 * processes THEN 'start of processes'
        WHEN processor + delay >= 0.5 * run_time THEN 'processor'
        WHEN unknown = 0 AND run_time >= 0.1 THEN CASE WHEN run_time - processor - fault_time - coalesce(io_time, 0) > processor + delay
            THEN 'waiting' ELSE 'processor' END
        END AS kind
FROM sums JOIN program USING (log) JOIN closed USING (log) JOIN metric.headline USING (log)
ORDER BY log
