-- title: How unevenly ranks share a file
-- topic: ranks and layers
-- layout: table
-- definition: for each file in shared_files: time_imbalance = (slowest rank's time - fastest rank's time) / slowest
--   rank's time; bytes_imbalance likewise; time_lost = slowest rank's time - mean time per rank: the cost if all ranks
--   wait for the slowest.
-- unit: part of 1, seconds
-- direction: lower
-- needs: as shared_files
-- caveats: In a record shared by all ranks, a rank that does not use the file counts as zero.
-- source: Drishti (P18, P19); iolens
SELECT s.log, s.name, s.interface, s.ranks,
    (s.slowest_time - s.fastest_time) / nullif(s.slowest_time, 0) AS time_imbalance,
    abs(s.slowest_bytes - s.fastest_bytes) / nullif(greatest(s.slowest_bytes, s.fastest_bytes), 0) AS bytes_imbalance,
    f.total_time / nullif(s.ranks, 0) AS mean_time, s.slowest_rank, s.slowest_time,
    greatest(0, s.slowest_time - f.total_time / nullif(s.ranks, 0)) AS time_lost
FROM metric.shared_files AS s JOIN file_of AS f ON f.log = s.log AND f.interface = s.interface AND f.id = s.id
ORDER BY s.log, time_lost DESC, s.name, s.interface, f.id
