-- Domains: definition, columns, casts, constraints, changes, what depends on them, catalogs.
CREATE DOMAIN posint AS integer CHECK (VALUE > 0);
CREATE DOMAIN posint AS integer;
CREATE TYPE posint AS ENUM ('a');
CREATE TABLE posint (a int);
CREATE DOMAIN code AS varchar(5) NOT NULL DEFAULT 'x1' CONSTRAINT code_short CHECK (length(VALUE) >= 2) CONSTRAINT code_lower CHECK (VALUE = lower(VALUE));
CREATE DOMAIN price numeric(8,2) DEFAULT 0 CHECK (VALUE >= 0) NULL;
CREATE DOMAIN plain AS text;
CREATE DOMAIN "Mixed Case" AS text CHECK (VALUE <> '');
CREATE DOMAIN stamp AS timestamp DEFAULT '2020-01-01 00:00:00';
CREATE DOMAIN wrong AS integer CHECK (VALUE);
CREATE DOMAIN wrong AS integer CHECK (VALUE + 1);
CREATE DOMAIN wrong AS integer CHECK (x > 0);
CREATE DOMAIN wrong AS integer CHECK (VALUE > (SELECT 1));
CREATE DOMAIN wrong AS integer CHECK (VALUE > 'x');
CREATE DOMAIN wrong AS nothing;
CREATE DOMAIN wrong AS integer NOT NULL NULL;
CREATE DOMAIN wrong AS integer DEFAULT 1 DEFAULT 2;
CREATE DOMAIN wrong AS integer DEFAULT 'x';
CREATE DOMAIN wrong AS integer UNIQUE;
CREATE DOMAIN wrong AS integer PRIMARY KEY;
CREATE DOMAIN wrong AS integer REFERENCES item;
CREATE DOMAIN wrong AS integer COLLATE "C";
CREATE DOMAIN wrong AS integer CONSTRAINT a CHECK (VALUE > 0) CONSTRAINT a CHECK (VALUE > 1);
CREATE DOMAIN nowhere.wrong AS integer;
CREATE DOMAIN wrong;
CREATE DOMAIN wrong AS;
CREATE DOMAIN c_text AS text COLLATE "C";
DROP DOMAIN c_text;
SELECT 5::posint, '7'::posint, cast(2.6 AS posint), 5::posint + 1, -(5::posint);
SELECT 0::posint;
SELECT (-1)::posint;
SELECT 'abc'::posint;
SELECT NULL::posint;
SELECT NULL::code;
SELECT 'X'::code;
SELECT 'x'::code;
SELECT 'xyzzyx'::code, 'ab'::code || 'c', length('abc'::code);
SELECT 'XY'::code;
SELECT 1.239::price, (-1)::price, 1::price;
SELECT 1.239::price, 1::price, 2::price * 2;
SELECT posint '5', price '7';
SELECT ''::"Mixed Case";
SELECT 'a'::"Mixed Case", 'b'::plain;
SELECT (5::posint)::text, (5::posint)::bigint, (5::posint)::numeric / 2;
SELECT 5::posint = 5, 5::posint < 6.5, 5::posint IN (5, 6), 5::posint BETWEEN 1 AND 9;
SELECT coalesce(NULL, 5::posint), greatest(5::posint, 7), nullif(5::posint, 5), CASE WHEN true THEN 5::posint ELSE 6 END;
SELECT true::posint;
SELECT '2020-01-02'::date::posint;
SELECT 'a'::plain::posint;
SELECT '12'::plain::posint;
SELECT x::posint FROM generate_series(0, 2) AS g(x) ORDER BY x;
SELECT x::posint FROM generate_series(1, 3) AS g(x) ORDER BY x;
SELECT count(*) FROM generate_series(1, 3) AS g(x) WHERE x::posint > 1;
SELECT sum(x::posint), max(x::posint), min(x::posint) FROM generate_series(1, 3) AS g(x);
SELECT x::posint AS p, count(*) FROM generate_series(1, 3) AS g(x) GROUP BY 1 ORDER BY 1;
SELECT (SELECT 3::posint), ARRAY[1::posint, 2], row_to_json(r) FROM (SELECT 1::posint AS a) AS r;
SELECT 1::posint UNION SELECT 2 ORDER BY 1;
WITH w AS (SELECT 4::posint AS a) SELECT a + 1 FROM w;
CREATE TABLE item (id posint PRIMARY KEY, code code, price price, note plain, at stamp);
INSERT INTO item VALUES (1, 'ab', 1.5, 'one', '2021-02-03');
INSERT INTO item (id) VALUES (2);
INSERT INTO item (id, code, price) VALUES (3, DEFAULT, NULL), (4, 'cd', DEFAULT);
INSERT INTO item (id, code) VALUES (0, 'ab');
INSERT INTO item (id, code) VALUES (5, NULL);
INSERT INTO item (id, code) VALUES (5, 'A');
INSERT INTO item (id, code) VALUES (5, 'AB');
INSERT INTO item (id, code) VALUES (5, 'abcdef');
INSERT INTO item (id, price) VALUES (5, -1);
INSERT INTO item (id, price) VALUES (5, 'x');
INSERT INTO item (id, note) VALUES (5, 7);
INSERT INTO item (id, note) VALUES (true, 'x');
INSERT INTO item (id) VALUES (NULL);
INSERT INTO item DEFAULT VALUES;
INSERT INTO item (id, price) VALUES (5, 12.345), (6, -2), (7, 1);
INSERT INTO item (id, price) SELECT x, x FROM generate_series(10, 12) AS g(x);
INSERT INTO item (id, price) SELECT x, 11 - x FROM generate_series(9, 13) AS g(x) WHERE x > 12;
INSERT INTO item (id, code) SELECT 13, upper(code) FROM item WHERE id = 1;
INSERT INTO item (id, code) SELECT 13, code || 'z' FROM item WHERE id = 1 RETURNING id, code, price;
INSERT INTO item (id) VALUES (20::posint), ('21'::posint);
INSERT INTO item (id) VALUES ((-20)::posint);
SELECT * FROM item ORDER BY id;
--! describe
SELECT id, code, price, note, at, id + 1 FROM item;
SELECT id FROM item WHERE id = 2;
SELECT id FROM item WHERE id = 2::posint;
SELECT id FROM item WHERE id > 10 AND code = 'x1' ORDER BY id;
SELECT code, count(*), sum(price) FROM item GROUP BY code ORDER BY code;
SELECT a.id, b.id FROM item a JOIN item b ON a.price = b.price AND a.id < b.id ORDER BY 1, 2;
SELECT DISTINCT code FROM item ORDER BY code DESC;
SELECT upper(code), length(code), code || '!', code LIKE 'a%' FROM item WHERE id = 1;
SELECT id % 2, round(price, 1) FROM item WHERE id < 3 ORDER BY id;
--! missing: an array of a domain
SELECT array_agg(id ORDER BY id) FROM item WHERE id < 4;
SELECT string_agg(code, ',' ORDER BY id) FROM item WHERE id < 4;
SELECT id, sum(price) OVER (ORDER BY id) FROM item WHERE id < 5 ORDER BY id;
SELECT max(id), min(code), avg(price) FROM item;
SELECT id FROM item WHERE at < '2020-06-01' ORDER BY id LIMIT 2;
SELECT id FROM item WHERE code IN (SELECT code FROM item WHERE id = 1) ORDER BY id;
UPDATE item SET price = price + 1 WHERE id = 1 RETURNING price;
UPDATE item SET price = -price WHERE id = 1;
UPDATE item SET price = price - 100 WHERE id = 1;
UPDATE item SET code = NULL WHERE id = 1;
UPDATE item SET code = upper(code) WHERE id = 1;
UPDATE item SET code = DEFAULT, price = DEFAULT WHERE id = 1 RETURNING *;
UPDATE item SET id = id - 30 WHERE id = 21;
UPDATE item SET price = o.price - 5 FROM item AS o WHERE o.id = item.id AND item.id = 10 RETURNING item.price;
UPDATE item SET price = o.price - 50 FROM item AS o WHERE o.id = item.id AND item.id = 10;
INSERT INTO item (id, price) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET price = excluded.price + 1 RETURNING price;
INSERT INTO item (id, price) VALUES (1, 5) ON CONFLICT (id) DO UPDATE SET price = -1;
INSERT INTO item (id, price) VALUES (1, -5) ON CONFLICT (id) DO NOTHING;
DELETE FROM item WHERE id = 13 RETURNING id, code;
COPY item (id, code, price) FROM STDIN;
30	ef	3.25
31	gh	\N
\.
COPY item (id, code, price) FROM STDIN;
32	ef	-3.25
\.
COPY item (id, code, price) FROM STDIN;
33	\N	1
\.
COPY item (id, code) FROM STDIN;
34	toolong
\.
SELECT id, code, price FROM item WHERE id >= 30 ORDER BY id;
PREPARE put AS INSERT INTO item (id, code) VALUES ($1, $2) RETURNING id, code;
EXECUTE put (40, 'ij');
EXECUTE put (41, 'IJ');
EXECUTE put (-1, 'ij');
DEALLOCATE put;
--! with 42|kl
--! missing: parameters are described as the base type
INSERT INTO item (id, code) VALUES ($1, $2) RETURNING id, code;
--! with 43|K
INSERT INTO item (id, code) VALUES ($1, $2) RETURNING id, code;
MERGE INTO item USING (VALUES (1, -3), (50, 3)) AS s (id, price) ON item.id = s.id WHEN MATCHED THEN UPDATE SET price = s.price WHEN NOT MATCHED THEN INSERT (id, price) VALUES (s.id, s.price);
MERGE INTO item USING (VALUES (1, 4), (50, 3)) AS s (id, price) ON item.id = s.id WHEN MATCHED THEN UPDATE SET price = s.price WHEN NOT MATCHED THEN INSERT (id, price) VALUES (s.id, s.price);
SELECT id, price FROM item WHERE id IN (1, 50) ORDER BY id;
-- Domains over domains and enums.
CREATE DOMAIN small AS posint CHECK (VALUE < 100);
CREATE DOMAIN tiny AS small NOT NULL CHECK (VALUE < 10);
CREATE DOMAIN mycode AS code;
SELECT 5::tiny, 50::small, 5::tiny::small::posint::int;
SELECT 50::tiny;
SELECT 500::tiny;
SELECT 0::tiny;
SELECT NULL::small;
SELECT NULL::tiny;
SELECT 50::small::tiny;
CREATE TABLE nested (a tiny DEFAULT 3, b small, c mycode);
INSERT INTO nested DEFAULT VALUES;
INSERT INTO nested (a) VALUES (10);
INSERT INTO nested (b) VALUES (100);
INSERT INTO nested (b) VALUES (0);
INSERT INTO nested (a) VALUES (NULL);
INSERT INTO nested (c) VALUES ('Q');
SELECT * FROM nested;
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE DOMAIN good_mood AS mood DEFAULT 'ok' CHECK (VALUE > 'sad');
SELECT 'ok'::good_mood, 'happy'::good_mood > 'ok';
SELECT 'ok'::good_mood, 'happy'::good_mood::mood > 'ok', 'ok'::good_mood::text;
SELECT 'sad'::good_mood;
SELECT 'glad'::good_mood;
CREATE TABLE person (id int PRIMARY KEY, feels good_mood);
INSERT INTO person VALUES (1, DEFAULT), (2, 'happy');
INSERT INTO person VALUES (3, 'sad');
SELECT * FROM person ORDER BY feels;
SELECT id FROM person WHERE feels = 'happy';
SELECT id FROM person WHERE feels::mood = 'happy';
UPDATE person SET feels = 'sad' WHERE id = 1;
UPDATE person SET feels = 'happy' WHERE id = 1 RETURNING feels;
ALTER TYPE mood ADD VALUE 'great';
INSERT INTO person VALUES (4, 'great');
SELECT max(feels) FROM person;
CREATE DOMAIN words AS text[] NOT NULL;
SELECT '{a,b}'::words, ('{a,b}'::words)[2], array_length('{a,b}'::words, 1);
--! unsupported
CREATE TABLE of_arrays (a posint[]);
--! unsupported
SELECT '{1,2}'::posint[];
-- Tables that have a domain already, and their changes.
CREATE TABLE old (id int PRIMARY KEY, a int, t text);
INSERT INTO old VALUES (1, 1, 'ab'), (2, 2, 'cd');
ALTER TABLE old ADD COLUMN p posint;
ALTER TABLE old ADD COLUMN q price;
ALTER TABLE old ADD COLUMN c code;
ALTER TABLE old ADD COLUMN n tiny;
ALTER TABLE old ADD COLUMN n tiny DEFAULT 7;
ALTER TABLE old ADD COLUMN m tiny DEFAULT 70;
SELECT * FROM old ORDER BY id;
ALTER TABLE old ALTER COLUMN a TYPE posint;
INSERT INTO old (id, a) VALUES (3, 0);
ALTER TABLE old ALTER COLUMN t TYPE posint;
ALTER TABLE old ALTER COLUMN t TYPE posint USING length(t);
SELECT id, t, t + 1 FROM old ORDER BY id;
ALTER TABLE old ALTER COLUMN t TYPE posint USING t - 2;
ALTER TABLE old ALTER COLUMN t TYPE text;
INSERT INTO old (id, t) VALUES (3, '');
ALTER TABLE old ALTER COLUMN p SET DEFAULT 4;
INSERT INTO old (id) VALUES (4);
ALTER TABLE old ALTER COLUMN p SET DEFAULT -4;
INSERT INTO old (id) VALUES (5);
ALTER TABLE old ALTER COLUMN p DROP DEFAULT;
ALTER TABLE old ALTER COLUMN c SET DEFAULT 'zz';
INSERT INTO old (id) VALUES (5);
ALTER TABLE old ALTER COLUMN c DROP DEFAULT;
INSERT INTO old (id) VALUES (6);
SELECT * FROM old ORDER BY id;
CREATE TABLE like_old (LIKE item);
INSERT INTO like_old (id, code) VALUES (0, 'ab');
INSERT INTO like_old (id, code) VALUES (1, 'ab');
CREATE TABLE as_item AS SELECT id, code FROM item WHERE id < 3;
INSERT INTO as_item VALUES (0, 'ab');
INSERT INTO as_item VALUES (7, 'ab');
--! unsupported
CREATE TABLE as_cast AS SELECT 5::posint AS a;
CREATE VIEW item_view AS SELECT id, code, price * 2 AS twice FROM item WHERE id < 3::posint;
SELECT * FROM item_view ORDER BY id;
CREATE TABLE checked (a int CHECK (a::posint < 10), b text);
INSERT INTO checked VALUES (5);
INSERT INTO checked VALUES (11);
INSERT INTO checked VALUES (-1);
CREATE TABLE with_default (a int DEFAULT 5::posint, b int);
INSERT INTO with_default (b) VALUES (1) RETURNING *;
--! unsupported
CREATE INDEX by_cast ON old ((a::posint));
--! unsupported
CREATE TABLE generated (a int, b posint GENERATED ALWAYS AS (a + 1) STORED);
CREATE TABLE with_identity (a posint GENERATED ALWAYS AS IDENTITY);
CREATE TABLE parent (id posint PRIMARY KEY);
CREATE TABLE child (id int PRIMARY KEY, parent small DEFAULT 1 REFERENCES parent ON UPDATE CASCADE ON DELETE SET DEFAULT);
INSERT INTO parent VALUES (1), (5);
INSERT INTO child VALUES (1, 5), (2, 5);
INSERT INTO child VALUES (3, 6);
UPDATE parent SET id = 6 WHERE id = 5;
UPDATE parent SET id = 600 WHERE id = 6;
SELECT * FROM child ORDER BY id;
DELETE FROM parent WHERE id = 6;
SELECT * FROM child ORDER BY id;
CREATE TABLE child_of_tiny (id int PRIMARY KEY, parent tiny REFERENCES parent ON DELETE SET NULL);
INSERT INTO child_of_tiny VALUES (1, 1);
DELETE FROM child;
DELETE FROM parent WHERE id = 1;
DROP TABLE child, child_of_tiny, parent;
-- Changes of domains.
ALTER DOMAIN posint ADD CONSTRAINT below CHECK (VALUE < 1000);
SELECT 1000::posint;
INSERT INTO item (id) VALUES (1000);
SELECT 1000::small;
ALTER DOMAIN posint ADD CONSTRAINT below CHECK (VALUE < 1000);
ALTER DOMAIN posint ADD CONSTRAINT few CHECK (VALUE < 20);
ALTER DOMAIN posint ADD CONSTRAINT few CHECK (VALUE < 20) NOT VALID;
INSERT INTO item (id) VALUES (60);
UPDATE item SET price = 9 WHERE id = 50 RETURNING id, price;
UPDATE item SET id = id WHERE id = 50;
ALTER DOMAIN posint VALIDATE CONSTRAINT few;
DELETE FROM item WHERE id >= 20;
ALTER DOMAIN posint VALIDATE CONSTRAINT few;
ALTER DOMAIN posint VALIDATE CONSTRAINT few;
ALTER DOMAIN posint VALIDATE CONSTRAINT absent;
ALTER DOMAIN posint RENAME CONSTRAINT few TO not_many;
ALTER DOMAIN posint RENAME CONSTRAINT few TO other;
ALTER DOMAIN posint RENAME CONSTRAINT below TO not_many;
SELECT 500::posint;
ALTER DOMAIN posint DROP CONSTRAINT few;
ALTER DOMAIN posint DROP CONSTRAINT IF EXISTS few;
ALTER DOMAIN posint DROP CONSTRAINT not_many;
ALTER DOMAIN posint DROP CONSTRAINT below RESTRICT;
SELECT 5000::posint;
ALTER DOMAIN posint ADD CHECK (VALUE <> 13);
ALTER DOMAIN posint ADD CHECK (VALUE <> 14);
--! missing: the types name, char and regtype of columns of the catalog
SELECT conname FROM pg_constraint WHERE contypid = 'posint'::regtype ORDER BY conname;
SELECT 13::posint;
SELECT 14::posint;
ALTER DOMAIN posint DROP CONSTRAINT posint_check1;
SELECT 13::posint;
ALTER DOMAIN posint ADD UNIQUE;
ALTER DOMAIN posint ADD PRIMARY KEY;
ALTER DOMAIN posint ADD CHECK (VALUE);
ALTER DOMAIN price SET NOT NULL;
UPDATE item SET price = 1 WHERE price IS NULL;
ALTER DOMAIN price SET NOT NULL;
UPDATE old SET q = 1 WHERE q IS NULL;
ALTER DOMAIN price SET NOT NULL;
ALTER DOMAIN price SET NOT NULL;
SELECT NULL::price;
INSERT INTO item (id, price) VALUES (15, NULL);
ALTER DOMAIN price DROP NOT NULL;
INSERT INTO item (id, price) VALUES (15, NULL);
ALTER DOMAIN price SET DEFAULT 7;
INSERT INTO item (id) VALUES (16) RETURNING price;
ALTER DOMAIN price SET DEFAULT 'x';
ALTER DOMAIN price SET DEFAULT -7;
INSERT INTO item (id) VALUES (17);
ALTER DOMAIN price DROP DEFAULT;
INSERT INTO item (id) VALUES (17) RETURNING price;
ALTER DOMAIN code DROP NOT NULL;
ALTER DOMAIN absent SET NOT NULL;
ALTER DOMAIN mood SET NOT NULL;
ALTER DOMAIN integer SET NOT NULL;
ALTER DOMAIN item SET NOT NULL;
ALTER TYPE posint ADD VALUE 'x';
ALTER DOMAIN plain RENAME TO simple;
SELECT 'a'::simple;
SELECT 'a'::plain;
SELECT note FROM item WHERE id = 1;
ALTER DOMAIN simple RENAME TO posint;
ALTER DOMAIN posint RENAME TO natural_number;
SELECT * FROM item_view ORDER BY id;
SELECT 0::natural_number;
INSERT INTO checked VALUES (-1);
INSERT INTO checked VALUES (6);
INSERT INTO with_default (b) VALUES (2) RETURNING *;
ALTER TYPE natural_number RENAME TO posint;
CREATE SCHEMA apart;
ALTER DOMAIN simple SET SCHEMA apart;
SELECT 'a'::simple;
SELECT 'a'::apart.simple;
CREATE DOMAIN apart.odd AS int CHECK (VALUE % 2 = 1);
SELECT 3::apart.odd;
SELECT 4::apart.odd;
CREATE TABLE apart.t (a apart.odd);
INSERT INTO apart.t VALUES (2);
INSERT INTO apart.t VALUES (3);
-- A transaction sees its own changes, and they go with it.
BEGIN;
CREATE DOMAIN brief AS text CHECK (length(VALUE) < 5);
CREATE TABLE briefly (a brief);
INSERT INTO briefly VALUES ('abcd');
ALTER DOMAIN brief ADD CONSTRAINT no_a CHECK (VALUE NOT LIKE 'a%') NOT VALID;
INSERT INTO briefly VALUES ('bcd');
SAVEPOINT s;
INSERT INTO briefly VALUES ('acd');
ROLLBACK TO s;
SELECT a FROM briefly ORDER BY a;
ROLLBACK;
SELECT 'a'::brief;
-- Catalogs.
--! missing: the types name, char and regtype of columns of the catalog
SELECT typname, typtype, typcategory, typnotnull, typbasetype::regtype, typtypmod, typlen, typbyval FROM pg_type WHERE typname IN ('posint', 'small', 'tiny', 'code', 'price', 'good_mood', 'words') ORDER BY typname;
--! missing: the types name, char and regtype of columns of the catalog
SELECT conname, contype, convalidated, contypid::regtype, conrelid, pg_get_constraintdef(oid), pg_get_constraintdef(oid, true) FROM pg_constraint WHERE contypid <> 0 AND conname IN ('posint_check', 'code_short', 'code_lower') ORDER BY conname;
--! missing: the types name, char and regtype of columns of the catalog
SELECT attname, atttypid::regtype, atttypmod, attnotnull, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'item'::regclass AND attnum > 0 ORDER BY attnum;
--! missing: the types name, char and regtype of columns of the catalog
SELECT column_name, data_type, character_maximum_length, numeric_precision, is_nullable, domain_schema, domain_name, udt_name FROM information_schema.columns WHERE table_name = 'item' ORDER BY ordinal_position;
--! missing: the types name, char and regtype of columns of the catalog
SELECT domain_schema, domain_name, data_type, character_maximum_length, numeric_precision, numeric_scale, udt_name FROM information_schema.domains WHERE domain_name IN ('posint', 'code', 'price', 'good_mood', 'odd') ORDER BY domain_name;
--! missing: the types name, char and regtype of columns of the catalog
SELECT constraint_name, domain_name, is_deferrable FROM information_schema.domain_constraints WHERE domain_name IN ('posint', 'code', 'tiny') ORDER BY 2, 1;
--! missing: the types name, char and regtype of columns of the catalog
SELECT domain_name, table_name, column_name FROM information_schema.column_domain_usage WHERE domain_name IN ('posint', 'tiny') ORDER BY 1, 2, 3;
--! missing: regtype as the type of a result
SELECT format_type('posint'::regtype, NULL), 'apart.odd'::regtype, 'posint'::regtype::oid = (SELECT oid FROM pg_type WHERE typname = 'posint');
COMMENT ON DOMAIN posint IS 'above zero';
COMMENT ON TYPE small IS 'below a hundred';
COMMENT ON CONSTRAINT posint_check ON DOMAIN posint IS 'it is so';
COMMENT ON CONSTRAINT absent ON DOMAIN posint IS 'it is so';
COMMENT ON DOMAIN mood IS 'x';
COMMENT ON DOMAIN absent IS 'x';
SELECT obj_description('posint'::regtype, 'pg_type'), obj_description('small'::regtype, 'pg_type');
SELECT obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'posint_check';
GRANT USAGE ON DOMAIN posint TO PUBLIC;
REVOKE USAGE ON DOMAIN posint FROM PUBLIC;
GRANT USAGE ON DOMAIN mood TO PUBLIC;
GRANT USAGE ON DOMAIN absent TO PUBLIC;
GRANT USAGE ON TYPE small TO PUBLIC;
GRANT SELECT ON DOMAIN posint TO PUBLIC;
-- What is not built.
--! unsupported
CREATE DOMAIN digits AS text CHECK (VALUE ~ '^[0-9]+$');
--! unsupported
CREATE DOMAIN pg_temp.brief AS text;
--! unsupported
ALTER DOMAIN small ADD CHECK (VALUE::posint > 0);
--! unsupported
CREATE FUNCTION of_domain (a posint) RETURNS int LANGUAGE sql AS 'SELECT 1';
-- What depends on a domain.
DROP DOMAIN absent;
DROP DOMAIN IF EXISTS absent;
DROP DOMAIN mood;
DROP DOMAIN integer;
DROP DOMAIN code;
DROP TABLE checked;
DROP DOMAIN posint RESTRICT;
DROP TYPE mood;
DROP DOMAIN small, tiny;
DROP TYPE mood CASCADE;
SELECT * FROM person ORDER BY id;
DROP DOMAIN tiny CASCADE;
SELECT * FROM nested;
DROP DOMAIN code CASCADE;
SELECT id, price FROM item ORDER BY id LIMIT 2;
ALTER TABLE item DROP CONSTRAINT item_pkey;
DROP DOMAIN posint CASCADE;
INSERT INTO with_default (b) VALUES (3) RETURNING *;
SELECT * FROM item_view;
--! missing: the types name, char and regtype of columns of the catalog
SELECT column_name FROM information_schema.columns WHERE table_name = 'old' ORDER BY ordinal_position;
DROP DOMAIN words, "Mixed Case", stamp CASCADE;
DROP SCHEMA apart CASCADE;
SELECT count(*) FROM pg_type WHERE typtype = 'd' AND typname IN ('posint', 'small', 'tiny', 'code', 'odd', 'simple');
-- What is said behind a domain's name is said of one thing at a time, and closes nothing that it has not opened.
CREATE DOMAIN lone AS int;
ALTER DOMAIN lone ADD CHECK (VALUE > 0) CHECK (VALUE < 100);
ALTER DOMAIN lone ADD CHECK (VALUE > 0) NOT NULL;
ALTER DOMAIN lone SET DEFAULT 1 NOT NULL;
CREATE DOMAIN loose AS int) WITH (fillfactor = 70;
CREATE DOMAIN loose AS int CHECK (VALUE > (0);
SELECT count(*) FROM pg_constraint WHERE contypid = 'lone'::regtype;
CREATE DOMAIN said AS text DEFAULT 'nextval';
CREATE TABLE saying (id int PRIMARY KEY, word said);
INSERT INTO saying (id) VALUES (1);
SELECT * FROM saying;
-- What ON DELETE SET DEFAULT sets follows the column.
CREATE TABLE above (id int PRIMARY KEY);
CREATE DOMAIN below AS int DEFAULT 1 CHECK (VALUE < 100);
CREATE TABLE under (id int PRIMARY KEY, above_id below REFERENCES above ON DELETE SET DEFAULT);
INSERT INTO above VALUES (1), (5), (6);
INSERT INTO under VALUES (1, 5), (2, 6);
DELETE FROM above WHERE id = 5;
SELECT * FROM under ORDER BY id;
ALTER TABLE under ALTER above_id TYPE int;
DELETE FROM above WHERE id = 6;
SELECT * FROM under ORDER BY id;
ALTER TABLE under ALTER above_id SET DEFAULT 7;
INSERT INTO above VALUES (7), (8);
UPDATE under SET above_id = 8 WHERE id = 2;
DELETE FROM above WHERE id = 8;
SELECT * FROM under ORDER BY id;
--! unsupported
SELECT * FROM json_to_recordset('[{"a":500}]') AS x(a below);
DROP TABLE under, above, saying;
DROP DOMAIN lone, said, below;
