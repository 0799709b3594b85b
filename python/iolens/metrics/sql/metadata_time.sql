-- title: Seconds in metadata calls, over all processes
-- topic: time
-- definition: meta_time of metadata_ratio: each file at MPI-IO if it was opened there, else at POSIX; STDIO is left out.
-- unit: seconds
-- direction: lower
-- needs: posix or mpiio
-- source: NERSC screening study, equation 2
SELECT log, meta_time AS value FROM metric.metadata_ratio ORDER BY log
