-- Queries.
CREATE TABLE p (id int PRIMARY KEY, name text, price numeric(8,2), made date);
CREATE TABLE o (id int PRIMARY KEY, p_id int, n int, at timestamptz);
CREATE INDEX o_p ON o (p_id);
INSERT INTO p VALUES (1, 'apple', 1.20, '2024-01-01'), (2, 'pear', 2.50, '2024-02-01'), (3, 'fig', NULL, NULL), (4, 'plum', 0.90, '2023-12-31');
INSERT INTO o VALUES (1, 1, 5, '2024-03-01 10:00+00'), (2, 1, 3, '2024-03-02 10:00+00'), (3, 2, 1, '2024-03-02 11:00+00'), (4, NULL, 9, NULL), (5, 9, 2, '2024-03-03 00:00+00');
SELECT * FROM p WHERE id = 2;
SELECT * FROM p WHERE id > 1 ORDER BY id;
SELECT * FROM p ORDER BY id DESC LIMIT 2;
SELECT * FROM p ORDER BY id OFFSET 1 ROW FETCH FIRST 2 ROWS ONLY;
SELECT * FROM p ORDER BY price;
SELECT * FROM p ORDER BY price DESC NULLS LAST, id;
SELECT name AS n, price * 2 AS "Double", upper(name), length(name) FROM p ORDER BY n;
SELECT id FROM o WHERE p_id = 1 ORDER BY id;
SELECT id FROM o WHERE p_id IS NULL;
SELECT id FROM o WHERE p_id IN (1, 2) ORDER BY id;
SELECT p.name, o.n FROM p JOIN o ON o.p_id = p.id ORDER BY o.id;
SELECT p.name, o.n FROM p LEFT JOIN o ON o.p_id = p.id ORDER BY p.id, o.id;
SELECT p.name, o.n FROM p RIGHT JOIN o ON o.p_id = p.id ORDER BY o.id;
SELECT p.name, o.n FROM p FULL JOIN o ON o.p_id = p.id ORDER BY p.id, o.id;
SELECT count(*) FROM p CROSS JOIN o;
SELECT count(*) FROM p, o WHERE p.id = o.p_id;
SELECT id, p.name, o.n FROM p JOIN o USING (id) ORDER BY id;
SELECT * FROM p NATURAL JOIN o ORDER BY id;
SELECT a.id, b.id FROM p a JOIN p b ON a.id < b.id WHERE a.id = 1 ORDER BY b.id;
SELECT count(*), count(price), sum(price), avg(price), min(price), max(name), sum(id), avg(id) FROM p;
--! missing: the types of stddev, variance and sum(real)
SELECT sum(n), avg(n), sum(n::bigint), avg(n::float8), stddev(n), variance(n), sum(n::real) FROM o;
SELECT sum(n) FROM o WHERE false;
SELECT p_id, count(*), sum(n) FROM o GROUP BY p_id ORDER BY p_id;
SELECT p_id, sum(n) AS s FROM o GROUP BY 1 HAVING sum(n) > 2 ORDER BY s DESC, 1;
SELECT count(DISTINCT p_id), count(*) FILTER (WHERE n > 2), string_agg(id::text, ',' ORDER BY id), array_agg(id ORDER BY id), bool_and(n > 0), bool_or(n > 8) FROM o;
SELECT DISTINCT p_id FROM o ORDER BY p_id;
SELECT DISTINCT ON (p_id) p_id, id FROM o ORDER BY p_id, id DESC;
SELECT name FROM p WHERE id IN (SELECT p_id FROM o) ORDER BY 1;
SELECT name FROM p WHERE EXISTS (SELECT 1 FROM o WHERE o.p_id = p.id AND n > 4);
SELECT name FROM p WHERE id NOT IN (SELECT p_id FROM o WHERE p_id IS NOT NULL) ORDER BY 1;
SELECT name, (SELECT sum(n) FROM o WHERE o.p_id = p.id) FROM p ORDER BY id;
--! unsupported
SELECT name FROM p WHERE price > ALL (SELECT 1.0);
SELECT name FROM p WHERE price = ANY (SELECT max(price) FROM p);
WITH x AS (SELECT * FROM p WHERE id < 3), y(a) AS (SELECT id FROM x) SELECT x.name, y.a FROM x JOIN y ON x.id = y.a ORDER BY 2;
WITH RECURSIVE r(n) AS (VALUES (1) UNION ALL SELECT n + 1 FROM r WHERE n < 5) SELECT sum(n), count(*) FROM r;
SELECT 1 UNION SELECT 1 UNION ALL SELECT 2 ORDER BY 1;
SELECT id FROM p INTERSECT SELECT p_id FROM o ORDER BY 1;
SELECT id FROM p EXCEPT SELECT p_id FROM o ORDER BY 1;
SELECT 1, 'a' UNION SELECT 2;
SELECT 1 UNION SELECT 'a';
VALUES (1, 'a'), (2, 'b');
SELECT * FROM (VALUES (1, 'a'), (2, 'b')) v(x, y) WHERE x = 2;
SELECT * FROM (SELECT id, name FROM p) q WHERE q.id = 1;
SELECT id, row_number() OVER (ORDER BY n), rank() OVER (PARTITION BY p_id ORDER BY n), sum(n) OVER (ORDER BY id), lag(n) OVER (ORDER BY id), first_value(n) OVER (ORDER BY id), ntile(2) OVER (ORDER BY id) FROM o ORDER BY id;
SELECT CASE WHEN id = 1 THEN 'one' WHEN id = 2 THEN 'two' ELSE 'many' END FROM p ORDER BY id;
SELECT CASE id WHEN 1 THEN 1 ELSE 2.5 END AS c FROM p ORDER BY id;
SELECT coalesce(price, 0), nullif(id, 2), greatest(id, 2), least(id, 2, NULL) FROM p ORDER BY id;
SELECT * FROM generate_series(1, 3);
SELECT * FROM generate_series(10, 1, -4) AS g(x);
SELECT g FROM generate_series(timestamp '2024-01-01', '2024-01-03', '1 day') g;
SELECT generate_series(1, 3);
SELECT generate_series(1, 2), 'x';
SELECT unnest(ARRAY[3, 1, 2]);
SELECT * FROM unnest(ARRAY['a','b']) WITH ORDINALITY;
SELECT date_trunc('month', at) AS m, count(*) FROM o GROUP BY m ORDER BY m;
--! missing: the function age
SELECT extract(year FROM made), extract(dow FROM made), date_part('day', made), age('2024-03-01'::timestamp, made::timestamp) FROM p ORDER BY id;
SELECT at AT TIME ZONE 'UTC', at::date FROM o ORDER BY id;
SELECT id FROM o WHERE at >= '2024-03-02' AND at < '2024-03-03' ORDER BY id;
SELECT id FROM o WHERE at::date = '2024-03-02' ORDER BY id;
--! missing: composite values
SELECT p FROM p WHERE id = 1;
--! missing: composite values
SELECT row(1, 'a'), (1, 2) = (1, 2), (id, name) < (2, 'z') FROM p WHERE id = 1;
SELECT nope FROM p;
SELECT p.nope FROM p;
SELECT q.id FROM p;
SELECT id FROM p, o;
SELECT * FROM nope;
SELECT nope(1);
SELECT length(1, 2);
SELECT sum(name) FROM p;
SELECT name, count(*) FROM p;
SELECT * FROM p WHERE sum(id) > 1;
SELECT * FROM p WHERE id = 'abc';
SELECT * FROM p WHERE id;
SELECT * FROM p ORDER BY 9;
SELECT * FROM p LIMIT -1;
SELECT * FROM p LIMIT 'x';
--! missing: the error of a table that is named twice
SELECT * FROM p, p;
SELECT (SELECT id FROM p);
SELECT (SELECT id, name FROM p);
SELECT * FROM p WHERE id = (SELECT id FROM p);
--! missing: a query without columns
SELECT;
--! missing: a query without columns
SELECT FROM p;
SELECT 1 AS a, 2 AS a;
SELECT * FROM p FOR UPDATE;
SELECT * FROM p WHERE id = 1 FOR UPDATE;
SELECT * FROM p WHERE id = 1 FOR SHARE;
SELECT * FROM p WHERE id = 1 FOR NO KEY UPDATE;
SELECT * FROM p WHERE id = 1 FOR KEY SHARE;
SELECT * FROM p ORDER BY id LIMIT 1 FOR UPDATE;
SELECT count(*) FROM p FOR UPDATE;
--! unsupported
SELECT * FROM p x JOIN LATERAL (SELECT n FROM o WHERE o.p_id = x.id ORDER BY n DESC LIMIT 1) l ON true ORDER BY x.id;
--! any order
SELECT p_id, n, sum(n) FROM o GROUP BY ROLLUP (p_id, n) ORDER BY 1, 2;
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY n) FROM o;
SELECT name FROM p WHERE name LIKE '%l%' ORDER BY name COLLATE "C";
SELECT count(*) FROM p WHERE (id, name) IN ((1, 'apple'), (2, 'x'));
SELECT max(id), min(made), max(at) FROM p NATURAL LEFT JOIN (SELECT p_id AS id, at FROM o) q;
SELECT exists(SELECT 1 FROM p WHERE id = 7), (SELECT name FROM p WHERE id = 7);
--! missing: TABLE
TABLE p;
DROP TABLE p, o;
