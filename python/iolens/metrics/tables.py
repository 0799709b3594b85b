"""Tables and views of a dataset that are made from its other tables."""

from __future__ import annotations

from iolens.metrics.views import accesses

__all__ = ["DERIVED"]

_JOB = """
    SELECT log, path, uid, job_id, nprocs, make_timestamp(epoch_us("start"::TIMESTAMPTZ)) AS "start",
        make_timestamp(epoch_us("end"::TIMESTAMPTZ)) AS "end", nullif(run_time, 0) AS run_time, exe, format, partial
    FROM job_of JOIN path USING (log)
"""

# A name's place in the tree, and the file system it lies on: the longest mount point that is a whole prefix.
_DIRECTORY = """
    SELECT n.log, directory,
        arg_max(m.mount, length(m.mount)) AS mount,
        arg_max(m.file_system, length(m.mount)) AS file_system,
        arg_max(coalesce(told.class, m.class), length(m.mount)) AS class
    FROM (
        SELECT DISTINCT log, regexp_replace(name, '[^/]*$', '') AS directory
        FROM name_of WHERE name LIKE '/%'
    ) AS n LEFT JOIN mount AS m USING (log) LEFT JOIN (
        SELECT log, point, any_value(class) AS class FROM mounted WHERE class <> '' GROUP BY log, point
    ) AS told ON told.log = m.log AND told.point = m.mount
    WHERE m.mount IS NULL OR starts_with(directory, rtrim(m.mount, '/') || '/')
    GROUP BY ALL
"""

_NAME = """
    SELECT n.log, n.id, n.name, d.mount, d.file_system, d.class,
        CASE WHEN n.name LIKE '/%'
            THEN coalesce(nullif(rtrim(regexp_replace(n.name, '[^/]*$', ''), '/'), ''), '/') END AS directory,
        lower(regexp_extract(n.name, '[^/.][^/]*\\.([A-Za-z][A-Za-z0-9]{0,7})$', 1)) AS extension
    FROM name_of AS n LEFT JOIN directory AS d
    ON d.log = n.log AND d.directory = regexp_replace(n.name, '[^/]*$', '')
"""

# One row per log, interface and object: its records of all ranks together. A rank has one record of an object; counting
# distinct ranks would take longer than all the rest. small_writes: below 1 MiB; the fifth class ends with it.
_FILE_OF = """
    SELECT log, interface, id,
        CASE WHEN min(rank) < 0 THEN any_value(job.nprocs) ELSE least(count(*), max(rank) - min(rank) + 1) END AS ranks,
        min(rank) < 0 AS all_ranks,
        min(rank) < 0 OR min(rank) <> max(rank) AS shared,
        sum(opens)::BIGINT AS opens, sum(reads)::BIGINT AS reads, sum(writes)::BIGINT AS writes,
        sum(syncs)::BIGINT AS syncs, sum(meta_ops)::BIGINT AS meta_ops,
        sum(
            size_write[1] + size_write[2] + size_write[3] + size_write[4] + size_write[5]
            - least(size_write[5], CASE 1048576 WHEN access[1] THEN access_count[1] WHEN access[2] THEN access_count[2]
                WHEN access[3] THEN access_count[3] WHEN access[4] THEN access_count[4] ELSE 0 END)
        )::BIGINT AS small_writes,
        coalesce(sum(bytes_read), 0)::BIGINT AS bytes_read, coalesce(sum(bytes_written), 0)::BIGINT AS bytes_written,
        coalesce(sum(read_time), 0) AS read_time, coalesce(sum(write_time), 0) AS write_time,
        coalesce(sum(meta_time), 0) AS meta_time,
        coalesce(sum(read_time), 0) + coalesce(sum(write_time), 0) + coalesce(sum(meta_time), 0) AS total_time,
        max(io_time) AS slowest_time,
        max(max_offset_read) AS max_offset_read, max(max_offset_written) AS max_offset_written,
        min(nullif(open_start, 0)) AS open_start,
        min(nullif(read_start, 0)) AS read_start, min(nullif(write_start, 0)) AS write_start,
        max(nullif(read_end, 0)) AS read_end, max(nullif(write_end, 0)) AS write_end,
        max(nullif(close_end, 0)) AS close_end
    FROM record JOIN job USING (log)
    GROUP BY log, interface, id
"""

