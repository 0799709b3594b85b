-- title: What is an estimate
-- topic: job
-- layout: table
-- definition: bytes of requests of io_uring's rings that the program drives itself, without liburing: their number is known, and
--   the last ones, as many as a ring has places; these stand for all. What POSIX records of their files say of them is an
--   estimate, too. No row: nothing is.
-- unit: bytes
-- needs: process
-- caveats: Older logs, which do not separate this, have no row. A request's result is taken to be what it asked for.
-- source: iolens
SELECT log, interface AS way, sum(estimated)::BIGINT AS bytes, sum(estimated) / nullif(sum(bytes), 0) AS share
FROM async GROUP BY log, interface HAVING sum(estimated) > 0
ORDER BY log, way
