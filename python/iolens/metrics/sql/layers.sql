-- title: Each file as seen by its I/O layers
-- topic: ranks and layers
-- layout: table
-- definition: for each file used through more than one of HDF5, PnetCDF, MPI-IO and POSIX, what each layer counted.
--   amplification = bytes at POSIX / bytes at the highest layer that counts them; operations_ratio likewise for reads
--   and writes. posix_ranks: ranks that moved bytes at POSIX (aggregators), null where unknown. outside_posix =
--   fraction of MPI-IO's time that POSIX's time does not explain: data exchange, waiting, locking.
-- unit: bytes, operations, seconds, factor, ranks, part of 1
-- needs: posix and mpiio, h5d or pnetcdf_var
-- caveats: Times are sums over ranks. Where a layer lost records (missing), its numbers are too low.
-- source: iolens
WITH upper AS (
    SELECT log, file_rec_id AS id, 'hdf5' AS layer, sum(coalesce(bytes_read, 0) + coalesce(bytes_written, 0)) AS bytes,
        sum(coalesce(reads, 0) + coalesce(writes, 0)) AS ops,
        sum(coalesce(read_time, 0) + coalesce(write_time, 0) + coalesce(meta_time, 0)) AS time
    FROM h5d GROUP BY log, file_rec_id
    UNION ALL
    SELECT log, file_rec_id, 'pnetcdf', sum(coalesce(bytes_read, 0) + coalesce(bytes_written, 0)),
        sum(coalesce(indep_reads, 0) + coalesce(indep_writes, 0) + coalesce(coll_reads, 0) + coalesce(coll_writes, 0)
            + coalesce(nb_reads, 0) + coalesce(nb_writes, 0)),
        sum(coalesce(read_time, 0) + coalesce(write_time, 0) + coalesce(meta_time, 0))
    FROM pnetcdf_var GROUP BY log, file_rec_id
    UNION ALL
    SELECT log, id, library_of(interface), CASE WHEN interface IN library_files() THEN 0 ELSE bytes_read + bytes_written END,
        CASE WHEN interface IN library_files() THEN 0 ELSE reads + writes END, total_time
    FROM file_of WHERE interface IN library_files() OR interface = 'mpiio'
        OR interface = 'posix' AND (log, id) IN (SELECT (log, id) FROM file_of WHERE interface IN library_files() OR interface = 'mpiio')
), chain AS (
    SELECT log, id,
        sum(bytes) FILTER (layer = 'hdf5') AS hdf5_bytes, sum(ops) FILTER (layer = 'hdf5') AS hdf5_ops, sum(time) FILTER (layer = 'hdf5') AS hdf5_time,
        sum(bytes) FILTER (layer = 'pnetcdf') AS pnetcdf_bytes, sum(ops) FILTER (layer = 'pnetcdf') AS pnetcdf_ops, sum(time) FILTER (layer = 'pnetcdf') AS pnetcdf_time,
        sum(bytes) FILTER (layer = 'mpiio') AS mpiio_bytes, sum(ops) FILTER (layer = 'mpiio') AS mpiio_ops, sum(time) FILTER (layer = 'mpiio') AS mpiio_time,
        sum(bytes) FILTER (layer = 'posix') AS posix_bytes, sum(ops) FILTER (layer = 'posix') AS posix_ops, sum(time) FILTER (layer = 'posix') AS posix_time
    FROM upper GROUP BY log, id HAVING min(layer) <> max(layer)
), traced AS (
    SELECT log, id, count(DISTINCT rank) AS ranks FROM dxt_posix GROUP BY ALL
), aggregator AS (
    SELECT log, id, CASE WHEN min(rank) < 0 THEN any_value(traced.ranks)
        ELSE count(DISTINCT rank) FILTER (coalesce(bytes_read, 0) + coalesce(bytes_written, 0) > 0) END AS ranks
    FROM posix SEMI JOIN chain USING (log, id) LEFT JOIN traced USING (log, id) GROUP BY log, id
)
SELECT log, coalesce(name, '<unnamed ' || id || '>') AS name,
    hdf5_bytes::BIGINT AS hdf5_bytes, hdf5_ops::BIGINT AS hdf5_ops, hdf5_time,
    pnetcdf_bytes::BIGINT AS pnetcdf_bytes, pnetcdf_ops::BIGINT AS pnetcdf_ops, pnetcdf_time,
    mpiio_bytes::BIGINT AS mpiio_bytes, mpiio_ops::BIGINT AS mpiio_ops, mpiio_time,
    posix_bytes::BIGINT AS posix_bytes, posix_ops::BIGINT AS posix_ops, posix_time,
    posix_bytes / coalesce(nullif(hdf5_bytes, 0), nullif(pnetcdf_bytes, 0), nullif(mpiio_bytes, 0)) AS amplification,
    posix_ops / coalesce(nullif(hdf5_ops, 0), nullif(pnetcdf_ops, 0), nullif(mpiio_ops, 0)) AS operations_ratio,
    aggregator.ranks AS posix_ranks,
    CASE WHEN mpiio_time > 0 THEN greatest(0, 1 - coalesce(posix_time, 0) / mpiio_time) END AS outside_posix
FROM chain LEFT JOIN name_of USING (log, id) LEFT JOIN aggregator USING (log, id)
ORDER BY log, coalesce(hdf5_bytes, 0) + coalesce(pnetcdf_bytes, 0) + coalesce(mpiio_bytes, 0) + coalesce(posix_bytes, 0) DESC, name, id
