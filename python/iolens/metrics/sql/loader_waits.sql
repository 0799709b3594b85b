-- title: Waits of training loops for data
-- topic: time
-- layout: table
-- definition: of each process that loops over a PyTorch DataLoader or iolens.steps. batches: how many it got. loop:
--   seconds from its first wait to its last; wait: of these, waiting; share: wait / loop. starting (iter() of the
--   loader), first_batch, next_batch and ending are its parts by what was waited for. The parts by cause add up to it,
--   too: start_time (starting workers and their imports, up to the first one's first batch), end_time, hand_time (the
--   loop's own process takes a batch over), read_time, hdf5_time, library_time, processor_time and other_time: what the
--   workers did, or the loop itself where it has none, as their batches take on average. read_time: in calls on files;
--   hdf5_time: in HDF5 itself (decompression, conversion, chunks); library_time: in calls of Zarr or PyArrow's Parquet
--   reader (library: the one with most), without their calls on files; processor_time: decoding and the like, without
--   these; other_time: sockets, locks, sleeps. others_time: of loops with about as many batches at the same time (a
--   process for each accelerator), seconds that this one's steps, without waits and checkpoints, take longer than those
--   of the process where they are shortest: waits_for, for which it waits in its steps; null where that is less than
--   $late. workers: how many processes that made batches lived at the same time, at most. batch_time: seconds that a
--   batch takes in a worker; step_time: that the loop works on one. better: the number of workers that takes most of
--   the wait away, null if no other one does; better_low, better_high: how long the loop would have waited then. mount,
--   file_system, place: where the workers read longest.
-- unit: seconds, part of 1
-- direction: lower
-- needs: phases, process
-- caveats: processor_time and other_time do not tell threads of one process apart. Workers without `loader: fetch`
--   (processes that the loop's process started, if that is mostly asleep in its waits) count with all they did. In MPI
--   jobs all workers are one, and there is no estimate. hdf5_time of a loop without workers is that of its process's
--   reads, also outside of the waits. others_time supposes that processes compute equally fast, and that one of them is
--   late in most steps: where they are late in turn, it is less than the truth. better is an estimate: low if reading
--   gets faster with each worker, high if it does not; no more processors than the job may use. Where HDF5 itself waits
--   for a processor, processor_time is too small by this. library_time is that of arrays and files read in one piece:
--   ParquetFile.iter_batches, pyarrow.dataset and other readers count as processor_time and other_time.
-- source: iolens
-- threshold most = 64: workers that are considered
-- threshold blocked = 50 %: of a loop's wait in its own work, from which it needs no workers that nothing marks
-- threshold idle = 1 %: of a process's life that it works, below which it is no worker
-- threshold worth = 2 %: of the loop, by which more workers must be better than fewer
-- threshold alike = 90 %: of the batches of the process with most, at least: else loops are not of one training
-- threshold late = 5 %: of a loop, from which it waits for another process
WITH phase AS (
    SELECT *, substr('/' || phase, strpos('/' || phase, '/loader: ') + 9) AS rest, split_part(rest, '/', 1) AS kind, NOT contains(rest, '/') AS outermost,
        split_part(rest, '/loader: in ', 2) AS within, within <> '' AND NOT contains(within, '/') AS library
    FROM phases WHERE contains('/' || phase, '/loader: ')
), kinds AS (
    SELECT log, rank, kind, coalesce(sum(count) FILTER (outermost), 0) AS n, coalesce(sum(time) FILTER (outermost), 0) AS time,
        min("first") FILTER (outermost AND count > 0) AS began, max("last") FILTER (outermost AND count > 0) AS ended,
        sum(read_time + write_time + meta_time) AS io, sum(greatest(0, processor_time)) FILTER (outermost) AS processor,
        greatest(0, coalesce(sum(time) FILTER (library) - sum(read_time + write_time + meta_time) FILTER (within <> ''), 0)) AS inside,
        coalesce(sum(greatest(0, processor_time)) FILTER (library), 0) AS inside_processor, arg_max(within, time) FILTER (library) AS library
    FROM phase WHERE kind IN ('start', 'first batch', 'next batch', 'end', 'fetch', 'checkpoint') GROUP BY log, rank, kind HAVING n > 0
), image AS (
    SELECT log, rank, any_value(host) AS host, any_value(pid) AS pid, any_value(parent) AS parent, min("start") AS began, max("end") AS ended, sum(io_time) AS io,
        sum(greatest(0, user_time) + greatest(0, system_time)) AS processor
    FROM process WHERE rank >= 0 GROUP BY log, rank
), consumer AS (
    SELECT log, rank, any_value(host) AS host, any_value(pid) AS pid, sum(n) FILTER (kind IN ('first batch', 'next batch')) AS batches,
        coalesce(sum(n) FILTER (kind = 'first batch'), 0) AS epochs,
        min(k.began) FILTER (kind <> 'checkpoint') AS began, max(k.ended) FILTER (kind <> 'checkpoint') AS ended, max(k.ended) AS last,
        sum(time) FILTER (kind <> 'checkpoint') AS wait, coalesce(sum(time) FILTER (kind = 'checkpoint'), 0) AS checkpoints,
        coalesce(sum(time) FILTER (kind = 'start'), 0) AS starting, coalesce(sum(time) FILTER (kind = 'first batch'), 0) AS first_batch,
        coalesce(sum(time) FILTER (kind = 'next batch'), 0) AS next_batch, coalesce(sum(time) FILTER (kind = 'end'), 0) AS ending,
        coalesce(sum(k.io) FILTER (kind IN ('first batch', 'next batch')), 0) AS own_io,
        coalesce(sum(k.processor) FILTER (kind IN ('first batch', 'next batch')), 0) AS own_processor,
        coalesce(sum(k.inside) FILTER (kind IN ('first batch', 'next batch')), 0) AS own_inside,
        coalesce(sum(k.inside_processor) FILTER (kind IN ('first batch', 'next batch')), 0) AS own_inside_processor,
        arg_max(k.library, k.inside) FILTER (kind IN ('first batch', 'next batch') AND k.library IS NOT NULL) AS own_library,
        any_value(i.processor) AS all_processor, any_value(i.ended - i.began) AS life
    FROM kinds AS k JOIN image AS i USING (log, rank) WHERE kind <> 'fetch' GROUP BY log, rank HAVING batches > 0
), child AS (
    SELECT c.log, c.rank, i.rank AS worker, i.began, i.ended, i.io, i.processor, c.began AS loop_began, c.ended AS loop_ended,
        own_io + own_processor < $blocked * (first_batch + next_batch) AS asleep
    FROM consumer AS c JOIN image AS i ON i.log = c.log AND i.host = c.host AND i.rank <> c.rank AND i.began < c.ended AND i.ended > c.began
    WHERE i.parent = c.pid OR (i.log, i.host, i.parent, c.pid) IN (SELECT (log, host, pid, parent) FROM image)
), marked AS (
    SELECT c.log, c.rank, c.worker, k.n, k.time, k.io, k.processor, k.began, c.began AS alive, c.ended AS dead, TRUE AS marked, k.inside, k.inside_processor, k.library
    FROM child AS c JOIN kinds AS k ON k.log = c.log AND k.rank = c.worker AND k.kind = 'fetch'
), worker AS (
    FROM marked
    UNION ALL
    SELECT log, rank, worker, 0, least(ended, loop_ended) - greatest(began, loop_began) AS time, io, processor, greatest(began, loop_began), began, ended, FALSE, 0, 0, NULL
    FROM child WHERE (log, rank) NOT IN (SELECT (log, rank) FROM marked) AND asleep AND io + processor > $idle * (ended - began)
    UNION ALL
    SELECT c.log, c.rank, k.rank, k.n, k.time, k.io, k.processor, k.began, k.began, k.ended, FALSE, k.inside, k.inside_processor, k.library
    FROM consumer AS c JOIN kinds AS k ON k.log = c.log AND k.rank < 0 AND k.kind = 'fetch' WHERE (c.log, c.rank) NOT IN (SELECT (log, rank) FROM marked)
), first_wait AS (
    SELECT s.log, s.rank, s."start" AS began, s."end" AS ended, min(w.began) - s."start" AS idle
    FROM steps AS s LEFT JOIN worker AS w ON w.log = s.log AND w.rank = s.rank AND w.marked AND w.began BETWEEN s."start" AND s."end"
    WHERE s.count = 1 AND ends_with('/' || s.phase, '/loader: first batch') GROUP BY s.log, s.rank, s."start", s."end"
), idle AS (
    SELECT log, rank, sum(coalesce(idle, 0)) / nullif(sum(ended - began), 0) AS part FROM first_wait GROUP BY log, rank
), made AS (
    SELECT log, rank, sum(n) AS n, sum(time) AS time, sum(least(io, time)) AS io, sum(least(inside, time - least(io, time))) AS inside,
        sum(least(greatest(0, processor - inside_processor), greatest(0, time - io - inside))) AS processor,
        arg_max(library, inside) FILTER (library IS NOT NULL) AS library, bool_or(marked) AS marked FROM worker WHERE time > 0 GROUP BY log, rank
), decoded AS (
    SELECT log, rank, greatest(0, sum(seconds)) AS seconds FROM (
        SELECT log, rank, greatest(read_time, 0) + greatest(meta_time, 0) AS seconds FROM h5d WHERE file_rec_id <> 0
        UNION ALL SELECT log, rank, greatest(meta_time, 0) FROM h5f WHERE (log, id) IN (SELECT (log, file_rec_id) FROM h5d)
        UNION ALL SELECT log, rank, -greatest(read_time, 0) - greatest(meta_time, 0) FROM posix WHERE (log, id) IN (SELECT (log, file_rec_id) FROM h5d)
    ) GROUP BY log, rank
), in_hdf5 AS (
    SELECT r.log, r.rank, sum(seconds) AS seconds FROM (
        SELECT DISTINCT log, rank, worker AS maker FROM worker
        UNION ALL SELECT log, rank, rank FROM consumer WHERE (log, rank) NOT IN (SELECT (log, rank) FROM worker)
    ) AS r JOIN decoded AS d ON d.log = r.log AND d.rank = r.maker GROUP BY r.log, r.rank
), together AS (
    SELECT log, rank, max(n) AS workers FROM (
        SELECT w.log, w.rank, w.worker, count(*) AS n FROM worker AS w JOIN worker AS o ON o.log = w.log AND o.rank = w.rank AND o.alive <= w.alive AND o.dead > w.alive
        GROUP BY w.log, w.rank, w.worker
    ) GROUP BY log, rank
), known AS (
    SELECT c.*, c.ended - c.began AS loop, coalesce(m.marked, FALSE) AS marked,
        CASE WHEN m.time > 0 THEN t.workers ELSE 0 END AS workers,
        c.first_batch * coalesce(i.part, 0) AS first_start,
        CASE WHEN m.time > 0 THEN m.time ELSE c.first_batch + c.next_batch END AS made_time,
        CASE WHEN m.time > 0 THEN m.io ELSE least(c.own_io, c.first_batch + c.next_batch) END AS made_io,
        CASE WHEN m.time > 0 THEN m.processor ELSE least(greatest(0, c.own_processor - c.own_inside_processor), greatest(0, c.first_batch + c.next_batch - c.own_io - c.own_inside)) END AS made_processor,
        CASE WHEN m.time > 0 THEN m.inside ELSE least(c.own_inside, greatest(0, c.first_batch + c.next_batch - c.own_io)) END AS made_inside,
        CASE WHEN m.time > 0 THEN m.library ELSE c.own_library END AS library,
        CASE WHEN m.time > 0 THEN least(c.own_processor, (c.first_batch + c.next_batch - first_start)) ELSE 0 END AS hand_time,
        CASE WHEN m.n > 0 THEN m.time / m.n WHEN m.time > 0 THEN m.time / c.batches ELSE (c.first_batch + c.next_batch) / c.batches END AS batch_time
    FROM consumer AS c LEFT JOIN made AS m USING (log, rank) LEFT JOIN together AS t USING (log, rank) LEFT JOIN idle AS i USING (log, rank)
), shared AS (
    SELECT *, starting + first_start AS start_time, first_batch + next_batch - first_start - hand_time AS rest_of_wait,
        coalesce(made_io / nullif(made_time, 0), 0) AS io_part, coalesce(made_processor / nullif(made_time, 0), 0) AS processor_part,
        coalesce(made_inside / nullif(made_time, 0), 0) AS library_part,
        coalesce(least(coalesce(h.seconds, 0), made_time - made_io - made_inside) / nullif(made_time, 0), 0) AS hdf5_part,
        greatest(0, loop - wait) / batches AS step_time, hand_time / batches AS hand,
        CASE WHEN cpus > 0 THEN greatest(1, cpus - least(1, coalesce(all_processor / nullif(life, 0), 0))) END AS free
    FROM known LEFT JOIN (SELECT log, host, max(number) AS cpus FROM platform WHERE name = 'cpus_allowed' GROUP BY log, host) USING (log, host)
    LEFT JOIN in_hdf5 AS h USING (log, rank)
), tried AS (
    SELECT s.log, s.rank, n AS tried, CASE WHEN workers = 0 THEN epochs * batch_time ELSE starting + first_batch + ending END AS fixed,
        batch_time * (processor_part + library_part) / least(n, coalesce(free, n)) + batch_time * (1 - processor_part - library_part - io_part) / n AS scaled,
        fixed + (batches - epochs) * greatest(hand, scaled + batch_time * io_part / n - step_time) AS low,
        fixed + (batches - epochs) * greatest(hand, scaled + batch_time * io_part / greatest(1, workers) - step_time) AS high
    FROM shared AS s, (SELECT unnest(generate_series(1, $most::BIGINT)) AS n) WHERE n > workers AND (marked OR workers = 0)
), better AS (
    SELECT t.log, t.rank, min(tried) AS better FROM tried AS t JOIN (SELECT log, rank, min(low) AS least FROM tried GROUP BY log, rank) USING (log, rank)
    JOIN shared AS s USING (log, rank) WHERE low <= least + $worth * loop AND low <= wait - $worth * loop GROUP BY t.log, t.rank
), work AS (
    SELECT log, rank, greatest(0, last - began - wait - checkpoints) AS work FROM shared
), slowest AS (
    SELECT log, arg_min(rank, work) AS slowest, min(work) AS least FROM work JOIN shared USING (log, rank)
    GROUP BY log HAVING count(*) > 1 AND min(batches) >= $alike * max(batches) AND max(began) < min(ended)
), reader AS (
    SELECT log, rank, worker AS reads FROM worker UNION ALL SELECT log, rank, rank FROM shared WHERE workers = 0
), reading AS (
    SELECT r.log, r.rank, n.mount, n.file_system, s.place, sum(o.total_time) AS seconds
    FROM reader AS r JOIN lowest_record AS o ON o.log = r.log AND (o.rank = r.reads OR o.rank < 0) JOIN name AS n ON n.log = o.log AND n.id = o.id
    LEFT JOIN (SELECT log, id, min(place) AS place FROM file_site GROUP BY log, id) AS s ON s.log = o.log AND s.id = o.id
    WHERE (o.log, o.id) NOT IN (SELECT (log, id) FROM python_module) GROUP BY ALL
), where_read AS (
    SELECT log, rank, arg_max(mount, seconds) AS mount, arg_max(file_system, seconds) AS file_system, arg_max(place, seconds) AS place FROM reading GROUP BY log, rank
)
SELECT s.log, s.rank, batches::BIGINT AS batches, loop, wait, wait / nullif(loop, 0) AS share, starting, first_batch, next_batch, ending,
    start_time, ending AS end_time, hand_time, rest_of_wait * io_part AS read_time,
    rest_of_wait * hdf5_part AS hdf5_time, rest_of_wait * library_part AS library_time, s.library, rest_of_wait * greatest(0, processor_part - hdf5_part) AS processor_time,
    rest_of_wait * greatest(0, 1 - io_part - library_part - greatest(processor_part, hdf5_part)) AS other_time,
    coalesce(k.work - l.least, 0) AS others_time, CASE WHEN others_time >= $late * loop THEN l.slowest END AS waits_for,
    workers::BIGINT AS workers, batch_time, step_time, better::BIGINT AS better, low AS better_low, high AS better_high, mount, file_system, place
FROM shared AS s LEFT JOIN better AS b USING (log, rank) LEFT JOIN tried AS t ON t.log = s.log AND t.rank = s.rank AND t.tried = b.better
LEFT JOIN where_read AS w ON w.log = s.log AND w.rank = s.rank
LEFT JOIN work AS k ON k.log = s.log AND k.rank = s.rank LEFT JOIN slowest AS l ON l.log = s.log
ORDER BY s.log, s.rank
