-- UPDATE and DELETE.
CREATE TABLE t (id int PRIMARY KEY, a int, b text);
CREATE TABLE s (id int PRIMARY KEY, t_id int, v int);
CREATE TABLE h (a int, b text);
CREATE INDEX t_a ON t (a);
INSERT INTO t SELECT g, g * 10, 'r' || g FROM generate_series(1, 10) g;
INSERT INTO s SELECT g, g, g * 100 FROM generate_series(1, 5) g;
INSERT INTO h VALUES (1, 'one'), (2, 'two'), (3, 'three'), (3, 'three');
UPDATE t SET b = 'x' WHERE id = 1;
UPDATE t SET b = 'x' WHERE id = 1 RETURNING *;
UPDATE t SET a = a + 1, b = b || '!' WHERE id BETWEEN 2 AND 3 RETURNING id, a, b;
UPDATE t SET (a, b) = (1, 'pair') WHERE id = 4 RETURNING *;
UPDATE t SET (a, b) = ROW (7, 'row') WHERE id = 4 RETURNING *;
UPDATE t SET (a, b) = (SELECT v FROM s) WHERE id = 5;
UPDATE t SET (a, b) = (SELECT v, 'many' FROM s) WHERE id = 5;
UPDATE t SET (a, b) = (SELECT v, 'none' FROM s WHERE s.id = t.id + 100) WHERE id = 5 RETURNING *;
UPDATE t SET (a, b) = (1, 2, 3) WHERE id = 5;
UPDATE t SET (a, b) = (SELECT v, 'sub' FROM s WHERE s.id = 5) WHERE id = 5 RETURNING *;
UPDATE t SET a = (SELECT max(v) FROM s) WHERE id = 6 RETURNING a;
UPDATE t SET a = s.v FROM s WHERE s.t_id = t.id AND t.id <= 2;
SELECT * FROM t ORDER BY id;
UPDATE t SET b = s.v::text FROM s WHERE s.t_id = t.id RETURNING t.id, t.b, s.v;
UPDATE t AS x SET b = 'alias' WHERE x.id = 7 RETURNING x.b;
UPDATE t SET b = 'idx' WHERE a = 80;
UPDATE t SET id = 100 WHERE id = 10 RETURNING id;
UPDATE t SET id = id + 1 WHERE id = 8;
UPDATE t SET nope = 1;
UPDATE t SET a = 'abc';
UPDATE t SET a = 1, a = 2;
UPDATE nope SET a = 1;
UPDATE t SET a = 1 WHERE nope = 1;
UPDATE t SET a = 1 WHERE id;
UPDATE t SET a = NULL WHERE id IN (1, 2) RETURNING a;
UPDATE t SET b = 'n' WHERE a IS NULL;
UPDATE t SET a = 1/0 WHERE id = 1;
UPDATE h SET b = 'h' WHERE a = 3;
--! unsupported
UPDATE h SET b = s.v::text FROM s WHERE s.id = h.a;
SELECT * FROM h ORDER BY a, b;
--! unsupported
UPDATE h SET a = a + (SELECT count(*) FROM s) WHERE a < 3 RETURNING a;
--! unsupported
DELETE FROM h USING s WHERE s.id = h.a RETURNING h.*;
DELETE FROM t WHERE id = 1;
DELETE FROM t WHERE id = 1;
DELETE FROM t WHERE a = 70 RETURNING *;
DELETE FROM t USING s WHERE s.t_id = t.id AND s.v > 300;
--! any order
DELETE FROM t WHERE id IN (SELECT t_id FROM s) RETURNING id;
SELECT * FROM t ORDER BY id;
DELETE FROM t WHERE EXISTS (SELECT 1 FROM s WHERE s.id = t.id);
DELETE FROM s WHERE v > (SELECT avg(v) FROM s) RETURNING id;
DELETE FROM nope;
DELETE FROM h;
DELETE FROM t AS d WHERE d.id > 8 RETURNING d.id;
SELECT * FROM t ORDER BY id;
INSERT INTO t SELECT g, g % 3, 'b' || g FROM generate_series(1000, 1020) g;
UPDATE t SET b = 'mod' WHERE a = 1 AND id > 1010;
--! any order
SELECT * FROM t WHERE a = 1;
DELETE FROM t WHERE a = 2 AND b LIKE 'b%';
SELECT count(*), sum(id) FROM t;
UPDATE t SET a = a + 1;
UPDATE t SET a = CASE WHEN id % 2 = 0 THEN 0 ELSE a END WHERE id >= 1000;
SELECT a, count(*) FROM t GROUP BY a ORDER BY a NULLS FIRST;
WITH x AS (SELECT max(id) AS m FROM t) UPDATE t SET b = 'cte' FROM x WHERE t.id = x.m RETURNING t.id, b;
WITH x AS (SELECT min(id) AS m FROM t) DELETE FROM t USING x WHERE t.id = x.m RETURNING t.id;
DROP TABLE t, s, h;
