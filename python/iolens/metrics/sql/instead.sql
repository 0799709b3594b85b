-- title: What the time goes into besides I/O
-- topic: job
-- layout: table
-- definition: processor is the processor time of all processes, as the kernel counts it, with that of unobserved
--   programs where a process waited for all of them (operation unobserved); program is the one that used most,
--   program_part its part. faults are pages that processes waited for until they came from storage, fault_bytes what
--   was read for them and ahead of them. fault_time is the time this took, of each process at most what it slept:
--   neither ran, nor waited for a processor, nor was in I/O. If a process waited for little else (each wait brought
--   $ahead or more on average, or faults are $fault_part of its waits or more), it is that time, at most
--   $longest_fault a wait; where waits were longer on average, the following bounds it. Otherwise it is the faults
--   times a wait of the first kind (if there is none, $fault), or the bytes at a rate if that is more: the rate of the
--   first kind, or of calls that read from storage in this job ($slowest_reads to $cached), or $storage. A program is
--   loaded before iolens runs in it, so its time begins with the job, or where the process's previous program ended.
--   fault_time and delay are parts of the run: processes that wait at the same time hold it up once. Where in its life
--   a process waited is not known: it is taken to be the beginning, where programs are loaded.
--   unknown is the number of unobserved programs, and of processes that were killed or confined before the kernel
--   could be asked. paged: page faults can be distinguished from requests. faulting: they are worth naming, with $faulting of
--   the run, or $faulting_with_io and with I/O $faulting. brought: they are not, but their bytes at $cached would take
--   $brought of the run. late_wait: as in late_ranks; queued: as in processor_waits; lock_wait, locked and lockers: lock_wait, file and processes of
--   lock_waits. kind: late rank; locks, if waiting for them takes most; page faults, if they are more than the rest; the start of processes ($many_processes or more, of less than $brief of the run each, those that
--   used less having $brief_part of the processor time, and no program $most in processes that used more on average); the processor ($most of the run, with the time that processes
--   waited for one: delay); otherwise the larger of the processor and waiting (in runs of $worth_waiting and more).
--   system_part: of the processor time, in the kernel; passed: bytes that went through pipes or local sockets, whichever had
--   more, if that part is $most or more and they take $delayed of the run or more at $copied; otherwise null.
--   computing: the part of its life for which the process that is longest in I/O used a processor ($always: its calls
--   copy from and to memory).
-- unit: seconds, bytes, parts of 1
-- needs: process
-- caveats: fault_time is an estimate. The cause of waiting is unknown: waiting is what is left.
-- source: iolens; processor time, faults and waits: getrusage(2)
-- threshold ahead = 64 KiB: what a wait brings, of the 128 KiB that are read around a page
-- threshold fault_part = 50 %: of a process's waits, if they are mostly for pages
-- threshold shortest_fault = 0.05 ms: what a wait for a page takes at least
-- threshold longest_fault = 10 ms: and at most: a longer one was a sleep
-- threshold fault = 0.2 ms: where no process of the job tells it
-- threshold many = 10: waits that tell what one takes
-- threshold enough = 1 MiB: bytes that tell a rate
-- threshold storage = 100 MB/s: what a disk without moving parts gives
-- threshold slowest = 10 MB/s: bounds of the rate of page faults
-- threshold fastest = 10 GB/s: above it pages were in memory
-- threshold slowest_reads = 25 MB/s: bounds of the rate of calls, which may read small files
-- threshold cached = 500 MB/s: above it reads came from memory
-- threshold faulting = 20 %: of the run, from which page faults are named
-- threshold faulting_with_io = 10 %: of the run, where I/O is the rest of that
-- threshold brought = 10 %: of the run, what pages from storage would take that are named without a time of their own
-- threshold many_processes = 25: from which their start may be most
-- threshold brief = 20 ms: of the run for each process, below which the start is most of it
-- threshold brief_part = 33 %: of the processor time, in processes that use less: else a few long ones are most of it
-- threshold most = 50 %: of the run, or of the processor time: what a reader should look at
-- threshold worth_waiting = 0.1 s: a shorter run waits for its own start
-- threshold delayed = 10 %: of the run: a wait for the processor from which it is said; unobserved programs that used it longer may have waited
-- threshold copied = 1 GB/s: what one processor passes through a pipe
-- threshold always = 90 %: of a process's life on a processor: it waits for nothing
-- threshold one_processor = 1.05: processors, rounded up, that are said to be one
WITH known AS (
    SELECT *, user_time + system_time AS processor, greatest(0, coalesce(processor_wait, 0)) AS queued,
        row_number() OVER (PARTITION BY log, pid ORDER BY "start") AS image
    FROM process JOIN (SELECT log, rank, pid, "start", began, in_io, queued AS in_calls FROM metric.processor_waits) USING (log, rank, pid, "start") WHERE user_time >= 0 AND ended <> 'missing'
), children AS (
    SELECT log, parent AS pid, sum(storage_read) AS read_by_children FROM process WHERE ended <> 'missing' GROUP BY log, parent
), lives AS (
    SELECT *, "end" - began - processor AS rest,
        storage_read - CASE WHEN image = 1 THEN coalesce(read_by_children, 0) ELSE 0 END AS own_read, coalesce(seen_read, 0) AS by_calls
    FROM known LEFT JOIN children USING (log, pid)
), slept AS (
    SELECT *, greatest(0, least(rest - CASE WHEN processor_threads = 1 THEN 0 ELSE io_time END, queued)) AS delayed,
        greatest(0, least(rest - io_time + in_io, rest - queued)) AS asleep,
        greatest(0, coalesce(own_read - by_calls, 0))::BIGINT AS fault_bytes
    FROM lives
), waited AS (
    SELECT *, CASE WHEN waits <= 0 OR (major_faults <= 0 AND fault_bytes <= 0) THEN 0
        WHEN fault_bytes // $ahead >= waits THEN waits WHEN $fault_part * waits <= major_faults THEN major_faults ELSE 0 END AS page_waits
    FROM slept
), timed AS (
    SELECT *, page_waits > 0 AND asleep <= $longest_fault * waits AS paged,
        CASE WHEN page_waits > 0 THEN least(asleep, page_waits * least(greatest(asleep / waits, $shortest_fault), $longest_fault)) ELSE asleep END AS most_paging
    FROM waited
), storage AS (
    SELECT log, sum(fault_bytes) FILTER (paged) AS bytes, coalesce(sum(page_waits) FILTER (paged), 0) AS waits, sum(most_paging) FILTER (paged) AS time,
        sum(by_calls) FILTER (own_read >= by_calls) AS cold, sum(read_time) FILTER (own_read >= by_calls) AS cold_time
    FROM timed GROUP BY log
), pace AS (
    SELECT log, CASE WHEN waits >= $many THEN least(greatest(time / waits, $shortest_fault), $longest_fault) ELSE $fault END AS each_wait,
        CASE WHEN bytes >= $enough AND time > 0 THEN least(greatest(bytes / time, $slowest), $fastest)
            WHEN cold >= $enough AND cold_time > 0 AND cold / cold_time <= $cached THEN greatest(cold / cold_time, $slowest_reads) ELSE $storage END AS rate
    FROM storage
), of_process AS (
    SELECT *, CASE WHEN major_faults <= 0 AND fault_bytes <= 0 THEN 0
        WHEN paged THEN most_paging ELSE least(most_paging, greatest(major_faults * each_wait, fault_bytes / rate)) END AS fault_time
    FROM timed JOIN pace USING (log)
), wait AS (
    SELECT log, 'page' AS what, began, began + fault_time AS until FROM of_process WHERE fault_time > 0
    UNION ALL SELECT log, 'processor', began, began + delayed FROM of_process WHERE delayed > 0
), beyond AS (
    SELECT *, max(until) OVER (PARTITION BY log, what ORDER BY began, until ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM wait
), held AS (
    SELECT log, sum(time) FILTER (what = 'page') AS paging, sum(time) FILTER (what = 'processor') AS queueing
    FROM (SELECT log, what, greatest(0, until - greatest(began, coalesce(before, began))) AS time FROM beyond) GROUP BY log
), unseen AS (
    SELECT log, sum(time) AS unseen FROM operation WHERE interface = 'unobserved' AND name = 'processor' GROUP BY log
), by_program AS (
    SELECT log, regexp_extract(exe, '[^/]*$') AS program, sum(processor) AS processor, avg(processor) AS each FROM of_process GROUP BY log, program
    UNION ALL SELECT log, 'programs that were not observed', unseen, 0 FROM unseen
), program AS (
    SELECT log, arg_max(program, processor ORDER BY program) AS program, max(processor) AS most,
        arg_max(each, processor ORDER BY program) AS each,
        count(*)::BIGINT AS programs FROM by_program GROUP BY log
), sums AS (
    SELECT log, count(pid)::BIGINT AS processes, coalesce(sum(processor), 0) + coalesce(any_value(unseen), 0) AS processor, sum(system_time) AS system, any_value(unseen) AS unseen, coalesce(any_value(queueing), 0) AS delay, any_value(in_calls) AS queued, coalesce(sum(major_faults), 0)::BIGINT AS faults,
        coalesce(sum(fault_bytes), 0)::BIGINT AS fault_bytes, coalesce(any_value(paging), 0) AS fault_time,
        coalesce(sum(processor) FILTER (processor < $brief), 0) AS brief,
        arg_max(processor / nullif(rest + processor, 0), (io_time, -rank)) FILTER (io_time > 0) AS computing
    FROM (SELECT log FROM of_process UNION SELECT log FROM unseen) AS logs LEFT JOIN of_process USING (log) LEFT JOIN unseen USING (log) LEFT JOIN held USING (log) GROUP BY log
), passed AS (
    SELECT log, max(bytes) AS passed, arg_max(through, (bytes, through)) AS through FROM (
        SELECT log, CASE class WHEN 'pipe' THEN 'pipes' ELSE 'sockets' END AS through, greatest(sum(bytes_read), sum(bytes_written))::BIGINT AS bytes
        FROM excluded WHERE class IN ('pipe', 'socket_unix', 'socket_loopback') GROUP BY log, class
    ) GROUP BY log
), closed AS (
    SELECT log, count(*) FILTER (user_time IS NULL OR user_time < 0)::BIGINT + coalesce(any_value(u.n), 0)::BIGINT AS unknown FROM process
    LEFT JOIN (SELECT log, sum(count) AS n FROM unobserved GROUP BY log) AS u USING (log)
    WHERE ended <> 'missing' GROUP BY log
), parts AS (
    SELECT sums.*, unknown, programs, program, most, each, run_time, processor + delay AS busy, coalesce(late_wait, 0) AS late_wait, late, others,
        coalesce(lock_wait, 0) AS lock_wait, locked, lockers,
        greatest(0, coalesce(io_time, 0) - coalesce(late_wait, 0) - coalesce(lock_wait, 0) - queued) AS spent,
        greatest(0, run_time - processor - fault_time - queued - spent) AS waited, requests.log IS NULL AS paged,
        unknown = 0 OR coalesce(unseen < $delayed * run_time, false) AS all_known
    FROM sums JOIN program USING (log) JOIN closed USING (log) JOIN (SELECT log, run_time, io_time FROM metric.headline) USING (log)
    LEFT JOIN (SELECT DISTINCT log FROM async) AS requests USING (log)
    LEFT JOIN (SELECT log, late_wait, late, others FROM metric.late_ranks WHERE late_wait > 0) AS late_rank USING (log)
    LEFT JOIN (SELECT log, lock_wait, file AS locked, processes AS lockers FROM metric.lock_waits WHERE lock_wait > 0) AS locking USING (log)
), named AS (
    SELECT *, paged AND (fault_time >= $faulting * run_time
        OR fault_time >= $faulting_with_io * run_time AND fault_time + spent >= $faulting * run_time) AS faulting
    FROM parts
)
SELECT log, processes, unknown, processor, delay, programs, program, most / nullif(processor, 0) AS program_part, faults, fault_bytes, fault_time,
    waited, paged, faulting, paged AND NOT faulting AND fault_bytes >= $brought * $cached * run_time AS brought, late_wait, late, others, lock_wait, locked, lockers, queued, computing, system / nullif(processor, 0) AS system_part,
    CASE WHEN system >= $most * processor AND passed >= $copied * $delayed * run_time THEN passed END AS passed, through,
    CASE WHEN late_wait > 0 THEN 'late rank'
        WHEN lock_wait > 0 AND lock_wait >= busy AND lock_wait >= fault_time AND (2 * lock_wait >= waited OR NOT all_known) THEN 'locks'
        WHEN faulting AND fault_time > busy AND (fault_time > waited OR NOT all_known) THEN 'page faults'
        WHEN processes >= $many_processes AND run_time < $brief * processes AND brief >= $brief_part * processor
            AND NOT (most >= $most * processor AND each >= $brief) THEN 'start of processes'
        WHEN busy >= $most * run_time THEN 'processor'
        WHEN NOT all_known OR run_time < $worth_waiting THEN CASE WHEN faulting THEN 'page faults' END
        WHEN waited > busy THEN 'waiting' ELSE 'processor' END AS kind
FROM named LEFT JOIN passed USING (log) ORDER BY log
