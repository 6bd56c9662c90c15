-- A journal in shared memory (WAL), an index, and an aggregate over a join.
PRAGMA journal_mode = wal;
CREATE TABLE numbers (value INTEGER, half INTEGER);
WITH RECURSIVE count(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < 2000)
INSERT INTO numbers SELECT n, n / 2 FROM count;
CREATE INDEX by_half ON numbers (half);
SELECT 'joined', count(*) FROM numbers a JOIN numbers b ON a.value = b.half;
PRAGMA integrity_check;
