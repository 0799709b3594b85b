-- title: Bytes read
-- topic: job
-- definition: bytes_read of headline: by the program itself, libraries below it not counted again.
-- unit: bytes
-- needs: any log
-- source: iolens
SELECT log, bytes_read AS value FROM metric.headline ORDER BY log