_FILE = """
    SELECT f.*, coalesce(n.name, '<unnamed ' || f.id || '>') AS name, n.mount, n.file_system, n.class, n.directory,
        n.extension
    FROM file_of AS f LEFT JOIN name AS n USING (log, id)
"""

# What an import reads: data, if no process that opens it may be Python's (an archiver's input). A job writes some
# itself (a package installer). An import opens byte code before source: a module whose source is read first is data.
# But the first import of a module that has no byte code writes it, for other processes of the job.
_PYTHON_MODULE = r"""
    WITH source AS (
        SELECT DISTINCT log, id, name, regexp_replace(name, '__pycache__/([^/.]*)[.][^/]*[.]pyc$', '\1.py') AS source
        FROM name_of WHERE regexp_matches(name, '\.pyc?$')
    ), read_as_data AS (
        SELECT log, unnest(array_agg(DISTINCT id)) AS id
        FROM source JOIN file_of USING (log, id) LEFT JOIN posix AS p USING (log, id)
        WHERE interface = 'posix' AND file_of.bytes_read > 0 GROUP BY log, source
        HAVING min(open_start) FILTER (name = source) < min(open_start) FILTER (name <> source)
            AND coalesce(max(p.rename_targets) FILTER (name <> source), 0) <= 0
    ), reader AS (
        SELECT log, rank, bool_and(coalesce(exe, '') <> ''
            AND NOT regexp_matches(exe, '(?i)(py|conda|paraview|blender|wsgi)[^/]*$|/[a-z2-7]{8}(\.[^/]*)?$')) AS other
        FROM process GROUP BY log, rank
    ), read_by_others AS (
        SELECT log, id FROM record LEFT JOIN reader USING (log, rank)
        WHERE log IN (SELECT log FROM reader WHERE other) GROUP BY log, id HAVING bool_and(coalesce(other, false))
    )
    SELECT DISTINCT log, id FROM name_of
    WHERE regexp_matches(name, '(\.pyc?$|site-packages/.*\.so$|lib-dynload/.*\.so$|/<other program files>$)')
        AND log NOT IN (SELECT log FROM reader GROUP BY log HAVING bool_and(other))
        AND (log, id) NOT IN (SELECT (log, id) FROM read_as_data)
        AND (log, id) NOT IN (SELECT (log, id) FROM read_by_others)
"""

# Which reads were empty is not recorded: those below 100 bytes are left out.
_IMPORTED = """
    SELECT log, sum(greatest(0, reads) - size_read[1])::BIGINT AS reads, sum(bytes_read)::BIGINT AS bytes_read
    FROM posix WHERE bytes_written <= 0 AND (log, id) IN (SELECT (log, id) FROM python_module) GROUP BY log
"""

# Where files lie on Lustre. A target's number is that of one file system: volume is Lustre's name of it where the log
# has one, else the mount point. Not from `name`, which has more of each file than this needs.
_STRIPE = """
    SELECT DISTINCT l.log, l.id, coalesce(v.name, n.mount) AS volume, unnest(l.ost_id) AS ost,
        array_length(l.ost_id) AS stripes
    FROM lustre AS l LEFT JOIN (
        SELECT n.log, n.id, d.mount FROM name_of AS n
        JOIN directory AS d ON d.log = n.log AND d.directory = regexp_replace(n.name, '[^/]*$', '')
    ) AS n USING (log, id) LEFT JOIN (
        SELECT DISTINCT m.log, m.point, v.name
        FROM mounted AS m JOIN volume AS v ON v.log = m.log AND v.source = m.source
    ) AS v ON v.log = l.log AND v.point = n.mount
"""

# What the program itself did: the calls of a library's own files are not counted a second time below it.
_OWN_LAYER = """
    interface IN data_interfaces()
    AND (interface <> 'posix' OR (log, id) NOT IN (SELECT (log, id) FROM mpiio))
    AND (interface <> 'daos' OR log NOT IN (SELECT log FROM dfs))
"""

# Files that MPI-IO moved more of than POSIX can tell: its records were lost, or the way was another.
_LOST_BELOW = """
    SELECT m.log, m.id FROM file_of AS m
    LEFT JOIN file_of AS p ON p.log = m.log AND p.id = m.id AND p.interface = 'posix'
    WHERE m.interface = 'mpiio' AND m.bytes_read + m.bytes_written > coalesce(p.bytes_read + p.bytes_written, 0)
        AND (coalesce(p.bytes_read + p.bytes_written, 0) = 0
            OR m.log IN (SELECT log FROM module WHERE module = 'posix' AND partial > 0))
"""

