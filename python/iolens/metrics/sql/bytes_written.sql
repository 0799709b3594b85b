-- title: Bytes written
-- topic: job
-- definition: as in headline: by the program itself, without counting libraries below it again.
-- unit: bytes
-- needs: any log
-- source: iolens
SELECT log, bytes_written AS value FROM metric.headline ORDER BY log
