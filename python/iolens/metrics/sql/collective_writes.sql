-- title: Collective writes
-- topic: accesses
-- definition: MPI-IO's collective and split collective writes.
-- unit: writes
-- needs: any log
-- source: NERSC screening study
SELECT log, coalesce(sum(counted), 0)::BIGINT AS value
FROM job LEFT JOIN (
    SELECT log, greatest(coalesce(coll_writes, 0), 0) + greatest(coalesce(split_writes, 0), 0) AS counted FROM mpiio
) USING (log) GROUP BY log ORDER BY log
