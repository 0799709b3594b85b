-- title: Bytes and files by the first component of the path
-- topic: files
-- layout: table
-- definition: category = first component of the path; "/" for files directly in it; standard streams by name;
--   "anonymized" for names that are numbers. POSIX and STDIO; each file counts once in files_read and once in
--   files_written.
-- unit: bytes, files
-- needs: posix or stdio
-- source: PyDarshan, data access by category
SELECT log,
    CASE WHEN coalesce(name, '') = '' THEN '<unnamed>' WHEN regexp_matches(name, '^[0-9]+$') THEN 'anonymized'
        WHEN name NOT LIKE '/%' THEN name
        WHEN regexp_matches(name, '^/+[^/]*$') THEN '/'
        ELSE '/' || regexp_extract(name, '^/+([^/]+)', 1) END AS category,
    sum(bytes_read)::BIGINT AS bytes_read, sum(bytes_written)::BIGINT AS bytes_written,
    count(DISTINCT f.id) FILTER (bytes_read > 0) AS files_read, count(DISTINCT f.id) FILTER (bytes_written > 0) AS files_written
FROM file_of AS f LEFT JOIN name USING (log, id)
WHERE interface IN libc_interfaces()
GROUP BY log, category
ORDER BY log, sum(f.bytes_read + f.bytes_written) DESC, category
