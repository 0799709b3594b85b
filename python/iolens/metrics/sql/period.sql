-- title: Periodic I/O
-- topic: time
-- layout: table
-- definition: period: the median time from the start of one burst to the start of the next; spread: the median
--   deviation from it, as a fraction of the period, at least half a bin. A row needs four or more bursts with a spread
--   of at most 0.15. source: a phase that the program named and that moved bytes (in the process where it occurs
--   most), or the heat map: bursts are runs of bins above a tenth of the fullest one that hold at least four fifths of
--   the bytes in at most three fifths of the time; bursts less than a fifth of the median distance apart are one.
--   bytes: per burst, on average.
-- unit: seconds, part of 1, bytes
-- needs: heatmap, or a log written by iolens, of a program that names phases
-- caveats: Nothing is finer than a bin of the heat map. Only what is regular in time is found, not in steps.
-- source: iolens
WITH step AS (
    SELECT log, phase AS source, rank, count, "start", bytes_read, bytes_written,
        lead("start") OVER (PARTITION BY log, phase, rank ORDER BY "start") AS next
    FROM steps WHERE bytes_read + bytes_written > 0
), chosen AS (
    SELECT log, source, rank, median((next - "start") / count) AS period, sum(count)::BIGINT AS times,
        (sum(bytes_read) / sum(count))::BIGINT AS bytes_read, (sum(bytes_written) / sum(count))::BIGINT AS bytes_written
    FROM step GROUP BY log, source, rank HAVING count(*) >= 4
    QUALIFY row_number() OVER (PARTITION BY log, source ORDER BY times DESC, rank) = 1
), of_phase AS (
    SELECT log, source, any_value(period) AS period, median(abs((next - "start") / count - period)) / any_value(period) AS spread,
        any_value(times) AS times, any_value(c.bytes_read) AS bytes_read, any_value(c.bytes_written) AS bytes_written
    FROM step AS s JOIN chosen AS c USING (log, source, rank) WHERE next IS NOT NULL GROUP BY log, source
), heat AS (
    SELECT log, bin, min("start") AS "start", max("end") AS "end", sum(bytes_read)::DOUBLE AS bytes_read,
        sum(bytes_written)::DOUBLE AS bytes_written
    FROM metric.heat WHERE list_contains(libc_interfaces(), interface) GROUP BY log, bin
), way AS (
    SELECT log, bin, "start", "end", 'reads' AS source, bytes_read AS bytes FROM heat WHERE bytes_read > 0
    UNION ALL
    SELECT log, bin, "start", "end", 'writes', bytes_written FROM heat WHERE bytes_written > 0
), active AS (
    SELECT *, sum(bytes) OVER (PARTITION BY log, source) AS everything FROM way
    QUALIFY bytes >= 0.1 * max(bytes) OVER (PARTITION BY log, source)
), burst AS (
    SELECT log, source, min("start") AS "start", max("end") AS "end", sum(bytes) AS bytes, any_value(everything) AS everything,
        min("end" - "start") AS width
    FROM (SELECT *, bin - row_number() OVER (PARTITION BY log, source ORDER BY bin) AS island FROM active)
    GROUP BY log, source, island
), apart AS (
    SELECT *, lead("start") OVER (PARTITION BY log, source ORDER BY "start") - "start" AS distance FROM burst
), near AS (
    SELECT *, sum(CASE WHEN before IS NULL OR "start" - before >= 0.2 * typical THEN 1 ELSE 0 END)
        OVER (PARTITION BY log, source ORDER BY "start") AS number
    FROM (SELECT *, lag("end") OVER (PARTITION BY log, source ORDER BY "start") AS before,
        median(distance) OVER (PARTITION BY log, source) AS typical FROM apart)
), whole AS (
    SELECT log, source, number, min("start") AS "start", max("end") AS "end", sum(bytes) AS bytes, any_value(everything) AS everything,
        any_value(width) AS width
    FROM near GROUP BY log, source, number
), distance AS (
    SELECT *, lead("start") OVER (PARTITION BY log, source ORDER BY "start") - "start" AS distance FROM whole
), usual AS (
    SELECT log, source, median(distance) AS period, count(*) AS times, sum(bytes) AS bytes, any_value(everything) AS everything,
        sum("end" - "start") AS busy, max("end") - min("start") AS span, any_value(width) AS width
    FROM distance GROUP BY log, source
), of_heat AS (
    SELECT log, u.source, any_value(period) AS period,
        greatest(median(abs(distance - period)) / any_value(period), any_value(u.width) / 2 / any_value(period)) AS spread,
        any_value(times) AS times, any_value(u.bytes) / any_value(times) AS bytes
    FROM distance AS d JOIN usual AS u USING (log, source)
    WHERE times >= 4 AND u.bytes >= 0.8 * u.everything AND busy <= 0.6 * span GROUP BY log, u.source
)
SELECT log, source, 'phase' AS kind, times, period, spread, bytes_read, bytes_written FROM of_phase WHERE spread <= 0.15 AND period > 0
UNION ALL
SELECT log, source, 'heat map', times, period, spread, CASE WHEN source = 'reads' THEN bytes::BIGINT ELSE 0 END,
    CASE WHEN source = 'writes' THEN bytes::BIGINT ELSE 0 END
FROM of_heat WHERE spread <= 0.15 AND period > 0
ORDER BY log, kind, source
