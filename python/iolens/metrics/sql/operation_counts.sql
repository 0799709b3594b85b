-- title: How often each kind of operation was called
-- topic: accesses
-- layout: table
-- definition: sums over all records of an interface; sync = fsync + fdatasync for POSIX.
-- unit: operations
-- needs: any interface
-- caveats: Null where the log's version has no such counter, or did not count it (below 0).
-- source: PyDarshan, darshan-job-summary
WITH op AS (
    FROM (SELECT log, 'posix' AS interface, counted(reads)::BIGINT AS read, counted(writes)::BIGINT AS write,
        counted(opened(opens, dups, filenos))::BIGINT AS open, counted(stats)::BIGINT AS stat, counted(seeks)::BIGINT AS seek, counted(mmaps)::BIGINT AS mmap,
        counted(coalesce(fsyncs, 0) + coalesce(fdsyncs, 0))::BIGINT AS sync FROM posix GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (read, write, open, stat, seek, mmap, sync))
    UNION ALL
    FROM (SELECT log, 'mpiio' AS interface, counted(indep_reads)::BIGINT AS indep_read, counted(indep_writes)::BIGINT AS indep_write,
        counted(indep_opens)::BIGINT AS indep_open, counted(coll_reads)::BIGINT AS coll_read, counted(coll_writes)::BIGINT AS coll_write,
        counted(coll_opens)::BIGINT AS coll_open, counted(split_reads)::BIGINT AS split_read, counted(split_writes)::BIGINT AS split_write,
        counted(nb_reads)::BIGINT AS nb_read, counted(nb_writes)::BIGINT AS nb_write, counted(syncs)::BIGINT AS sync FROM mpiio GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (indep_read, indep_write, indep_open, coll_read, coll_write, coll_open,
        split_read, split_write, nb_read, nb_write, sync))
    UNION ALL
    FROM (SELECT log, 'stdio' AS interface, counted(reads)::BIGINT AS read, counted(writes)::BIGINT AS write,
        counted(opens)::BIGINT AS open, counted(seeks)::BIGINT AS seek, counted(flushes)::BIGINT AS flush FROM stdio GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (read, write, open, seek, flush))
    UNION ALL
    FROM (SELECT log, 'h5f' AS interface, counted(opens)::BIGINT AS open, counted(flushes)::BIGINT AS flush FROM h5f GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (open, flush))
    UNION ALL
    FROM (SELECT log, 'h5d' AS interface, counted(reads)::BIGINT AS read, counted(writes)::BIGINT AS write,
        counted(opens)::BIGINT AS open, counted(flushes)::BIGINT AS flush FROM h5d GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (read, write, open, flush))
    UNION ALL
    FROM (SELECT log, 'pnetcdf_file' AS interface, counted(coalesce(opens, 0) + coalesce(creates, 0))::BIGINT AS open,
        counted(syncs)::BIGINT AS sync, counted(indep_waits)::BIGINT AS indep_wait, counted(coll_waits)::BIGINT AS coll_wait
        FROM pnetcdf_file GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (open, sync, indep_wait, coll_wait))
    UNION ALL
    FROM (SELECT log, 'pnetcdf_var' AS interface, counted(indep_reads)::BIGINT AS indep_read, counted(indep_writes)::BIGINT AS indep_write,
        counted(coll_reads)::BIGINT AS coll_read, counted(coll_writes)::BIGINT AS coll_write, counted(nb_reads)::BIGINT AS nb_read,
        counted(nb_writes)::BIGINT AS nb_write, counted(opens)::BIGINT AS open FROM pnetcdf_var GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (indep_read, indep_write, coll_read, coll_write, nb_read, nb_write, open))
    UNION ALL
    FROM (SELECT log, 'dfs' AS interface, counted(reads)::BIGINT AS read, counted(readxs)::BIGINT AS readx, counted(writes)::BIGINT AS write,
        counted(writexs)::BIGINT AS writex, counted(nb_reads)::BIGINT AS nb_read, counted(nb_writes)::BIGINT AS nb_write,
        counted(opens)::BIGINT AS open, counted(global_opens)::BIGINT AS global_open, counted(lookups)::BIGINT AS lookup,
        counted(get_sizes)::BIGINT AS get_size, counted(punches)::BIGINT AS punch, counted(removes)::BIGINT AS remove, counted(stats)::BIGINT AS stat
        FROM dfs GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (read, readx, write, writex, nb_read, nb_write, open, global_open, lookup,
        get_size, punch, remove, stat))
    UNION ALL
    FROM (SELECT log, 'daos' AS interface, counted(obj_opens)::BIGINT AS obj_open, counted(obj_fetches)::BIGINT AS obj_fetch,
        counted(obj_updates)::BIGINT AS obj_update, counted(obj_punches)::BIGINT AS obj_punch,
        counted(obj_dkey_punches)::BIGINT AS obj_dkey_punch, counted(obj_akey_punches)::BIGINT AS obj_akey_punch,
        counted(obj_dkey_lists)::BIGINT AS obj_dkey_list, counted(obj_akey_lists)::BIGINT AS obj_akey_list,
        counted(obj_recx_lists)::BIGINT AS obj_recx_list, counted(array_opens)::BIGINT AS array_open,
        counted(array_reads)::BIGINT AS array_read, counted(array_writes)::BIGINT AS array_write,
        counted(array_get_sizes)::BIGINT AS array_get_size, counted(array_set_sizes)::BIGINT AS array_set_size,
        counted(array_stats)::BIGINT AS array_stat, counted(array_punches)::BIGINT AS array_punch,
        counted(array_destroys)::BIGINT AS array_destroy, counted(kv_opens)::BIGINT AS kv_open, counted(kv_gets)::BIGINT AS kv_get,
        counted(kv_puts)::BIGINT AS kv_put, counted(kv_removes)::BIGINT AS kv_remove, counted(kv_lists)::BIGINT AS kv_list,
        counted(kv_destroys)::BIGINT AS kv_destroy FROM daos GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (obj_open, obj_fetch, obj_update, obj_punch, obj_dkey_punch, obj_akey_punch,
        obj_dkey_list, obj_akey_list, obj_recx_list, array_open, array_read, array_write, array_get_size, array_set_size,
        array_stat, array_punch, array_destroy, kv_open, kv_get, kv_put, kv_remove, kv_list, kv_destroy))
)
SELECT log, interface, operation, count FROM op