# What reached the system: nothing of it is counted a second time above.
_LOWEST_LAYER = """
    interface = 'stdio'
    OR interface = 'posix' AND (log, id) NOT IN (FROM lost_below)
    OR interface = 'mpiio' AND ((log, id) IN (FROM lost_below) OR (log, id) NOT IN (SELECT (log, id) FROM posix))
    OR interface = 'daos' OR interface = 'dfs' AND log NOT IN (SELECT log FROM daos)
"""

# A row of the log's table `sites` with file 0 is of all files that were opened and have none of their own.
_CALL_SITE = """
    WITH own AS (
        SELECT f.log, f.interface, f.id, s.module, s.build_id, coalesce(s.stack, '') AS stack, s."offset", s.ranks
        FROM file_of AS f
        JOIN sites AS s ON s.log = f.log AND s.interface = f.interface AND s.file > 0 AND s.file = f.id % 1099511627776
    ), usual AS (
        SELECT f.log, f.interface, f.id, s.module, s.build_id, coalesce(s.stack, '') AS stack, s."offset",
            NULL::BIGINT AS ranks
        FROM file_of AS f
        JOIN sites AS s ON s.log = f.log AND s.interface = f.interface AND s.file = 0
        WHERE (f.opens > 0 OR f.opens IS NULL OR f.interface IN library_interfaces())
            AND (f.log, f.interface, f.id) NOT IN (SELECT (log, interface, id) FROM own)
    )
    SELECT log, interface, id, place, function, source, line, module, build_id, "offset", stack, note, ranks
    FROM (FROM own UNION ALL FROM usual) JOIN source_line USING (module, build_id, stack, "offset")
"""

# Of the interfaces that a file was opened through the highest: below it is its library's own code.
_FILE_SITE = """
    SELECT * FROM call_site WHERE module <> '' OR stack <> ''
    QUALIFY CASE WHEN interface IN libc_interfaces() THEN 2 WHEN interface IN data_interfaces() THEN 1 ELSE 0 END
        = min(CASE WHEN interface IN libc_interfaces() THEN 2 WHEN interface IN data_interfaces() THEN 1 ELSE 0 END)
            OVER (PARTITION BY log, id)
"""

