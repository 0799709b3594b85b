-- title: Seconds in metadata calls, over all processes
-- topic: time
-- definition: meta_time of metadata_ratio.
-- unit: seconds
-- direction: lower
-- needs: posix or mpiio
-- source: NERSC screening study, equation 2
SELECT log, meta_time AS value FROM metric.metadata_ratio ORDER BY log
