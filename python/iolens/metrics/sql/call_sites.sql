-- title: Where files are opened
-- topic: files
-- layout: table
-- definition: for each call that opened files first: how many, and what was read from and written to them in all, wherever that
--   was done. place = function, source line and library, as far as the program's files are on this machine; example: the file of
--   these with most time.
-- unit: files, bytes, seconds
-- needs: posix, stdio, mpiio
-- caveats: One frame: the function that called open, not who called that. A file that ranks opened in several places is in each of
--   them. What a library opens for its caller is the library's, unless iolens records the library, too.
-- source: table sites of the log
SELECT log, place, function, source, line, module, note, count(*) AS files, sum(bytes_read)::BIGINT AS bytes_read,
    sum(bytes_written)::BIGINT AS bytes_written, sum(time) AS time, arg_max(name, time) AS example
FROM (SELECT DISTINCT log, id, place, function, source, line, module, note FROM file_site) JOIN (
    SELECT log, id, sum(bytes_read) AS bytes_read, sum(bytes_written) AS bytes_written, sum(total_time) AS time
    FROM lowest_file GROUP BY log, id
) USING (log, id) LEFT JOIN name_of USING (log, id)
GROUP BY log, place, function, source, line, module, note
ORDER BY log, time DESC, place
