-- title: Files used
-- topic: files
-- definition: files that the program called itself, by any interface: those of file_sum.
-- unit: files
-- needs: posix, mpiio or stdio
-- caveats: Files without a record of their own ("<other files>", "<other program files>") are not counted.
-- source: iolens
SELECT job.log, count(s.id) AS value FROM job LEFT JOIN file_sum AS s ON s.log = job.log AND s.single GROUP BY job.log ORDER BY job.log