# What reached the system, by line. A call that takes no clock has no line: sums by line are scaled to the counters of
# the file and the kind of call, so that they add up. Sums of file 0 are of files that had no room for their own:
# what such files lack goes to the lines of these sums, small accesses to lines with small ones, so that files and lines
# have what they have in all. Files without any sum have the line that opened them; a stream's descriptor that of the
# stream.
_LINE = """
    WITH counted AS (
        SELECT * FROM (
            SELECT log, interface, id, 'read' AS kind, coalesce(reads, 0) AS calls, bytes_read AS bytes,
                read_time AS time
            FROM lowest_file UNION ALL
            SELECT log, interface, id, 'write', coalesce(writes, 0), bytes_written, write_time FROM lowest_file
            UNION ALL
            SELECT log, interface, id, 'meta', coalesce(opens, 0) + coalesce(meta_ops, 0), 0, meta_time FROM lowest_file
        ) WHERE calls > 0 OR bytes > 0 OR time > 0
    ), seen AS (
        SELECT log, interface, kind, stack, file, sum(calls)::DOUBLE AS calls, sum(bytes)::DOUBLE AS bytes,
            sum(time) AS time, count(DISTINCT rank) AS ranks
        FROM lines GROUP BY log, interface, kind, stack, file
    ), of_file AS (
        SELECT c.log, c.interface, c.id, c.kind, s.stack, s.calls, s.bytes, s.time, s.ranks
        FROM counted AS c JOIN seen AS s ON s.log = c.log AND s.interface = c.interface AND s.kind = c.kind
            AND s.file = c.id % 1099511627776
    ), lacking AS (
        SELECT c.log, c.interface, c.id, c.kind, any_value(c.calls) - coalesce(sum(f.calls), 0) AS calls,
            greatest(0, any_value(c.bytes) - coalesce(sum(f.bytes), 0)) AS bytes,
            greatest(0, any_value(c.time) - coalesce(sum(f.time), 0)) AS time
        FROM counted AS c LEFT JOIN of_file AS f USING (log, interface, id, kind)
        WHERE (c.log, c.interface, c.kind) IN (SELECT (log, interface, kind) FROM seen WHERE file = 0 AND calls > 0)
        GROUP BY c.log, c.interface, c.id, c.kind
    ), laid_scale AS (
        SELECT log, interface, kind, least(1, l.calls / f.calls) AS of_files, least(1, f.calls / l.calls) AS of_lines
        FROM (
            SELECT log, interface, kind, sum(calls) AS calls FROM lacking WHERE calls > 0 GROUP BY ALL
        ) AS f JOIN (
            SELECT log, interface, kind, sum(calls) AS calls FROM seen WHERE file = 0 AND calls > 0 GROUP BY ALL
        ) AS l USING (log, interface, kind)
    ), laid_files AS (
        SELECT lacking.*, of_files * (sum(calls) OVER upto - calls) AS begun, of_files * sum(calls) OVER upto AS ended
        FROM lacking JOIN laid_scale USING (log, interface, kind) WHERE calls > 0
        WINDOW upto AS (PARTITION BY log, interface, kind ORDER BY bytes / calls, time / calls, id
            ROWS UNBOUNDED PRECEDING)
    ), laid_lines AS (
        SELECT seen.*, of_lines * (sum(calls) OVER upto - calls) AS begun, of_lines * sum(calls) OVER upto AS ended
        FROM seen JOIN laid_scale USING (log, interface, kind) WHERE file = 0 AND calls > 0
        WINDOW upto AS (PARTITION BY log, interface, kind ORDER BY bytes / calls, time / calls, stack
            ROWS UNBOUNDED PRECEDING)
    ), laid AS (
        SELECT f.log, f.interface, f.id, f.kind, l.stack, f.bytes, f.time, l.ranks, f.calls AS all_calls,
            least(f.ended, l.ended) - greatest(f.begun, l.begun) AS calls
        FROM laid_files AS f JOIN laid_lines AS l ON l.log = f.log AND l.interface = f.interface AND l.kind = f.kind
            AND f.begun < l.ended AND l.begun < f.ended
    ), of_line AS (
        FROM of_file UNION ALL
        SELECT log, interface, id, kind, stack, calls, bytes * calls / all_calls, time * calls / all_calls, ranks
        FROM laid
    ), weighed AS (
        SELECT log, interface, id, kind, calls, bytes, time, stack, ranks,
            all_calls = calls AND all_bytes = bytes AS exact,
            CASE WHEN all_calls > 0 THEN seen_calls WHEN all_time > 0 THEN seen_time ELSE 1 END AS by_calls,
            CASE WHEN all_bytes > 0 THEN seen_bytes ELSE by_calls END AS by_bytes,
            CASE WHEN all_time > 0 THEN seen_time ELSE by_calls END AS by_time
        FROM (
            SELECT c.*, s.stack, s.ranks, s.calls AS seen_calls, s.bytes AS seen_bytes, s.time AS seen_time,
                sum(s.calls) OVER own AS all_calls, sum(s.bytes) OVER own AS all_bytes, sum(s.time) OVER own AS all_time
            FROM counted AS c JOIN (
                SELECT log, interface, id, kind, stack, sum(calls) AS calls, sum(bytes) AS bytes, sum(time) AS time,
                    max(ranks) AS ranks
                FROM of_line GROUP BY log, interface, id, kind, stack
            ) AS s USING (log, interface, id, kind)
            WINDOW own AS (PARTITION BY c.log, c.interface, c.id, c.kind)
        )
    ), summed AS (
        SELECT *, round(calls * (sum(by_calls) OVER upto / sum(by_calls) OVER own)) AS calls_until,
            round(bytes * (sum(by_bytes) OVER upto / sum(by_bytes) OVER own)) AS bytes_until,
            time * by_time / sum(by_time) OVER own AS part
        FROM weighed
        WINDOW own AS (PARTITION BY log, interface, id, kind),
            upto AS (PARTITION BY log, interface, id, kind ORDER BY stack ROWS UNBOUNDED PRECEDING)
    ), of_calls AS (
        SELECT log, interface, id, kind, '' AS module, '' AS build_id, stack, 0::BIGINT AS "offset",
            (calls_until - lag(calls_until, 1, 0) OVER own)::BIGINT AS calls,
            (bytes_until - lag(bytes_until, 1, 0) OVER own)::BIGINT AS bytes, part AS time, ranks,
            CASE WHEN exact THEN 'counted' ELSE 'estimated' END AS basis
        FROM summed WINDOW own AS (PARTITION BY log, interface, id, kind ORDER BY stack)
    ), opened AS (
        SELECT * FROM file_site QUALIFY row_number() OVER (
            PARTITION BY log, interface, id ORDER BY ranks DESC NULLS FIRST, place) = 1
    ), of_opens AS (
        SELECT c.*, o.module, o.build_id, o.stack, o."offset", o.interface AS opener
        FROM (
            FROM counted WHERE (log, interface, id, kind) NOT IN (SELECT (log, interface, id, kind) FROM weighed)
        ) AS c LEFT JOIN opened AS o ON o.log = c.log AND o.id = c.id
        QUALIFY row_number() OVER (PARTITION BY c.log, c.interface, c.id, c.kind
            ORDER BY o.interface <> c.interface AND o.interface IN libc_interfaces(), o.interface NULLS LAST) = 1
    )
    SELECT l.log, interface, id, kind, coalesce(place, 'unknown') AS place, function, source, line, module, stack,
        calls, bytes, time, ranks, basis
    FROM (
        SELECT log, interface, id, kind, module, build_id, stack, "offset", calls, bytes, time, ranks, basis
        FROM of_calls UNION ALL
        SELECT log, interface, id, kind, module, build_id, stack, "offset", calls, bytes, time, NULL,
            CASE WHEN opener IS NULL THEN 'unknown' ELSE 'opened' END
        FROM of_opens
    ) AS l LEFT JOIN source_line USING (module, build_id, stack, "offset")
"""

