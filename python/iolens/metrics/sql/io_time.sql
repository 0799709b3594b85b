-- title: Seconds in I/O
-- topic: time
-- definition: as in headline: wall-clock of the process that was longest in I/O calls.
-- unit: seconds
-- direction: lower
-- needs: any log
-- source: iolens
SELECT log, io_time AS value FROM metric.headline ORDER BY log
