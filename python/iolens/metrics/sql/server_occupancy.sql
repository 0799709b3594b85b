-- title: What is on each storage server, and how fast it was
-- topic: storage
-- layout: table
-- definition: the targets (OSTs) of each server: how many the client knows (osts), how many hold data of this job
--   (used); files, ranks and bytes on them as in ost_occupancy; median, slowest: the median and the largest of its
--   targets' medians. slow: one of its targets stands out (ost_occupancy). A server with more targets than others has
--   less to give to each.
-- unit: targets, files, ranks, bytes, seconds
-- needs: lustre, posix
-- caveats: A file with stripes on several targets of a server counts once for each. No rows if neither the log nor the
--   user names servers.
-- source: HACC-IO study (OST occupancy)
WITH known AS (
    SELECT log, server AS oss, count(*) AS osts FROM target WHERE kind = 'ost' AND server <> '' GROUP BY log, server
)
SELECT o.log, o.oss, coalesce(any_value(k.osts), count(*)) AS osts, count(*) AS used, sum(files)::BIGINT AS files,
    sum(ranks)::BIGINT AS ranks, sum(bytes)::BIGINT AS bytes, median(o.median) AS median, max(o.median) AS slowest,
    bool_or(slow) AS slow
FROM metric.ost_occupancy AS o LEFT JOIN known AS k ON k.log = o.log AND k.oss = o.oss
WHERE o.oss IS NOT NULL
GROUP BY o.log, o.oss
ORDER BY o.log, o.oss