# Records that stand for one file, and not for what had no room for a record of its own.
_SINGLE = "(log, id) NOT IN (SELECT (log, id) FROM name_of WHERE name LIKE '%<other %files>')"

# Names that several files had in turn: each rename makes another file of either name, and so does an open that creates
# a file which is then written as a whole, in one piece. One that is read, too, is opened once more for that each time.
# Opens of processes that write at the same time make one file.
_RENAMED = """
    SELECT log, id, greatest(1 + sum(renames), CASE
            WHEN sum(until - since) <= max(until) - min(since) + 1e-6 THEN sum(made) ELSE max(made) END
        )::BIGINT AS versions, any_value(source) AS source
    FROM (
        SELECT log, id, greatest(rename_sources, 0) + greatest(rename_targets, 0) AS renames,
            nullif(renamed_from, 0) AS source,
            opened(opens, dups, filenos) AS opened, max_byte_written + 1 AS size,
            CASE WHEN writes > 0 THEN write_start_timestamp END AS since,
            CASE WHEN writes > 0 THEN write_end_timestamp END AS until,
            CASE WHEN rank >= 0 AND mode > 0 AND bytes_written > 0 AND bytes_written >= size
                    AND opened >= ceil(bytes_written / size) * CASE WHEN bytes_read > 0 THEN 2 ELSE 1 END
                    AND consec_writes >= writes - opened
                THEN ceil(bytes_written / size)::BIGINT ELSE 0 END AS made
        FROM posix
    ) GROUP BY log, id HAVING versions > 1
"""

# The final name of a file that was written under a temporary one: each open of it made a file that was renamed.
_WRITTEN_AS = """
    SELECT s.log, s.id, min_by(t.name, t.id) AS final,
        final || ', written as ' || CASE WHEN regexp_extract(final, '^.*/') = regexp_extract(any_value(n.name), '^.*/')
            THEN regexp_extract(any_value(n.name), '[^/]*$') ELSE any_value(n.name) END AS shown
    FROM (
        SELECT log, id FROM posix GROUP BY log, id
        HAVING sum(bytes_written) > 0 AND sum(opened(opens, dups, filenos)) <= sum(greatest(rename_sources, 0))
    ) AS s JOIN renamed AS r ON r.log = s.log AND r.source = s.id AND r.id <> s.id
    JOIN name_of AS t ON t.log = r.log AND t.id = r.id JOIN name_of AS n ON n.log = s.log AND n.id = s.id
    GROUP BY s.log, s.id
"""

