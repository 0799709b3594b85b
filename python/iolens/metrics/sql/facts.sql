-- title: What kind of job a log is from
-- topic: job
-- layout: table
-- definition: fact: mpi (an MPI program), mpiio (it used MPI-IO), collective (all its MPI-IO reads and writes are
--   collective), hdf5 (it used HDF5 files), pnetcdf, lustre (it used files on Lustre), python (a Python program),
--   library (a data loader read by Zarr or PyArrow's Parquet reader). hint and nodes have a value: an MPI-IO hint
--   (key=value) that took effect (fewer ranks moved the data than made the calls), and the number of hosts.
-- unit: facts
-- needs: any log
-- caveats: The hints in a log's metadata are not the program's: Darshan wrote the log with them. hdf5 is known from
--   the HDF5 modules, otherwise from file name extensions. Logs without a process table lack the number of hosts.
-- source: iolens
WITH calls AS (
    SELECT log, sum(greatest(indep_reads, 0) + greatest(indep_writes, 0) + greatest(nb_reads, 0) + greatest(nb_writes, 0)) AS single,
        sum(greatest(coll_reads, 0) + greatest(coll_writes, 0) + greatest(split_reads, 0) + greatest(split_writes, 0)) AS together
    FROM mpiio GROUP BY log
), buffered AS (
    SELECT log, sum(greatest(coll_reads, 0) + greatest(split_reads, 0)) AS reads, sum(greatest(coll_writes, 0) + greatest(split_writes, 0)) AS writes
    FROM mpiio JOIN metric.aggregators AS a USING (log) JOIN job USING (log) WHERE a.aggregators < job.nprocs GROUP BY log
), exe AS (
    SELECT log, exe FROM job
    UNION ALL SELECT log, arg_max(exe, io_time ORDER BY rank, exe) FROM process GROUP BY log
)
SELECT DISTINCT log, fact, value FROM (
    SELECT log, 'mpi' AS fact, NULL::VARCHAR AS value FROM process WHERE mpi <> ''
    UNION ALL SELECT log, 'mpi', NULL FROM mpiio
    UNION ALL SELECT log, 'mpi', NULL FROM job WHERE nprocs > 1 AND log NOT IN (SELECT log FROM process)
    UNION ALL SELECT log, 'mpiio', NULL FROM calls
    UNION ALL SELECT log, 'collective', NULL FROM calls WHERE single = 0 AND together > 0
    UNION ALL SELECT log, 'hdf5', NULL FROM (SELECT log FROM h5f UNION ALL SELECT log FROM h5d)
    UNION ALL SELECT log, 'hdf5', NULL FROM name WHERE extension IN ('h5', 'hdf5', 'he5', 'nc4')
    UNION ALL SELECT log, 'pnetcdf', NULL FROM pnetcdf_file
    UNION ALL SELECT log, 'lustre', NULL FROM lustre
    UNION ALL SELECT log, 'lustre', NULL FROM name WHERE file_system = 'lustre'
    UNION ALL SELECT log, 'python', NULL FROM exe WHERE regexp_matches(string_split(exe, ' ')[1], '(^|/)i?python[0-9.]*$')
    UNION ALL SELECT log, 'python', NULL FROM name WHERE extension IN ('py', 'pyc')
    UNION ALL SELECT log, 'library', NULL FROM phases WHERE contains(phase, '/loader: in ')
    UNION ALL SELECT log, 'hint', 'romio_cb_write=enable' FROM buffered WHERE writes > 0
    UNION ALL SELECT log, 'hint', 'romio_cb_read=enable' FROM buffered WHERE reads > 0
    UNION ALL SELECT log, 'nodes', count(DISTINCT host)::VARCHAR FROM process WHERE rank >= 0 GROUP BY log
) ORDER BY log, fact, value
