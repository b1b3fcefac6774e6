-- Ranges and multiranges, in and out, order, keys, operators and functions.
CREATE TABLE spans (id int PRIMARY KEY, i int4range, b int8range, n numrange, d daterange, t tsrange, z tstzrange, m int4multirange, a int4range[], note text);
INSERT INTO spans VALUES (1, '[1,5)', '[1,5]', '[1.0,2.50]', '[2024-01-01,2024-02-01)', '[2024-01-01 10:00,2024-01-01 11:00)', '[2024-01-01 10:00+00,2024-01-01 11:00+00)', '{[1,5),[8,9)}', '{"[1,5)",empty}', 'one');
INSERT INTO spans VALUES (2, '(1,5]', '(,5]', '(1,2.5)', '[2024-02-28,2024-02-29]', '[2024-01-01,]', '(,2024-06-01 12:00:00.5+02]', '{}', ARRAY['[2,3]', NULL]::int4range[], 'two');
INSERT INTO spans VALUES (3, 'empty', 'empty', 'empty', 'empty', 'empty', 'empty', '{(,1),[3,)}', '{}', 'three');
INSERT INTO spans VALUES (4, '(,)', '[9223372036854775806,9223372036854775806]', '(,0)', '(,2024-03-01]', '(,)', '(,)', '{(,)}', NULL, 'four');
INSERT INTO spans VALUES (5, int4range(2, 5), int8range(1, 5, '[]'), numrange(1, 2.5, '(]'), daterange('2024-01-01', '2024-01-31', '[]'), tsrange('2024-01-01', NULL), tstzrange(NULL, '2024-06-01'), int4multirange(int4range(1, 3), int4range(2, 9)), ARRAY[int4range(1, 2)], 'five');
INSERT INTO spans (id) VALUES (6);
SELECT * FROM spans ORDER BY id;
SELECT id, i FROM spans ORDER BY i, id;
SELECT id, i FROM spans ORDER BY i DESC NULLS LAST, id;
SELECT id, b FROM spans ORDER BY b, id;
SELECT id, n FROM spans ORDER BY n, id;
SELECT id, d FROM spans ORDER BY d DESC, id;
SELECT id, t FROM spans ORDER BY t, id;
SELECT id, z FROM spans ORDER BY z, id;
SELECT id, m FROM spans ORDER BY m, id;
SELECT id, a FROM spans ORDER BY a, id;
-- What is written wrongly.
INSERT INTO spans (id, i) VALUES (9, '');
INSERT INTO spans (id, i) VALUES (9, '[1,5');
INSERT INTO spans (id, i) VALUES (9, '1,5)');
INSERT INTO spans (id, i) VALUES (9, '[1)');
INSERT INTO spans (id, i) VALUES (9, '[1,2,3)');
INSERT INTO spans (id, i) VALUES (9, '[1,5) x');
INSERT INTO spans (id, i) VALUES (9, 'empty x');
INSERT INTO spans (id, i) VALUES (9, '[5,1]');
INSERT INTO spans (id, i) VALUES (9, '[a,b]');
INSERT INTO spans (id, i) VALUES (9, '[1,2147483647]');
INSERT INTO spans (id, i) VALUES (9, '(2147483647,)');
INSERT INTO spans (id, i) VALUES (9, '[1,3000000000)');
INSERT INTO spans (id, b) VALUES (9, '[1,9223372036854775807]');
INSERT INTO spans (id, n) VALUES (9, '[2,1.5]');
INSERT INTO spans (id, d) VALUES (9, '[2024-02-30,)');
INSERT INTO spans (id, d) VALUES (9, '(5874897-12-31,)');
INSERT INTO spans (id, t) VALUES (9, '[2024-01-02,2024-01-01)');
INSERT INTO spans (id, m) VALUES (9, '[1,5)');
INSERT INTO spans (id, m) VALUES (9, '{[1,5)');
INSERT INTO spans (id, m) VALUES (9, '{,}');
INSERT INTO spans (id, m) VALUES (9, '{[1,5),}');
INSERT INTO spans (id, m) VALUES (9, '{[1,5)} x');
INSERT INTO spans (id, m) VALUES (9, '{[1,5) [7,9)}');
INSERT INTO spans (id, m) VALUES (9, '{[5,1)}');
INSERT INTO spans (id, a) VALUES (9, '{[1,5)}');
INSERT INTO spans (id, i) VALUES (9, 1);
INSERT INTO spans (id, i) VALUES (9, '[1,5)'::text);
INSERT INTO spans (id, i) VALUES (9, int8range(1, 5));
INSERT INTO spans (id, m) VALUES (9, int4range(1, 5));
INSERT INTO spans (id, i) VALUES (9, '{[1,5)}'::int4multirange);
SELECT '[2020-01-01,2020-01-02'::tsrange;
SELECT int4range '[3,1]';
-- Constructors.
SELECT int4range(1, 5), int4range(1, 5, '[]'), int4range(1, 5, '()'), int4range(1, 5, '(]'), int4range(1, 1), int4range(1, 1, '[]');
SELECT int4range(NULL, 5), int4range(1, NULL, '[]'), int4range(NULL, NULL), numrange(1.10, 5), int8range(1, 5::smallint);
SELECT int4range(5, 1);
SELECT int4range(1, 5, '{}');
SELECT int4range(1, 5, '');
SELECT int4range(1, 5, NULL);
SELECT int4range(1);
SELECT int4range(1, 2.5);
SELECT int4range(1, 2147483647, '[]');
SELECT int4range(1, 2, 3);
SELECT daterange('2024-02-28', '2024-02-29', '[]'), daterange(date '2024-01-01', NULL), tsrange('2024-01-01 10:00', '2024-01-01 10:00', '[]');
SELECT tstzrange('2024-01-01 10:00+00', '2024-07-01 10:00+02'), tstzrange(date '2024-01-01', timestamp '2024-01-02');
SELECT int4multirange(), int4multirange(int4range(1, 5)), int4multirange(int4range(1, 5), int4range(5, 7), int4range(9, 10), 'empty');
--! missing: VARIADIC
SELECT int4multirange(VARIADIC ARRAY[int4range(1, 5), int4range(8, 9)]), nummultirange(numrange(1, 2), numrange(2.5, 3)), datemultirange(daterange('2024-01-01', '2024-02-01'));
SELECT int4multirange(int4range(1, 5), NULL);
SELECT int4multirange(NULL);
SELECT int4multirange(int8range(1, 5));
SELECT multirange(int4range(1, 5)), multirange('empty'::numrange), multirange(NULL::daterange);
SELECT multirange('[1,5)');
-- Comparisons.
SELECT id FROM spans WHERE i = '[1,4]';
SELECT id FROM spans WHERE i <> '[2,5]' ORDER BY id;
SELECT id FROM spans WHERE i > '[1,5)' ORDER BY id;
SELECT id FROM spans WHERE i <= '[1,5)' ORDER BY id;
SELECT id FROM spans WHERE n = '[1,2.5]';
SELECT id FROM spans WHERE d = daterange('2024-01-01', '2024-02-01') ORDER BY id;
SELECT id FROM spans WHERE z = '[2024-01-01 12:00+02,2024-01-01 11:00+00)';
SELECT id FROM spans WHERE m = '{[1,9)}';
SELECT id FROM spans WHERE m < '{[1,9)}' ORDER BY id;
SELECT id FROM spans WHERE i IN ('[1,5)', 'empty') ORDER BY id;
SELECT id FROM spans WHERE i = ANY ('{"[1,4]",empty}'::int4range[]) ORDER BY id;
SELECT id FROM spans WHERE i BETWEEN '[1,3)' AND '[2,6)' ORDER BY id;
SELECT id FROM spans WHERE i IS NULL;
SELECT id FROM spans WHERE i IS DISTINCT FROM 'empty' ORDER BY id;
SELECT id FROM spans WHERE i = b;
SELECT id FROM spans WHERE i = m;
SELECT id FROM spans WHERE i = 1;
SELECT id FROM spans WHERE i = '[1,5)'::text;
SELECT id FROM spans WHERE i::text LIKE '[%' ORDER BY id;
SELECT id FROM spans WHERE i = 'x';
SELECT numrange(1.0, 2) = numrange(1, 2.00), numrange(1, 2) < numrange(1, 2, '[]'), numrange(1, 2, '(]') > numrange(1, 3), 'empty'::numrange < '(,)'::numrange;
-- Within, beside and before each other.
SELECT id, i && '[4,9)', i @> '[2,3)', i <@ '[0,10)', i << '[5,9)', i >> '(,1)', i &< '[1,5)', i &> '[2,9)', i -|- '[5,9)' FROM spans ORDER BY id;
SELECT id, m && '{[4,9)}', m @> '{[8,9)}', m <@ '{[0,10)}', m << '{[9,12)}', m >> '{(,1)}', m &< '{[1,9)}', m &> '{[2,9)}', m -|- '{[9,12)}' FROM spans ORDER BY id;
SELECT id, i && m, i @> m, i <@ m, i << m, i >> m, i &< m, i &> m, i -|- m FROM spans ORDER BY id;
SELECT id, m && i, m @> i, m <@ i, m << i, m >> i, m &< i, m &> i, m -|- i FROM spans ORDER BY id;
SELECT id FROM spans WHERE i @> 4 ORDER BY id;
SELECT id FROM spans WHERE 4 <@ i ORDER BY id;
SELECT id FROM spans WHERE m @> 8 ORDER BY id;
SELECT id FROM spans WHERE 8 <@ m ORDER BY id;
SELECT id FROM spans WHERE n @> 2.5 ORDER BY id;
SELECT id FROM spans WHERE n @> 2 ORDER BY id;
SELECT id FROM spans WHERE b @> 5::bigint ORDER BY id;
SELECT id FROM spans WHERE d @> date '2024-01-31' ORDER BY id;
SELECT id FROM spans WHERE d @> '2024-02-29'::date ORDER BY id;
SELECT id FROM spans WHERE t @> timestamp '2024-01-01 10:30' ORDER BY id;
SELECT id FROM spans WHERE z @> timestamptz '2024-01-01 10:30+00' ORDER BY id;
SELECT id FROM spans WHERE z && tstzrange('2024-05-01', '2024-05-02') ORDER BY id;
SELECT id FROM spans WHERE i && '[1,2)' AND NOT i @> 3 ORDER BY id;
SELECT int4range(1, 5) @> 3::bigint;
SELECT int4range(1, 5) @> 2.5;
SELECT int4range(1, 5) && int8range(1, 5);
SELECT int4range(1, 5) @> 'x';
SELECT int4range(1, 5) && NULL, NULL::int4range @> 1, int4range(1, 5) -|- NULL;
SELECT 'empty'::int4range @> 'empty'::int4range, 'empty'::int4range <@ int4range(1, 2), 'empty'::int4range && '(,)', 'empty'::int4range -|- int4range(1, 2), 'empty'::int4range << int4range(1, 2);
SELECT numrange(1, 2) -|- numrange(2, 3), numrange(1, 2, '[]') -|- numrange(2, 3), numrange(1, 2, '[]') -|- numrange(2, 3, '()'), numrange(1, 2) -|- numrange(2, 3, '()'), int4range(1, 2, '[]') -|- int4range(3, 4);
-- Sums, differences and what is common.
SELECT id, i * '[3,9)', m * '{[3,9)}', m + '{[9,12)}', m - '{[3,9)}' FROM spans ORDER BY id;
SELECT int4range(1, 5) + int4range(3, 9), int4range(1, 5) + int4range(5, 9), int4range(1, 5) + 'empty', int4range(1, 5) - int4range(3, 9), int4range(1, 5) - int4range(0, 9), int4range(1, 5) - int4range(0, 2);
SELECT int4range(1, 5) + int4range(6, 9);
SELECT int4range(1, 9) - int4range(3, 5);
SELECT numrange(1, 2) * numrange(2, 3), numrange(1, 2, '[]') * numrange(2, 3), numrange(1.0, 3) * numrange(1, 3.00);
SELECT int4multirange(int4range(1, 9)) - int4multirange(int4range(3, 5)), '{[1,3),[5,9)}'::int4multirange * '{[2,6)}', '{[1,3)}'::int4multirange + '{[3,5)}';
SELECT int4range(1, 5) + 1;
SELECT int4range(1, 5) + int4multirange(int4range(3, 9));
SELECT - int4range(1, 5);
SELECT int4range(1, 5) || int4range(5, 9);
SELECT int4range(1, 5) * 2;
-- Functions.
SELECT id, lower(i), upper(i), isempty(i), lower_inc(i), upper_inc(i), lower_inf(i), upper_inf(i) FROM spans ORDER BY id;
SELECT id, lower(n), upper(n), isempty(n), lower_inc(n), upper_inc(n), lower_inf(n), upper_inf(n) FROM spans ORDER BY id;
SELECT id, lower(m), upper(m), isempty(m), lower_inc(m), upper_inc(m), lower_inf(m), upper_inf(m) FROM spans ORDER BY id;
SELECT id, lower(d), upper(d), upper(d) - lower(d), lower(t), upper(z) FROM spans ORDER BY id;
SELECT range_merge(int4range(1, 3), int4range(7, 9)), range_merge('empty', int4range(7, 9)), range_merge('{[1,3),[7,9)}'::int4multirange), range_merge('{}'::int4multirange);
SELECT range_merge(int4range(1, 3), int8range(7, 9));
SELECT id, unnest(m) AS r FROM spans ORDER BY id, r;
SELECT unnest('{[1,3),[7,9)}'::int4multirange);
SELECT * FROM unnest('{[1.5,3),(7,9]}'::nummultirange) WITH ORDINALITY;
SELECT count(*) FROM unnest('{}'::int4multirange);
SELECT lower('ABC'), upper('[1,5)'), lower(NULL), isempty('empty');
SELECT lower_inc(1);
SELECT lower(1);
SELECT hash_range(int4range(1, 5)), hash_range_extended(int8range(1, 5), 7), hash_multirange('{[1,5),[8,9)}'::int4multirange), hash_range('empty'::daterange);
SELECT range_send(int4range(1, 5)), range_send('empty'::numrange), multirange_send('{[1,5)}'::int4multirange);
SELECT range_agg(i), range_intersect_agg(i), count(i), min(id) FROM spans;
SELECT range_agg(m), range_intersect_agg(m) FROM spans WHERE id <> 2;
SELECT range_agg(d), range_agg(n), range_agg(z) FROM spans;
SELECT range_intersect_agg(n), range_intersect_agg(t) FROM spans WHERE id IN (1, 5);
SELECT range_agg(i) FROM spans WHERE false;
SELECT range_agg(i) FROM spans WHERE id = 6;
SELECT range_agg(id) FROM spans;
SELECT min(i) FROM spans;
SELECT sum(i) FROM spans;
SELECT id % 2, range_agg(i) FROM spans GROUP BY 1 ORDER BY 1;
SELECT id, range_agg(i) OVER (ORDER BY id) FROM spans ORDER BY id;
-- Casts.
SELECT int4range(1, 5)::int4multirange, 'empty'::int4range::int4multirange, numrange(1, 2)::nummultirange;
SELECT int4range(1, 5)::text, '[1,5]'::text::int4range, '{[1,2),[2,3)}'::text::int4multirange, int4range(1, 5)::varchar(3), ('[1,' || '5)')::int4range;
SELECT int4range(1, 5)::int8range;
SELECT int4multirange(int4range(1, 5))::int4range;
SELECT int4range(1, 5)::int;
SELECT 5::int4range;
SELECT 'x'::text::int4range;
SELECT 'range ' || int4range(1, 5), concat(int4range(1, 5), ' ', '{}'::int4multirange), format('%s %L', int4range(1, 5), numrange(1, 2)), length(int4range(1, 5)::text);
SELECT quote_literal(int4range(1, 5)), to_json(int4range(1, 5)), to_jsonb(tsrange('2024-01-01', '2024-01-02')), json_build_object('r', numrange(1, 2)), to_json(ARRAY[int4range(1, 5)]);
SELECT coalesce(i, '[0,1)'), CASE WHEN id = 1 THEN i ELSE '[7,8)' END, nullif(i, '[1,5)') FROM spans ORDER BY id;
SELECT greatest(i, '[1,3)'), least(m, '{[1,2)}') FROM spans ORDER BY id;
SELECT i::text || '!' FROM spans WHERE id = 1;
-- Arrays.
SELECT a[1], array_length(a, 1), array_append(a, '[7,8)'), a || int4range(8, 9) FROM spans ORDER BY id;
SELECT ARRAY[int4range(1, 5), 'empty'], '{"[1,5)",NULL}'::int4range[], ARRAY['{[1,2)}'::int4multirange], '{"[2024-01-01 10:00,2024-01-01 11:00)"}'::tsrange[];
SELECT '{"[1,5)"}'::int4range[]::text[], '{"[1,5)"}'::text[]::int4range[], '{"[1,5)"}'::int4range[]::int4multirange[];
SELECT unnest(ARRAY[int4range(1, 5), 'empty']);
SELECT array_agg(i ORDER BY i), array_agg(m ORDER BY m DESC) FROM spans WHERE id < 4;
SELECT a @> ARRAY[int4range(1, 5)], int4range(1, 5) = ANY (a) FROM spans ORDER BY id;
SELECT array_position(ARRAY[int4range(1, 5), int4range(2, 3)], '[2,2]');
-- Groups and joins.
SELECT i, count(*) FROM spans GROUP BY i ORDER BY i;
SELECT DISTINCT n FROM spans WHERE id > 2 ORDER BY n;
SELECT count(DISTINCT d), count(DISTINCT m) FROM spans;
SELECT x.id, y.id FROM spans x JOIN spans y ON x.i && y.i AND x.id < y.id ORDER BY 1, 2;
SELECT x.id, y.id FROM spans x JOIN spans y ON x.i = y.i ORDER BY 1, 2;
SELECT x.id, y.id FROM spans x LEFT JOIN spans y ON x.i = y.a[1] ORDER BY 1, 2;
SELECT x.id, v FROM spans x JOIN generate_series(1, 3) v ON x.i @> v ORDER BY 1, 2;
SELECT i FROM spans WHERE id < 4 UNION SELECT '[7,8)' ORDER BY 1;
SELECT i FROM spans INTERSECT SELECT int4range(1, 5) ORDER BY 1;
SELECT i FROM spans UNION SELECT n FROM spans;
SELECT id, rank() OVER (ORDER BY i), lag(i) OVER (ORDER BY i, id) FROM spans ORDER BY id;
SELECT * FROM (VALUES (int4range(1, 5), 1), ('empty', 2)) AS v (r, n) ORDER BY r;
WITH RECURSIVE r (a, n) AS (SELECT int4range(1, 2), 1 UNION ALL SELECT int4range(lower(a), upper(a) + 1), n + 1 FROM r WHERE n < 4) SELECT a FROM r ORDER BY n;
SELECT id FROM spans x WHERE EXISTS (SELECT FROM spans y WHERE y.i @> x.i AND y.id <> x.id) ORDER BY id;
SELECT id FROM spans WHERE i IN (SELECT int4range(1, 5)) ORDER BY id;
-- Keys and indexes.
CREATE TABLE booked (during tsrange PRIMARY KEY, room int4range NOT NULL, many int4multirange, UNIQUE (room), UNIQUE (many));
INSERT INTO booked VALUES ('[2024-01-01 10:00,2024-01-01 11:00)', '[1,5)', '{[1,2)}'), ('[2024-01-02,2024-01-03)', '[2,5)', '{}'), ('empty', 'empty', NULL), ('(,2024-01-01)', '(,3)', NULL);
INSERT INTO booked VALUES ('[2024-01-02 00:00,2024-01-03 00:00)', '[9,10)', NULL);
INSERT INTO booked VALUES ('[2025-01-02,2025-01-03)', '[1,4]', NULL);
INSERT INTO booked VALUES ('[2025-01-02,2025-01-03)', '[11,12)', '{[1,1]}');
INSERT INTO booked VALUES (NULL, '[11,12)', NULL);
INSERT INTO booked VALUES ('empty', '[6,7)') ON CONFLICT (during) DO UPDATE SET room = excluded.room RETURNING *;
INSERT INTO booked VALUES ('[2026-01-01,)', '(1,5)') ON CONFLICT (room) DO NOTHING;
SELECT * FROM booked ORDER BY during;
SELECT * FROM booked ORDER BY during DESC LIMIT 2;
SELECT room FROM booked WHERE during = '[2024-01-02,2024-01-03)';
SELECT room FROM booked WHERE during = '[2024-01-02,2024-01-03]';
SELECT during FROM booked WHERE during > 'empty' AND during <= '[2024-01-02,2024-01-03)' ORDER BY during;
SELECT during FROM booked WHERE room = '[1,4]';
SELECT during FROM booked WHERE during @> timestamp '2024-01-01 10:30';
UPDATE booked SET room = room * '[3,)' WHERE during = '[2024-01-02,2024-01-03)' RETURNING *;
UPDATE booked SET during = during + '[2024-01-01 11:00,2024-01-01 12:00)' WHERE room = '[1,5)' RETURNING *;
UPDATE booked SET room = int4range(20, 10) WHERE room = '[1,5)';
DELETE FROM booked WHERE during << '[2024-01-01,2025-01-01)' RETURNING room;
DELETE FROM booked WHERE isempty(during);
SELECT * FROM booked ORDER BY during;
CREATE INDEX spans_i ON spans (i);
CREATE INDEX spans_n ON spans USING btree (n range_ops);
CREATE INDEX spans_m ON spans (m multirange_ops);
CREATE INDEX spans_d ON spans USING hash (d);
CREATE INDEX spans_gist ON spans USING gist (i);
CREATE INDEX spans_gist_ops ON spans USING gist (t range_ops, m multirange_ops);
CREATE INDEX spans_brin ON spans USING brin (d range_inclusion_ops);
CREATE INDEX spans_brin_m ON spans USING brin (m);
CREATE INDEX spans_gin ON spans USING gin (i);
CREATE INDEX spans_wrong ON spans (i int4_ops);
--! unsupported
CREATE INDEX spans_spgist ON spans USING spgist (i);
--! unsupported
CREATE TABLE apart (room int, during tsrange, EXCLUDE USING gist (during WITH &&));
--! unsupported
ALTER TABLE spans ADD CONSTRAINT spans_apart EXCLUDE USING gist (i WITH &&);
--! unsupported
CREATE TYPE floatrange AS RANGE (subtype = float8);
SELECT id FROM spans WHERE i = '[1,5)';
SELECT id, i FROM spans WHERE i > 'empty' ORDER BY i LIMIT 3;
SELECT id, n FROM spans WHERE n >= '[1,2)' ORDER BY n;
SELECT id FROM spans WHERE d = '[2024-01-01,2024-01-31]' ORDER BY id;
SELECT id FROM spans WHERE m = '{[1,5),[8,8]}';
SELECT id FROM spans WHERE i && '[2,3)' ORDER BY id;
-- Defaults, checks, domains.
CREATE TABLE guarded (id int PRIMARY KEY, i int4range DEFAULT '[1,5]' CHECK (i <> 'empty'), t tstzrange DEFAULT '[2024-01-01 00:00+00,)', m int4multirange DEFAULT '{}');
INSERT INTO guarded (id) VALUES (1) RETURNING *;
INSERT INTO guarded (id, i) VALUES (2, '(1,2)');
INSERT INTO guarded (id, i, m) VALUES (3, int4range(3, 4), multirange(int4range(3, 4))) RETURNING *;
INSERT INTO guarded (id, i, m) SELECT id + 10, i, m FROM spans WHERE id < 3 RETURNING *;
--! unsupported
CREATE TABLE guarded_more (id int PRIMARY KEY, i int4range CHECK (upper(i) < 10));
--! unsupported
CREATE TABLE guarded_more (id int PRIMARY KEY, a int, i int4range GENERATED ALWAYS AS (int4range(0, a)) STORED);
--! unsupported
CREATE INDEX guarded_lower ON guarded (lower(i));
ALTER TABLE guarded ADD COLUMN d daterange DEFAULT '[2024-01-01,2024-01-31]';
ALTER TABLE guarded ALTER COLUMN d TYPE text;
SELECT * FROM guarded ORDER BY id;
ALTER TABLE guarded ALTER COLUMN d TYPE daterange;
ALTER TABLE guarded ALTER COLUMN d TYPE daterange USING d::daterange;
SELECT d FROM guarded ORDER BY id;
CREATE DOMAIN filled AS int4range CHECK (value <> 'empty');
SELECT '[1,5]'::filled;
SELECT 'empty'::filled;
CREATE VIEW ends AS SELECT id, lower(i) AS low, upper(i) AS high, i && '[2,3)' AS has_two FROM spans;
SELECT * FROM ends ORDER BY id;
CREATE TABLE copied AS SELECT i, n, d, m, a FROM spans;
SELECT * FROM copied ORDER BY i, n;
CREATE FUNCTION longer(r int4range) RETURNS int4range LANGUAGE sql IMMUTABLE AS 'SELECT int4range(lower(r), upper(r) + 1)';
SELECT longer('[1,5)'), longer(i) FROM spans WHERE id = 2;
-- Parameters.
--! describe
SELECT * FROM spans WHERE i = $1 AND n && $2 AND d @> $3::date AND m = $4;
--! describe
INSERT INTO spans (id, i, b, n, d, t, z, m, a) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);
--! with 20|[1,7]|[1,7]|[1.50,2)|[2024-05-01,2024-05-02]|[2024-01-01,2024-01-02)|[2024-01-01 00:00+00,)|{[1,2],[4,5]}|{"[1,2)",NULL}
INSERT INTO spans (id, i, b, n, d, t, z, m, a) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING *;
--! with 21|[1,7
INSERT INTO spans (id, i) VALUES ($1, $2);
--! with [1,4]
SELECT id, i FROM spans WHERE i = $1;
--! with [2,3)
SELECT id, i FROM spans WHERE i && $1 ORDER BY id;
--! with {[1,2],[4,5]}
SELECT id, m FROM spans WHERE m = $1;
--! with {"[1,5)",empty}
SELECT id, i FROM spans WHERE i = ANY ($1) ORDER BY id;
--! with [1,5)|[3,9)
SELECT $1::int4range * $2, lower($1::int4range), $1::int4range::int4multirange;
--! with 1|5
SELECT int4range($1, $2), numrange($1::int, $2::int);
-- Time zones.
--! one session
SET TIME ZONE 'America/New_York';
SELECT id, z, lower(z), t FROM spans ORDER BY id;
SELECT '[2024-01-01 10:00,2024-07-01 10:00)'::tstzrange, tstzrange('2024-01-01', '2024-07-01') @> timestamptz '2024-07-01 04:30+00', upper('(,2024-07-01 10:00]'::tstzrange);
SELECT id FROM spans WHERE z && '[2024-01-01 05:30,2024-01-01 05:31)' ORDER BY id;
SELECT z::text FROM spans WHERE id = 1;
SELECT '{[2024-01-01 10:00,2024-07-01 10:00)}'::tstzmultirange, '{"[2024-01-01 10:00,2024-07-01 10:00)"}'::tstzrange[];
RESET TIME ZONE;
-- COPY.
COPY spans (id, i, n, d, t, m, a) FROM STDIN;
30	[1,5]	[1.0,2)	[2024-01-01,2024-01-02]	["2024-01-01 10:00:00","2024-01-01 11:00:00")	{[1,2),[5,6)}	{"[1,2)"}
31	\N	\N	\N	\N	\N	\N
\.
COPY spans (id, i) FROM STDIN;
32	[1,5
\.
COPY spans (id, i, m) FROM STDIN (FORMAT csv);
33,"[1,5)","{[1,2),[5,6)}"
\.
COPY (SELECT id, i, b, n, d, t, z, m, a FROM spans ORDER BY id) TO STDOUT;
COPY (SELECT id, i, n, d, t, m FROM spans ORDER BY id) TO STDOUT (FORMAT csv, HEADER);
COPY (SELECT i, b, n, d, t, z, m, a FROM spans ORDER BY id) TO STDOUT (FORMAT binary);
-- The catalogs.
SELECT typname::text, oid, typlen, typtype::text, typcategory::text, typarray FROM pg_type WHERE typname LIKE '%range' AND typtype IN ('r', 'm') ORDER BY oid;
SELECT rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc FROM pg_range ORDER BY rngtypid;
SELECT t.typname::text AS name, t.oid AS oid, t.typarray AS array_oid, r.rngsubtype AS subtype_oid FROM pg_type t JOIN pg_range r ON t.oid = r.rngtypid WHERE t.typname = 'daterange';
SELECT t.typname::text AS name, t.oid AS oid, t.typarray AS array_oid, r.rngtypid AS range_oid, r.rngsubtype AS subtype_oid FROM pg_type t JOIN pg_range r ON t.oid = r.rngmultitypid WHERE t.oid = 4451;
SELECT attname::text, atttypid::regtype::text, format_type(atttypid, atttypmod), attlen FROM pg_attribute WHERE attrelid = 'spans'::regclass AND attnum > 0 ORDER BY attnum;
SELECT column_name::text, data_type::text, udt_name::text FROM information_schema.columns WHERE table_name = 'spans' ORDER BY ordinal_position;
SELECT format_type(3904, -1), format_type(4451, NULL), format_type(3905, -1), 'tstzrange'::regtype::oid, 'int4range[]'::regtype::oid;
SELECT indexname::text, indexdef FROM pg_indexes WHERE tablename IN ('booked', 'spans') ORDER BY indexname;
DROP TABLE guarded;
DROP TABLE copied;