_SINGLE_OF = f"""
    SELECT s.*, coalesce(versions, 1) AS versions FROM {{}} AS s LEFT JOIN renamed USING (log, id) WHERE {_SINGLE}
"""

# Of a log's time in writing, what writes took that were forced to storage each (O_SYNC, O_DSYNC). It is known for all
# files together.
_FORCED = """
    SELECT log, least(1, o.time / w.write_time) AS share FROM (
        SELECT log, sum(time) AS time FROM operation WHERE interface = 'posix' AND name = 'forced_write' GROUP BY log
    ) AS o JOIN (
        SELECT log, sum(write_time) AS write_time FROM posix GROUP BY log
    ) AS w USING (log) WHERE w.write_time > 0 AND o.time > 0
"""

# What the program did with each file, in few columns: a lake keeps these rows, for sums over all jobs. osts: numbers of
# the storage targets that it lies on. single: not what had no room for a record of its own.
_FILE_SUM = """
    SELECT s.log, s.id, CASE WHEN n.name LIKE '/%' THEN regexp_replace(n.name, '/[^/]*$', '') END AS directory,
        coalesce(d.mount, '') AS mount, coalesce(d.file_system, '') AS file_system, l.osts,
        n.name IS NULL OR n.name NOT LIKE '%<other %files>' AS single,
        s.bytes_read, s.bytes_written, s.io_time, s.metadata_time, s.small_writes
    FROM (
        SELECT log, id, coalesce(sum(bytes_read), 0)::BIGINT AS bytes_read,
            coalesce(sum(bytes_written), 0)::BIGINT AS bytes_written, sum(total_time) AS io_time,
            coalesce(sum(meta_time), 0) AS metadata_time,
            sum(
                size_write[1] + size_write[2] + size_write[3] + size_write[4] + size_write[5]
                - least(size_write[5],
                    CASE 1048576 WHEN access[1] THEN access_count[1] WHEN access[2] THEN access_count[2]
                    WHEN access[3] THEN access_count[3] WHEN access[4] THEN access_count[4] ELSE 0 END)
            )::BIGINT AS small_writes
        FROM own_record GROUP BY log, id
    ) AS s LEFT JOIN name_of AS n USING (log, id)
    LEFT JOIN directory AS d ON d.log = n.log AND d.directory = regexp_replace(n.name, '[^/]*$', '')
    LEFT JOIN (
        SELECT log, id, list_sort(list_distinct(flatten(list(ost_id)))) AS osts FROM lustre GROUP BY log, id
    ) AS l ON l.log = s.log AND l.id = s.id
"""

DERIVED: dict[str, tuple[str, str]] = {
    "job": ("VIEW", _JOB),
    "directory": ("TABLE", _DIRECTORY),
    "name": ("TABLE", _NAME),
    "file_of": ("TABLE", _FILE_OF),
    "file": ("VIEW", _FILE),
    "python_module": ("TABLE", _PYTHON_MODULE),
    "imported": ("VIEW", _IMPORTED),
    "renamed": ("TABLE", _RENAMED),
    "written_as": ("TABLE", _WRITTEN_AS),
    "forced": ("TABLE", _FORCED),
    "stripe": ("TABLE", _STRIPE),
    "dxt_access": ("VIEW", accesses()),
    "own_record": ("VIEW", f"SELECT * FROM record WHERE {_OWN_LAYER}"),
    "own_file": ("VIEW", f"SELECT * FROM file_of WHERE {_OWN_LAYER}"),
    "single_record": ("VIEW", _SINGLE_OF.format("record")),
    "single_file": ("VIEW", _SINGLE_OF.format("file_of")),
    "file_sum": ("TABLE", _FILE_SUM),
    "call_site": ("TABLE", _CALL_SITE),
    "file_site": ("VIEW", _FILE_SITE),
    "line": ("TABLE", _LINE),
    "lost_below": ("TABLE", _LOST_BELOW),
    "lowest_record": ("VIEW", f"SELECT * FROM record WHERE {_LOWEST_LAYER}"),
    "lowest_file": ("VIEW", f"SELECT * FROM file_of WHERE {_LOWEST_LAYER}"),
}
"""Name -> ("TABLE" or "VIEW", query). A table is computed once, a view whenever it is asked."""
