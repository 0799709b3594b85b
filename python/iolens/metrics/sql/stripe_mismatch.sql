-- title: Accesses that do not match the stripes of their file
-- topic: storage
-- layout: table
-- definition: for each file with a layout record: the most common POSIX access size, and whether it is a multiple or a
--   divisor of the stripe size; unaligned = accesses that did not start at a multiple of the file's alignment.
-- unit: bytes, accesses
-- needs: lustre, posix
-- caveats: Of a layout with several components, only the first counts. A record names only its four most common sizes.
-- source: NERSC study of 2017
WITH layout AS (
    SELECT log, id, any_value(component_stripe_size[1]) AS stripe_size, max(array_length(ost_id)) AS stripes
    FROM lustre GROUP BY log, id
), pair AS (
    SELECT r.log, r.id, unnest(access) AS size, unnest(access_count) AS count
    FROM record AS r SEMI JOIN layout USING (log, id) WHERE interface = 'posix'
), common AS (
    SELECT log, id, arg_max(size, (count, size)) AS size, max(count)::BIGINT AS count
    FROM (SELECT log, id, size, sum(count) AS count FROM pair WHERE count > 0 GROUP BY ALL) GROUP BY log, id
), unaligned AS (
    SELECT log, id, sum(file_not_aligned)::BIGINT AS unaligned, sum(coalesce(reads, 0) + coalesce(writes, 0))::BIGINT AS accesses
    FROM posix SEMI JOIN layout USING (log, id) GROUP BY log, id
)
SELECT log, coalesce(name, '<unnamed ' || id || '>') AS name, stripe_size, stripes, size AS access_size, count AS access_count,
    size % stripe_size = 0 OR stripe_size % size = 0 AS fits, accesses, unaligned
FROM common JOIN layout USING (log, id) JOIN unaligned USING (log, id) LEFT JOIN name_of USING (log, id)
WHERE size > 0 AND stripe_size > 0
ORDER BY log, fits, count DESC, name, id
