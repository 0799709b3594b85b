-- title: How often each kind of operation was called
-- topic: accesses
-- layout: table
-- definition: sums of the counters of all records of an interface; sync = fsync + fdatasync for POSIX.
-- unit: operations
-- needs: any interface
-- caveats: null where the log's version has no such counter.
-- source: PyDarshan, darshan-job-summary
WITH op AS (
    FROM (SELECT log, 'posix' AS interface, sum(reads)::BIGINT AS read, sum(writes)::BIGINT AS write,
        sum(opens)::BIGINT AS open, sum(stats)::BIGINT AS stat, sum(seeks)::BIGINT AS seek, sum(mmaps)::BIGINT AS mmap,
        sum(coalesce(fsyncs, 0) + coalesce(fdsyncs, 0))::BIGINT AS sync FROM posix GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (read, write, open, stat, seek, mmap, sync))
    UNION ALL
    FROM (SELECT log, 'mpiio' AS interface, sum(indep_reads)::BIGINT AS indep_read, sum(indep_writes)::BIGINT AS indep_write,
        sum(indep_opens)::BIGINT AS indep_open, sum(coll_reads)::BIGINT AS coll_read, sum(coll_writes)::BIGINT AS coll_write,
        sum(coll_opens)::BIGINT AS coll_open, sum(split_reads)::BIGINT AS split_read, sum(split_writes)::BIGINT AS split_write,
        sum(nb_reads)::BIGINT AS nb_read, sum(nb_writes)::BIGINT AS nb_write, sum(syncs)::BIGINT AS sync FROM mpiio GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (indep_read, indep_write, indep_open, coll_read, coll_write, coll_open,
        split_read, split_write, nb_read, nb_write, sync))
    UNION ALL
    FROM (SELECT log, 'stdio' AS interface, sum(reads)::BIGINT AS read, sum(writes)::BIGINT AS write,
        sum(opens)::BIGINT AS open, sum(seeks)::BIGINT AS seek, sum(flushes)::BIGINT AS flush FROM stdio GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (read, write, open, seek, flush))
    UNION ALL
    FROM (SELECT log, 'h5f' AS interface, sum(opens)::BIGINT AS open, sum(flushes)::BIGINT AS flush FROM h5f GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (open, flush))
    UNION ALL
    FROM (SELECT log, 'h5d' AS interface, sum(reads)::BIGINT AS read, sum(writes)::BIGINT AS write,
        sum(opens)::BIGINT AS open, sum(flushes)::BIGINT AS flush FROM h5d GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (read, write, open, flush))
    UNION ALL
    FROM (SELECT log, 'pnetcdf_file' AS interface, sum(coalesce(opens, 0) + coalesce(creates, 0))::BIGINT AS open,
        sum(syncs)::BIGINT AS sync, sum(indep_waits)::BIGINT AS indep_wait, sum(coll_waits)::BIGINT AS coll_wait
        FROM pnetcdf_file GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (open, sync, indep_wait, coll_wait))
    UNION ALL
    FROM (SELECT log, 'pnetcdf_var' AS interface, sum(indep_reads)::BIGINT AS indep_read, sum(indep_writes)::BIGINT AS indep_write,
        sum(coll_reads)::BIGINT AS coll_read, sum(coll_writes)::BIGINT AS coll_write, sum(nb_reads)::BIGINT AS nb_read,
        sum(nb_writes)::BIGINT AS nb_write, sum(opens)::BIGINT AS open FROM pnetcdf_var GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (indep_read, indep_write, coll_read, coll_write, nb_read, nb_write, open))
    UNION ALL
    FROM (SELECT log, 'dfs' AS interface, sum(reads)::BIGINT AS read, sum(readxs)::BIGINT AS readx, sum(writes)::BIGINT AS write,
        sum(writexs)::BIGINT AS writex, sum(nb_reads)::BIGINT AS nb_read, sum(nb_writes)::BIGINT AS nb_write,
        sum(opens)::BIGINT AS open, sum(global_opens)::BIGINT AS global_open, sum(lookups)::BIGINT AS lookup,
        sum(get_sizes)::BIGINT AS get_size, sum(punches)::BIGINT AS punch, sum(removes)::BIGINT AS remove, sum(stats)::BIGINT AS stat
        FROM dfs GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (read, readx, write, writex, nb_read, nb_write, open, global_open, lookup,
        get_size, punch, remove, stat))
    UNION ALL
    FROM (SELECT log, 'daos' AS interface, sum(obj_opens)::BIGINT AS obj_open, sum(obj_fetches)::BIGINT AS obj_fetch,
        sum(obj_updates)::BIGINT AS obj_update, sum(obj_punches)::BIGINT AS obj_punch,
        sum(obj_dkey_punches)::BIGINT AS obj_dkey_punch, sum(obj_akey_punches)::BIGINT AS obj_akey_punch,
        sum(obj_dkey_lists)::BIGINT AS obj_dkey_list, sum(obj_akey_lists)::BIGINT AS obj_akey_list,
        sum(obj_recx_lists)::BIGINT AS obj_recx_list, sum(array_opens)::BIGINT AS array_open,
        sum(array_reads)::BIGINT AS array_read, sum(array_writes)::BIGINT AS array_write,
        sum(array_get_sizes)::BIGINT AS array_get_size, sum(array_set_sizes)::BIGINT AS array_set_size,
        sum(array_stats)::BIGINT AS array_stat, sum(array_punches)::BIGINT AS array_punch,
        sum(array_destroys)::BIGINT AS array_destroy, sum(kv_opens)::BIGINT AS kv_open, sum(kv_gets)::BIGINT AS kv_get,
        sum(kv_puts)::BIGINT AS kv_put, sum(kv_removes)::BIGINT AS kv_remove, sum(kv_lists)::BIGINT AS kv_list,
        sum(kv_destroys)::BIGINT AS kv_destroy FROM daos GROUP BY log)
    UNPIVOT INCLUDE NULLS (count FOR operation IN (obj_open, obj_fetch, obj_update, obj_punch, obj_dkey_punch, obj_akey_punch,
        obj_dkey_list, obj_akey_list, obj_recx_list, array_open, array_read, array_write, array_get_size, array_set_size,
        array_stat, array_punch, array_destroy, kv_open, kv_get, kv_put, kv_remove, kv_list, kv_destroy))
)
SELECT log, interface, operation, count FROM op
