-- json and jsonb: tables, parameters, operators, functions, sets, aggregates.
CREATE TABLE docs (id int PRIMARY KEY, j json, b jsonb, note text);
INSERT INTO docs VALUES (1, '{"a" : 1, "a" : 2}', ' { "bb": 1, "a": [1, 2.50, -0, 1e2], "c": null, "a": {"d": "x"} } ', 'one');
INSERT INTO docs VALUES (2, '[1, 2,  3]', '[1, "two", null, {"three": 3}]', 'two'), (3, 'null', 'null', 'three'), (4, NULL, NULL, 'four');
INSERT INTO docs (id, j, b) VALUES (5, '"\u00e9\/"', '"\ud83d\ude04\/"'), (6, ' 1.50 ', ' 1.50 '), (7, 'true', '1e400');
INSERT INTO docs (id, b) VALUES (8, '{"bb": 1, "a": {"d": "y"}, "tags": ["red", "blue"]}'), (9, '{"bb": 2.0, "tags": ["red"]}');
SELECT * FROM docs ORDER BY id;
SELECT * FROM docs WHERE id = 1;
SELECT b FROM docs WHERE id = 2;
SELECT j FROM docs WHERE id = 5;
SELECT id, b FROM docs ORDER BY b, id;
SELECT id, b FROM docs ORDER BY b DESC NULLS LAST, id;
SELECT id FROM docs WHERE b = '1.5' ORDER BY id;
SELECT id FROM docs WHERE b = '{"a": {"d": "y"}, "tags": ["red", "blue"], "bb": 1.00}';
SELECT id FROM docs WHERE b > '"a"' ORDER BY id;
SELECT id FROM docs WHERE b <> 'null' ORDER BY id;
SELECT id FROM docs WHERE b IS DISTINCT FROM 'null' ORDER BY id;
SELECT id FROM docs WHERE b IN ('null', '1.500') ORDER BY id;
SELECT id FROM docs WHERE j = '1';
SELECT id FROM docs WHERE id = 1 AND j = '1';
SELECT j FROM docs ORDER BY j;
SELECT DISTINCT j FROM docs;
SELECT j, count(*) FROM docs GROUP BY j;
SELECT id FROM docs WHERE b @> '{"bb": 1}' ORDER BY id;
SELECT id FROM docs WHERE b @> '{"tags": ["red"]}' ORDER BY id;
SELECT id FROM docs WHERE b <@ '{"bb": 2, "tags": ["red", "green"]}' ORDER BY id;
SELECT id FROM docs WHERE b ? 'tags' ORDER BY id;
SELECT id FROM docs WHERE b ?| array['tags', 'a'] ORDER BY id;
SELECT id FROM docs WHERE b ?& array['tags', 'a'] ORDER BY id;
SELECT id, b -> 'bb', b ->> 'bb', (b ->> 'bb')::numeric + 1 FROM docs WHERE b ? 'bb' ORDER BY id;
SELECT id, b #> '{a,d}', b #>> '{a,d}', b['a']['d'], b['tags'][0], b['tags'][-1] FROM docs ORDER BY id;
SELECT id, j -> 'a', j ->> 'a', j -> 0, j ->> -1, j #> '{1}', j #>> '{1}' FROM docs WHERE j IS NOT NULL ORDER BY id;
SELECT id, (b -> 'bb')::int, (b -> 'bb')::float8, (b -> 'bb')::numeric FROM docs WHERE b ? 'bb' ORDER BY id;
SELECT b::int FROM docs WHERE id = 1;
SELECT b::bool FROM docs WHERE id = 3;
SELECT b::text, j::text, b::json, j::jsonb FROM docs WHERE id IN (1, 6) ORDER BY id;
SELECT DISTINCT b FROM (VALUES ('1'::jsonb), ('1.0'), ('"1"'), ('{"a": 1.0, "b": 2}'), ('{"b": 2, "a": 1}')) v(b) ORDER BY b;
SELECT b -> 'bb' AS bb, count(*) FROM docs GROUP BY b -> 'bb' ORDER BY bb;
SELECT count(DISTINCT b), count(b), count(j), min(id) FROM docs;
SELECT x.id, y.id FROM docs x JOIN docs y ON x.b -> 'bb' = y.b -> 'bb' AND x.id < y.id ORDER BY 1, 2;
SELECT id FROM docs WHERE b -> 'bb' IN (SELECT b -> 'bb' FROM docs WHERE id = 8) ORDER BY id;
SELECT b FROM docs WHERE id < 3 UNION SELECT b FROM docs WHERE id < 4 ORDER BY 1;
UPDATE docs SET b = b || '{"new": [1]}' WHERE id = 8 RETURNING b;
UPDATE docs SET b = jsonb_set(b, '{new,0}', '"x"') WHERE b ? 'new' RETURNING id, b;
UPDATE docs SET b = b - 'new' WHERE b ? 'new' RETURNING id, b;
UPDATE docs SET b = b #- '{tags,0}' WHERE id = 8 RETURNING b;
UPDATE docs SET b = '{"x": 1}', j = '{"x" : 1}' WHERE id = 9 RETURNING *;
UPDATE docs SET b = j::jsonb WHERE id = 9;
UPDATE docs SET b = j WHERE id = 9;
UPDATE docs SET b = note WHERE id = 9;
UPDATE docs SET note = b WHERE id = 9 RETURNING note;
DELETE FROM docs WHERE b = '{"x": 1.0}' RETURNING id, b;
DELETE FROM docs WHERE b ->> 'nothing' = 'x';
INSERT INTO docs (id, b) SELECT 20, jsonb_build_object('ids', jsonb_agg(id ORDER BY id)) FROM docs WHERE id < 4 RETURNING b;
INSERT INTO docs (id, b) VALUES (21, jsonb_build_object('k', 1)), (22, to_jsonb('text'::text)), (23, '{}'::jsonb || '{"m": 1}');
SELECT id, b FROM docs WHERE id > 20 ORDER BY id;
INSERT INTO docs (id, b) VALUES (30, '{"a": }');
INSERT INTO docs (id, j) VALUES (30, '{a: 1}');
INSERT INTO docs (id, b) VALUES (30, '"\u0000"');
INSERT INTO docs (id, b) VALUES (30, '"\ud800"');
INSERT INTO docs (id, b) VALUES (30, 1);
INSERT INTO docs (id, b) VALUES (30, 'x'::text);
INSERT INTO docs (id, j) VALUES (31, '"\u0000"') RETURNING j;
SELECT j ->> 0 FROM docs WHERE id = 31;
SELECT j::jsonb FROM docs WHERE id = 31;
DELETE FROM docs WHERE id = 31;
-- Keys, defaults, constraints.
CREATE TABLE keyed (k jsonb PRIMARY KEY, v int);
INSERT INTO keyed VALUES ('{"a": 1.0}', 1), ('[]', 2), ('null', 3), ('{"b": 1}', 4), ('[1, 2]', 5), ('"x"', 6), ('2', 7), ('true', 8);
INSERT INTO keyed VALUES ('{"a": 1.00}', 9);
INSERT INTO keyed VALUES ('{"a": 1}', 9) ON CONFLICT (k) DO UPDATE SET v = excluded.v RETURNING k, v;
SELECT * FROM keyed ORDER BY k;
SELECT * FROM keyed WHERE k = '{"a": 1}';
SELECT * FROM keyed WHERE k > '[1]' ORDER BY k;
SELECT * FROM keyed WHERE k = '2.00';
CREATE TABLE of_json (j json PRIMARY KEY);
CREATE TABLE of_json (j json UNIQUE);
CREATE TABLE defaults (id int PRIMARY KEY, b jsonb NOT NULL DEFAULT '{"x": [1]}', j json DEFAULT '[ ]', u jsonb UNIQUE, CHECK (b <> '{}'));
INSERT INTO defaults (id) VALUES (1) RETURNING *;
INSERT INTO defaults (id, b) VALUES (2, NULL);
INSERT INTO defaults (id, b) VALUES (2, '{}');
INSERT INTO defaults (id, u) VALUES (2, '[1, 2.0]');
INSERT INTO defaults (id, u) VALUES (3, '[1.0, 2]');
CREATE INDEX by_b ON defaults (b);
SELECT id FROM defaults WHERE b = '{"x": [1.0]}' ORDER BY id;
ALTER TABLE defaults ADD COLUMN more jsonb DEFAULT '{"added": true}';
SELECT id, more FROM defaults ORDER BY id;
CREATE TABLE arrays (id int PRIMARY KEY, bs jsonb[], js json[]);
INSERT INTO arrays VALUES (1, '{"{\"a\": 1}",NULL,"[1, 2]"}', array['{"a" : 1}'::json, '2']), (2, '{}', NULL);
SELECT * FROM arrays ORDER BY id;
SELECT bs[1] -> 'a', js[1] ->> 'a', array_length(bs, 1) FROM arrays WHERE id = 1;
SELECT id FROM arrays WHERE '[1, 2.0]' = ANY (bs);
-- Parameters.
--! with {"p": [1]}
SELECT $1::jsonb -> 'p';
--! with {"bb": 1}
SELECT id FROM docs WHERE b @> $1 ORDER BY id;
--! with 40|{"q" : 1}|{"q" : 1}
INSERT INTO docs (id, j, b) VALUES ($1, $2, $3) RETURNING j, b;
--! with q
SELECT b ->> $1, j -> $1 FROM docs WHERE id = 40;
--! with {q}
SELECT b #> $1 FROM docs WHERE id = 40;
--! with {"bad
SELECT $1::jsonb;
--! describe
SELECT j, b, b -> 'a', b ->> 'a', $1::jsonb, to_json(1) FROM docs WHERE b = $2;
-- COPY.
COPY docs (id, j, b) FROM STDIN;
50	{"t" : "a\\tb"}	{"t": "a\\tb"}
51	\N	[1, 2]
\.
SELECT j ->> 't', b ->> 't' FROM docs WHERE id = 50;
COPY (SELECT id, j, b FROM docs WHERE id >= 50 ORDER BY id) TO STDOUT;
COPY (SELECT id, j, b FROM docs WHERE id >= 50 ORDER BY id) TO STDOUT WITH (FORMAT csv);
COPY docs (id, b) FROM STDIN;
52	{"t":
\.
-- Sets.
SELECT * FROM jsonb_each('{"b": 1, "a": null, "c": "x"}');
SELECT * FROM jsonb_each_text('{"b": 1, "a": null, "c": "x"}');
SELECT * FROM json_each('{"b": 1, "a": null, "b" : "x"}');
SELECT * FROM json_each_text('{"b": 1, "a": null, "b" : "x"}') AS t (k, v);
SELECT * FROM jsonb_array_elements('[1, "a", null]') WITH ORDINALITY;
SELECT e, e ->> 'n' FROM jsonb_array_elements('[{"n": 1}, {"n": "x"}]') e;
SELECT value FROM json_array_elements_text('["a", null, 1.0]');
SELECT id, key, value FROM docs, jsonb_each(b) WHERE id IN (1, 8) ORDER BY id, key;
SELECT id, t.tag FROM docs, jsonb_array_elements_text(b -> 'tags') AS t (tag) ORDER BY id, tag;
SELECT id, k FROM docs LEFT JOIN LATERAL jsonb_object_keys(b -> 'a') k ON true WHERE jsonb_typeof(b) = 'object' ORDER BY id, k;
SELECT id, jsonb_object_keys(b) FROM docs WHERE id IN (1, 8) ORDER BY 1, 2;
SELECT jsonb_array_elements('[1, 2]'), json_array_elements('["a", "b", "c"]');
SELECT * FROM jsonb_each('[]');
SELECT jsonb_array_elements(b) FROM docs WHERE id = 1;
-- Aggregates.
SELECT json_agg(id ORDER BY id), jsonb_agg(id ORDER BY id DESC) FROM docs WHERE id < 4;
SELECT json_agg(b ORDER BY id), jsonb_agg(j ORDER BY id) FROM docs WHERE id < 4;
SELECT json_agg(id), jsonb_agg(id), json_object_agg(id, id), jsonb_object_agg(id, id) FROM docs WHERE id < 0;
SELECT json_object_agg(note, id ORDER BY id), jsonb_object_agg(note, b ORDER BY id) FROM docs WHERE id < 5;
SELECT jsonb_object_agg(note, id) FROM docs;
SELECT id % 2 AS odd, jsonb_agg(note ORDER BY id) FILTER (WHERE note IS NOT NULL) FROM docs WHERE id < 9 GROUP BY 1 ORDER BY 1;
SELECT jsonb_agg(DISTINCT b) FROM docs WHERE id IN (3, 4, 6);
SELECT id, jsonb_agg(id) OVER (ORDER BY id) FROM docs WHERE id < 4 ORDER BY id;
-- Rows.
--! missing: rows that the INSERT above has
SELECT row_to_json(docs) FROM docs WHERE id = 1;
SELECT row_to_json(d) FROM (SELECT id, note, b -> 'a' AS a FROM docs WHERE id < 3) d ORDER BY id;
SELECT row_to_json(d, true) FROM (SELECT id, note, array[1, 2] AS l FROM docs WHERE id < 3) d ORDER BY id;
SELECT json_agg(d) FROM (SELECT id, note FROM docs WHERE id < 4 ORDER BY id) d;
SELECT jsonb_agg(d) FROM (SELECT id, note, j FROM docs WHERE id < 4 ORDER BY id) d;
SELECT json_agg(row_to_json(d)) FROM (SELECT id, note FROM docs WHERE id < 3 ORDER BY id) d;
--! missing: rows that the INSERT above has
SELECT to_jsonb(d) - 'b' - 'j' FROM docs d WHERE id = 2;
SELECT json_build_object('doc', d, 'n', 1) FROM (SELECT id, note FROM docs WHERE id = 2) d;
SELECT row_to_json(row(1, 'a', NULL, row(2, 'b')));
SELECT row_to_json(row(1, 'a'), true);
SELECT to_json(row(1, array[1, 2])), to_jsonb(row(1, 'a', row(2)));
SELECT jsonb_build_object('r', row(1, 2)), json_build_array(row(1, 2), 3);
SELECT json_agg(row(id, note) ORDER BY id) FROM docs WHERE id < 3;
SELECT x.id, (SELECT json_agg(y.note ORDER BY y.id) FROM docs y WHERE y.id > x.id AND y.id < 5) FROM docs x WHERE x.id < 4 ORDER BY x.id;
SELECT x.id, (SELECT jsonb_agg(to_jsonb(y) ORDER BY y.id) FROM (SELECT id, note FROM docs) y WHERE y.id = x.id + 1) FROM docs x WHERE x.id < 4 ORDER BY x.id;
--! unsupported
SELECT x.id, to_json(y) FROM docs x LEFT JOIN docs y ON y.id = x.id + 100;
-- Subscripts, and what is refused.
SELECT ('{"a": {"b": [1, "x"]}}'::jsonb)['a']['b'][1], ('[1, 2]'::jsonb)['0'], ('1'::jsonb)[0], ('{"a": 1}'::jsonb)[NULL];
SELECT ('{"a": 1}'::json)['a'];
SELECT '{"a": 1}'::json @> '{}';
SELECT json_typeof(1);
SELECT greatest('1'::json, '2');
SELECT to_json('a');
SELECT jsonb_build_object('a', 1, NULL, 2);
SELECT json_object('{a,1,b}');
SELECT max(b) FROM docs;
-- Views, CASE, COALESCE and their like.
CREATE VIEW doc_names AS SELECT id, b ->> 'bb' AS bb, b @> '{"bb": 1}' AS is_one FROM docs WHERE b ? 'bb';
SELECT * FROM doc_names ORDER BY id;
SELECT id, CASE WHEN b ? 'bb' THEN b -> 'bb' ELSE 'false' END, coalesce(b -> 'bb', '0'), nullif(b -> 'bb', '1.0') FROM docs WHERE id < 10 ORDER BY id;
SELECT '{"a": 1}'::jsonb || NULL IS NULL, NULL::jsonb -> 'a' IS NULL, jsonb_set('{}', NULL, '1') IS NULL;
SELECT jsonb '{"a": 1}', json '{"a" : 1}', CAST('[1 ]' AS json), CAST('[1 ]' AS jsonb);
--! missing: rows that the INSERT above has
SELECT pg_typeof('1'::jsonb), pg_typeof('1'::json), pg_typeof('{}'::jsonb[]);
SELECT concat('{"a" : 1}'::jsonb, '-', '{"a" : 1}'::json), '{"a" : 1}'::jsonb || 'x'::text, format('%s', '[1,2]'::jsonb);
DROP VIEW doc_names;
DROP TABLE arrays;
DROP TABLE defaults;
DROP TABLE keyed;
DROP TABLE docs;
