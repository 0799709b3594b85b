-- title: Bytes written
-- topic: job
-- definition: bytes_written of headline: by the program itself, libraries below it not counted again.
-- unit: bytes
-- needs: any log
-- source: iolens
SELECT log, bytes_written AS value FROM metric.headline ORDER BY log
