-- title: What is an estimate
-- topic: job
-- layout: table
-- definition: bytes of requests in io_uring rings that the program drives without liburing. Their number is known; the
--   last ones, as many as a ring has places, stand for all. The POSIX records of their files are estimates, too. No
--   row: no estimates.
-- unit: bytes
-- needs: process
-- caveats: Older logs do not separate this: no row. A request's result is taken to be what it asked for.
-- source: iolens
SELECT log, interface AS way, sum(estimated)::BIGINT AS bytes, sum(estimated) / nullif(sum(bytes), 0) AS share
FROM async GROUP BY log, interface HAVING sum(estimated) > 0
ORDER BY log, way
