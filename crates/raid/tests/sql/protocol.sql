-- Prepared statements, parameters and their types.
CREATE TABLE t (id int PRIMARY KEY, a bigint, b text, c numeric, d timestamptz, e boolean, f uuid, g bytea, h varchar(10), i real, j date, k interval, l smallint);
--! describe
SELECT * FROM t WHERE id = $1;
--! describe
INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13);
--! with 1|2|three|4.5|2024-01-01 00:00:00+00|t|a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11|\x01|h|1.5|2024-01-01|1 day|7
INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13) RETURNING *;
--! with 1
SELECT * FROM t WHERE id = $1;
--! describe
UPDATE t SET a = a + $1 WHERE id = $2 RETURNING a;
--! with 5|1
UPDATE t SET a = a + $1 WHERE id = $2 RETURNING a;
--! describe
DELETE FROM t WHERE b = $1;
--! describe
SELECT $1::int + $2, $3 || 'x', $4::timestamptz;
--! describe
SELECT * FROM t WHERE id IN ($1, $2) AND b LIKE $3 LIMIT $4 OFFSET $5;
--! with 1|2|t%|10|0
SELECT id, b FROM t WHERE id IN ($1, $2) AND b LIKE $3 LIMIT $4 OFFSET $5;
--! describe
SELECT count(*) FROM t WHERE a > $1 GROUP BY b HAVING sum(c) > $2;
--! describe
SELECT $1;
--! with x
SELECT $1;
--! describe
SELECT $1 + 1;
--! describe
SELECT $1 + $2;
--! describe
SELECT coalesce($1, 5), CASE WHEN $2 THEN $3 ELSE 1.5 END;
--! describe
INSERT INTO t (id, b) SELECT $1, $2;
--! describe
INSERT INTO t (id, b) SELECT x, $1 FROM generate_series(1, $2) x;
--! describe
INSERT INTO t (id, b) VALUES ($1, $2) ON CONFLICT (id) DO UPDATE SET b = $3, a = EXCLUDED.a + $4;
--! describe
SELECT t.b, u.c FROM t JOIN t u ON t.id = u.id WHERE t.d < $1 AND u.f = $2;
--! describe
SELECT id FROM t WHERE id = ANY($1);
--! with {1,2}
SELECT id FROM t WHERE id = ANY($1);
--! with {1,2}
SELECT id FROM t WHERE id = ANY($1::int[]);
--! with {three,x}
SELECT id FROM t WHERE b = ANY($1);
--! describe
BEGIN;
--! describe
CREATE TABLE u (x int);
--! describe
SHOW server_version;
--! describe
EXPLAIN SELECT 1;
--! describe
SELECT nope FROM t;
--! with abc
SELECT * FROM t WHERE id = $1;
--! with 1|2
SELECT * FROM t WHERE id = $1;
--! with NULL
SELECT * FROM t WHERE id = $1;
--! with NULL
SELECT count(*) FROM t WHERE $1::int IS NULL;
--! with 1 day|2
SELECT now() - $1::interval < now(), $2::int * 2;
PREPARE p AS SELECT id, b FROM t WHERE id = $1;
EXECUTE p (1);
EXECUTE p ('1');
EXECUTE p;
EXECUTE p (1, 2);
EXECUTE p ('abc');
PREPARE p AS SELECT 1;
PREPARE q (int, text) AS INSERT INTO t (id, b) VALUES ($1, $2);
EXECUTE q (7, 'seven');
EXECUTE q (7, 'seven');
--! unsupported
EXECUTE q (3 + 5, upper('eight'));
SELECT id, b FROM t ORDER BY id;
DEALLOCATE p;
EXECUTE p (1);
DEALLOCATE p;
DEALLOCATE ALL;
PREPARE r AS SELECT count(*) FROM t WHERE id > $1;
EXECUTE r (0);
--! unsupported
EXPLAIN EXECUTE nope;
--! missing: the content of pg_prepared_statements
SELECT name, statement FROM pg_prepared_statements;
DEALLOCATE PREPARE r;
--! with 5
SELECT generate_series(1, $1::int);
--! with a%
SELECT 'abc' LIKE $1, $1 = 'a%';
--! with 2024-01-01|1
SELECT $1::date + $2::int, date '2024-01-05' - $1::date;
DROP TABLE t;
;
SELEC 1;
SELECT 1 FROM;
SELECT * FROM t WHERE;
SELECT 'unterminated;
';
INSERT INTO;
CREATE TABLE;
DROP nope;
SELECT 1 1;
SELECT (1;
SELECT 1);
-- Options of EXPLAIN.
EXPLAIN (FORMAT nothing) SELECT 1;
EXPLAIN (FORMAT) SELECT 1;
EXPLAIN (NOTHING) SELECT 1;
EXPLAIN (COSTS maybe) SELECT 1;
EXPLAIN (WAL) SELECT 1;
EXPLAIN (TIMING on) SELECT 1;
EXPLAIN () SELECT 1;
EXPLAIN (COSTS off,) SELECT 1;
--! differs: plans are ours
EXPLAIN (FORMAT JSON) SELECT 1;
--! differs: plans are ours, and xml is text
EXPLAIN (FORMAT XML) SELECT 1;
--! differs: plans are ours
EXPLAIN (FORMAT YAML) SELECT 1;
SELECT 1 OFFSET (0) ROWS FETCH FIRST (1) ROWS ONLY;
SELECT 1 FOR UPDATE;
--! unsupported
SELECT sum(a) OVER (ORDER BY b RANGE BETWEEN '1 day'::interval PRECEDING AND CURRENT ROW) FROM (VALUES (1, date '2024-01-01'), (2, date '2024-01-02'), (4, date '2024-01-09')) AS v (a, b);
