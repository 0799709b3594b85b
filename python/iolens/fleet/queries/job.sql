-- title: A job
-- definition: every log of the scheduler's job $id, the first program first, with its numbers.
-- parameter id (0): the scheduler's number
-- column log (): its number in the lake
-- column job_id (): the scheduler's number
-- column user (): who ran it
-- column application (): the program, without launcher and interpreter
-- column exe (): the command line
-- column cluster (): where it ran
-- column nprocs (count): processes
-- column start (): UTC
-- column run_time (seconds): wall-clock
-- column io_time (seconds): wall-clock in I/O
-- column bytes_read (bytes): by the program
-- column bytes_written (bytes): by the program
-- column metadata_time (seconds): over all processes
-- column small_writes (count): below 1 MiB
-- column time_lost (seconds): of the costliest finding of severity high or medium
-- column path (): of the log
SELECT log, job_id, "user", application, exe, cluster, nprocs, "start", run_time, io_time, bytes_read, bytes_written,
    metadata_time, small_writes, time_lost, path
FROM fleet.jobs WHERE job_id = CAST($id AS BIGINT) ORDER BY "start", log
