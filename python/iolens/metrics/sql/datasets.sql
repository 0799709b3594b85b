-- title: HDF5 datasets and PnetCDF variables
-- topic: files
-- layout: table
-- definition: one row for each dataset or variable, all ranks combined. collective = fraction of collective accesses:
--   for PnetCDF by count; for HDF5 1 if collective transfers were used at all, else 0.
-- unit: bytes, operations, seconds, part of 1
-- needs: h5d or pnetcdf_var
-- source: iolens
WITH part AS (
    SELECT log, 'h5d' AS interface, id, file_rec_id, rank, bytes_read, bytes_written, opens, reads, writes,
        read_time, write_time, meta_time, NULL::BIGINT AS coll, use_mpiio_collective AS used
    FROM h5d
    UNION ALL
    SELECT log, 'pnetcdf_var', id, file_rec_id, rank, bytes_read, bytes_written, opens,
        coalesce(indep_reads, 0) + coalesce(coll_reads, 0) + coalesce(nb_reads, 0),
        coalesce(indep_writes, 0) + coalesce(coll_writes, 0) + coalesce(nb_writes, 0),
        read_time, write_time, meta_time, coalesce(coll_reads, 0) + coalesce(coll_writes, 0), NULL
    FROM pnetcdf_var
), merged AS (
    SELECT log, interface, id, any_value(file_rec_id) AS file_rec_id, min(rank) < 0 AS all_ranks, count(DISTINCT rank) AS ranks,
        coalesce(sum(bytes_read), 0)::BIGINT AS bytes_read, coalesce(sum(bytes_written), 0)::BIGINT AS bytes_written,
        sum(opens)::BIGINT AS opens, sum(reads)::BIGINT AS reads, sum(writes)::BIGINT AS writes,
        sum(read_time) AS read_time, sum(write_time) AS write_time, sum(meta_time) AS meta_time,
        CASE WHEN interface = 'h5d' THEN max(used)::DOUBLE ELSE sum(coll) / nullif(sum(reads) + sum(writes), 0) END AS collective
    FROM part GROUP BY log, interface, id
)
SELECT m.log, m.interface,
    CASE WHEN starts_with(n.name, f.name || ':') THEN substr(n.name, length(f.name) + 2)
        ELSE coalesce(n.name, '<unnamed ' || m.id || '>') END AS name,
    coalesce(f.name, '<unnamed ' || m.file_rec_id || '>') AS file,
    CASE WHEN all_ranks THEN nprocs ELSE ranks END AS ranks, bytes_read, bytes_written, opens, reads, writes,
    read_time, write_time, meta_time, collective
FROM merged AS m JOIN job USING (log) LEFT JOIN name_of AS n ON (n.log, n.id) = (m.log, m.id)
    LEFT JOIN name_of AS f ON (f.log, f.id) = (m.log, m.file_rec_id)
ORDER BY m.log, bytes_read + bytes_written DESC, file, m.interface, 3, m.id
