-- Triggers: what they see, what they make of rows, in which order they fire, and what they may not.
CREATE TABLE parts (id int PRIMARY KEY, name varchar(10) NOT NULL, price int DEFAULT 7, changed int DEFAULT 0);
CREATE TABLE seen (n serial PRIMARY KEY, what text);
CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen (what) VALUES (TG_NAME || ' ' || TG_WHEN || ' ' || TG_LEVEL || ' ' || TG_OP || ' ' || TG_TABLE_NAME || ' ' || TG_NARGS); RETURN NULL; END $$;
CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.changed := coalesce(OLD.changed, 0) + 1; RETURN NEW; END $$;
CREATE FUNCTION note_rows() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF TG_OP = 'DELETE' THEN INSERT INTO seen (what) VALUES ('gone ' || OLD.id); RETURN OLD; END IF; INSERT INTO seen (what) VALUES (TG_OP || ' ' || NEW.id || ' ' || NEW.name || ' ' || coalesce(NEW.price::text, '-')); RETURN NEW; END $$;
CREATE FUNCTION no_price() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.price < 0 THEN RAISE EXCEPTION 'price % of %', NEW.price, NEW.name USING ERRCODE = 'check_violation'; END IF; IF NEW.price = 0 THEN RETURN NULL; END IF; RETURN NEW; END $$;
CREATE FUNCTION no_trigger() RETURNS int LANGUAGE plpgsql AS $$ BEGIN RETURN 1; END $$;
SELECT note();
CREATE FUNCTION with_arguments(a int) RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER t BEFORE INSERT ON nowhere FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER t BEFORE INSERT ON parts FOR EACH ROW EXECUTE FUNCTION nowhere();
CREATE TRIGGER t BEFORE INSERT ON parts FOR EACH ROW EXECUTE FUNCTION no_trigger();
CREATE TRIGGER t BEFORE UPDATE OF nowhere ON parts FOR EACH ROW EXECUTE FUNCTION note();
CREATE TRIGGER b_price BEFORE INSERT OR UPDATE ON parts FOR EACH ROW EXECUTE FUNCTION no_price();
CREATE TRIGGER b_price BEFORE INSERT ON parts FOR EACH ROW EXECUTE FUNCTION no_price();
CREATE TRIGGER rows_after AFTER INSERT OR UPDATE OR DELETE ON parts FOR EACH ROW EXECUTE FUNCTION note_rows();
CREATE TRIGGER statement_before BEFORE INSERT OR UPDATE OR DELETE ON parts FOR EACH STATEMENT EXECUTE FUNCTION note();
CREATE TRIGGER statement_after AFTER INSERT OR UPDATE OR DELETE ON parts EXECUTE PROCEDURE note();
INSERT INTO parts (id, name) VALUES (1, 'bolt'), (2, 'nut');
INSERT INTO parts VALUES (3, 'gear', 40) RETURNING id, name, price, changed;
INSERT INTO parts VALUES (4, 'nothing', 0);
INSERT INTO parts VALUES (5, 'wrong', -1);
INSERT INTO parts VALUES (6, 'much too long', 1);
INSERT INTO parts SELECT id + 10, name, price FROM parts WHERE id < 3 RETURNING id;
SELECT * FROM parts ORDER BY id;
SELECT what FROM seen ORDER BY n;
DELETE FROM seen;
UPDATE parts SET price = price * 2 WHERE id < 3;
UPDATE parts SET price = 0 WHERE id = 1;
UPDATE parts SET id = 30 WHERE id = 3 RETURNING id, name;
UPDATE parts p SET name = q.name FROM parts q WHERE p.id = 11 AND q.id = 2;
UPDATE parts SET price = 1 WHERE id = 99;
DELETE FROM parts WHERE id > 10 RETURNING id;
SELECT * FROM parts ORDER BY id;
SELECT what FROM seen ORDER BY n;
DELETE FROM seen;
-- A row that is changed before it is written.
CREATE TABLE counted (id serial PRIMARY KEY, v text, changed int);
CREATE FUNCTION stamp() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF TG_OP = 'INSERT' THEN NEW.changed := 1; ELSE NEW.changed := OLD.changed + 1; END IF; NEW.v := upper(NEW.v); RETURN NEW; END $$;
CREATE TRIGGER stamp BEFORE INSERT OR UPDATE ON counted FOR EACH ROW EXECUTE FUNCTION stamp();
INSERT INTO counted (v) VALUES ('a'), ('b');
INSERT INTO counted (id, v) VALUES (10, DEFAULT) RETURNING *;
UPDATE counted SET v = v || 'x' WHERE id < 10 RETURNING *;
INSERT INTO counted (v) SELECT 'from ' || id FROM counted ORDER BY id RETURNING v, changed;
SELECT v, changed FROM counted ORDER BY id;
--! with 3|q
INSERT INTO counted (changed, v) VALUES ($1, $2) RETURNING v, changed;
--! with zz|1
UPDATE counted SET v = $1 WHERE id = $2;
-- WHEN, UPDATE OF, and triggers that are off.
CREATE FUNCTION told() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen (what) VALUES (TG_NAME || ' ' || NEW.id); RETURN NULL; END $$;
CREATE TRIGGER when_v AFTER UPDATE ON counted FOR EACH ROW WHEN (OLD.v IS DISTINCT FROM NEW.v) EXECUTE FUNCTION told();
CREATE TRIGGER of_v AFTER UPDATE OF v ON counted FOR EACH ROW EXECUTE FUNCTION told();
UPDATE counted SET v = v WHERE id = 1;
UPDATE counted SET v = 'other' WHERE id = 1;
UPDATE counted SET changed = 5 WHERE id = 1;
SELECT what FROM seen ORDER BY n;
DELETE FROM seen;
ALTER TABLE counted DISABLE TRIGGER when_v;
UPDATE counted SET v = 'third' WHERE id = 1;
ALTER TABLE counted ENABLE TRIGGER when_v;
ALTER TABLE counted DISABLE TRIGGER ALL;
UPDATE counted SET v = 'quiet' WHERE id = 1 RETURNING v, changed;
ALTER TABLE counted ENABLE TRIGGER ALL;
ALTER TABLE counted DISABLE TRIGGER nowhere;
SELECT what FROM seen ORDER BY n;
DELETE FROM seen;
-- Within blocks and routines; what fails leaves nothing.
BEGIN;
INSERT INTO counted (v) VALUES ('kept');
SAVEPOINT a;
INSERT INTO parts VALUES (7, 'wrong', -5);
ROLLBACK TO a;
SELECT count(*) FROM counted WHERE v = 'KEPT';
ROLLBACK;
DO $$ BEGIN INSERT INTO parts VALUES (7, 'wrong', -5); EXCEPTION WHEN check_violation THEN INSERT INTO counted (v) VALUES (SQLERRM); END $$;
SELECT v FROM counted WHERE v LIKE 'PRICE%';
CREATE FUNCTION through(a int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE n int; BEGIN UPDATE parts SET price = a WHERE id = 2; GET DIAGNOSTICS n = ROW_COUNT; RETURN n; END $$;
SELECT through(5);
--! unsupported
MERGE INTO parts USING (VALUES (1)) v(id) ON parts.id = v.id WHEN MATCHED THEN DELETE;
--! unsupported
CREATE TRIGGER t AFTER TRUNCATE ON parts EXECUTE FUNCTION note();
--! unsupported
CREATE CONSTRAINT TRIGGER t AFTER INSERT ON parts DEFERRABLE FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO parts VALUES (2, 'again') ON CONFLICT DO NOTHING;
-- Arguments, from 0.
CREATE FUNCTION argued() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE i int := 1; BEGIN INSERT INTO seen (what) VALUES (TG_NARGS || ' ' || TG_ARGV[0] || '|' || TG_ARGV[i + 1] || '|' || coalesce(TG_ARGV[7], 'none') || '|' || array_to_string(TG_ARGV, ',')); NEW.name := TG_ARGV[i]; RETURN NEW; END $$;
CREATE TRIGGER argued BEFORE UPDATE OF name, price ON parts FOR EACH ROW WHEN (NEW.price > 100) EXECUTE FUNCTION argued('it''s', 42, Name, "Name", 1.50, 'a\b');
DELETE FROM seen;
UPDATE parts SET price = 101 WHERE id = 2 RETURNING name;
SELECT what FROM seen WHERE what LIKE '6%';
SELECT tgname::text, tgnargs, tgargs, tgtype, tgenabled::text FROM pg_trigger WHERE tgrelid = 'parts'::regclass ORDER BY tgname;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'parts'::regclass ORDER BY tgname;
SELECT event_object_table::text, trigger_name::text, event_manipulation::text, action_timing::text, action_orientation::text, action_statement::text FROM information_schema.triggers ORDER BY 2, 3;
SELECT t.tgname::text, CASE WHEN t.tgparentid <> 0 THEN (SELECT u.tgrelid FROM pg_catalog.pg_trigger AS u, pg_catalog.pg_partition_ancestors(t.tgrelid) WITH ORDINALITY AS a(relid, depth) WHERE u.tgname = t.tgname AND u.tgrelid = a.relid AND u.tgparentid = 0 ORDER BY a.depth LIMIT 1) END AS parent FROM pg_catalog.pg_trigger t WHERE t.tgrelid = 'parts'::regclass ORDER BY 1;
CREATE TRIGGER t BEFORE INSERT ON parts FOR EACH ROW EXECUTE FUNCTION argued(a.b);
CREATE TRIGGER t BEFORE INSERT ON parts FOR EACH ROW EXECUTE FUNCTION argued(-1);
DROP TRIGGER argued ON parts;
-- What foreign keys do to rows fires triggers; what they leave alone does not keep a table from having some.
CREATE TABLE kept (id int PRIMARY KEY, part int REFERENCES parts ON DELETE CASCADE);
CREATE TRIGGER t BEFORE INSERT OR UPDATE ON kept FOR EACH ROW EXECUTE FUNCTION note();
--! unsupported
CREATE TRIGGER u AFTER DELETE ON kept FOR EACH ROW EXECUTE FUNCTION note();
DROP TABLE kept;
-- An INSERT that may be an UPDATE fires for what it does to each row, and once for both.
DELETE FROM seen;
INSERT INTO parts (id, name, price) VALUES (2, 'upserted', 8), (50, 'fresh', 9) ON CONFLICT (id) DO UPDATE SET name = excluded.name || '!', price = parts.price + excluded.price RETURNING id, name, price;
INSERT INTO parts AS p (id, name) VALUES (50, 'other') ON CONFLICT (id) DO UPDATE SET name = excluded.name WHERE p.price > 100;
INSERT INTO parts (id, name) VALUES (60, 'twice'), (60, 'again') ON CONFLICT (id) DO UPDATE SET name = excluded.name;
INSERT INTO parts (id, name, price) VALUES (50, 'wrong', 3) ON CONFLICT (id) DO UPDATE SET price = -1;
INSERT INTO parts (id, name, price) VALUES (50, 'still', 3) ON CONFLICT (id) DO UPDATE SET price = 0;
INSERT INTO parts (id, name, price) SELECT id, 'all', 1 FROM parts WHERE id IN (2, 50) ON CONFLICT ON CONSTRAINT parts_pkey DO UPDATE SET (name, price) = (excluded.name, DEFAULT);
--! with 50|drawn|4
INSERT INTO parts (id, name, price) VALUES ($1, $2, $3) ON CONFLICT (id) DO UPDATE SET price = $3 + 1, name = $2 RETURNING id, name, price;
SELECT what FROM seen ORDER BY n;
SELECT * FROM parts ORDER BY id;
INSERT INTO parts (id, name) VALUES (50, 'a') ON CONFLICT (id) DO UPDATE SET nowhere = 1;
INSERT INTO parts (id, name) VALUES (50, 'a') ON CONFLICT (name) DO UPDATE SET name = 'b';
INSERT INTO parts (id, name) VALUES (50, 'a') ON CONFLICT DO UPDATE SET name = 'b';
-- Names that another schema of the path has as well.
CREATE SCHEMA other;
CREATE TABLE other.parts (id int PRIMARY KEY, name text);
CREATE TABLE other.things (id int PRIMARY KEY, name text);
CREATE FUNCTION other.shout() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name := upper(NEW.name) || TG_TABLE_SCHEMA; RETURN NEW; END $$;
CREATE TRIGGER shout BEFORE INSERT OR UPDATE ON other.things FOR EACH ROW WHEN (NEW.name <> 'quiet') EXECUTE FUNCTION other.shout();
INSERT INTO other.things VALUES (1, 'a'), (2, 'quiet') RETURNING *;
SET search_path = other, public;
UPDATE public.parts SET price = price + 1 WHERE id = 50 RETURNING id, price;
UPDATE things SET name = name || 'b' RETURNING *;
INSERT INTO things VALUES (1, 'up') ON CONFLICT (id) DO UPDATE SET name = excluded.name RETURNING *;
DELETE FROM parts;
RESET search_path;
SELECT * FROM other.things ORDER BY id;
DROP TABLE other.parts, other.things;
DROP FUNCTION other.shout;
DROP SCHEMA other;
-- Columns that are computed, drawn or given.
CREATE TABLE drawn (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text DEFAULT 'none', twice text GENERATED ALWAYS AS (name || name) STORED);
CREATE FUNCTION trimmed() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN NEW.name := trim(NEW.name); RETURN NEW; END $$;
CREATE TRIGGER trimmed BEFORE INSERT OR UPDATE ON drawn FOR EACH ROW EXECUTE FUNCTION trimmed();
INSERT INTO drawn (name) VALUES (' a '), (DEFAULT) RETURNING *;
INSERT INTO drawn (id, name) VALUES (7, 'b');
INSERT INTO drawn (id, name) OVERRIDING SYSTEM VALUE VALUES (7, ' b ') RETURNING *;
INSERT INTO drawn (id, name) OVERRIDING USER VALUE VALUES (70, ' c ') RETURNING *;
INSERT INTO drawn DEFAULT VALUES RETURNING *;
UPDATE drawn SET name = ' d ' WHERE id = 1 RETURNING *;
UPDATE drawn SET twice = 'x';
INSERT INTO drawn (twice) VALUES (DEFAULT) RETURNING *;
INSERT INTO drawn (name) SELECT ' e ' RETURNING *;
INSERT INTO drawn OVERRIDING SYSTEM VALUE VALUES (90, ' f ', DEFAULT) RETURNING *;
UPDATE drawn SET id = 5 FROM parts WHERE parts.id = drawn.id;
UPDATE drawn SET name = DEFAULT WHERE id = 7 RETURNING *;
UPDATE drawn SET id = 3;
INSERT INTO drawn (name, nowhere) VALUES ('a', 1);
INSERT INTO drawn (name) VALUES (1, 2);
INSERT INTO drawn (name) VALUES (true);
UPDATE drawn SET name = 1 + true;
--! with 1
UPDATE drawn SET name = name || 'x' WHERE id = $1 RETURNING id, name;
DROP TABLE drawn;
DROP FUNCTION trimmed;
-- Rows that are found several times, and triggers that change rows of their own table.
CREATE TABLE nodes (id int PRIMARY KEY, parent int, n int NOT NULL DEFAULT 0);
INSERT INTO nodes VALUES (1, NULL, 0), (2, 1, 0), (3, 1, 0);
CREATE FUNCTION counts() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen (what) VALUES (TG_OP || OLD.id); IF TG_OP = 'DELETE' THEN RETURN OLD; END IF; RETURN NEW; END $$;
CREATE TRIGGER counts BEFORE UPDATE OR DELETE ON nodes FOR EACH ROW EXECUTE FUNCTION counts();
DELETE FROM seen;
UPDATE nodes SET n = 1 FROM (VALUES (1), (2)) AS v (k) WHERE nodes.id = 1;
DELETE FROM nodes USING (VALUES (1), (2)) AS v (k) WHERE nodes.id = 3;
--! unsupported
UPDATE nodes SET n = 1 FROM (VALUES (1), (2)) AS v (k) WHERE nodes.id = 1 RETURNING v.k;
SELECT what FROM seen ORDER BY n;
INSERT INTO nodes VALUES (3, 1, 0);
CREATE FUNCTION spreads() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE nodes SET n = n + 10 WHERE parent = NEW.id; RETURN NEW; END $$;
CREATE TRIGGER spreads BEFORE UPDATE OF parent ON nodes FOR EACH ROW EXECUTE FUNCTION spreads();
UPDATE nodes SET parent = 7 WHERE id = 1;
SELECT * FROM nodes ORDER BY id;
-- Rows as they were inserted: the first one changes the others before their turn.
TRUNCATE nodes;
INSERT INTO nodes VALUES (1, NULL, 0), (2, 1, 0), (3, 1, 0);
UPDATE nodes SET parent = parent;
UPDATE nodes SET parent = parent WHERE id > 1;
CREATE FUNCTION itself() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN UPDATE nodes SET n = 77 WHERE id = NEW.id; RETURN NEW; END $$;
CREATE TRIGGER itself BEFORE UPDATE OF id ON nodes FOR EACH ROW EXECUTE FUNCTION itself();
UPDATE nodes SET id = 4 WHERE id = 3;
DROP TRIGGER itself ON nodes;
CREATE FUNCTION removes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM nodes WHERE parent = OLD.id; RETURN OLD; END $$;
CREATE TRIGGER removes BEFORE DELETE ON nodes FOR EACH ROW EXECUTE FUNCTION removes();
TRUNCATE nodes;
ALTER TABLE nodes DISABLE TRIGGER ALL;
INSERT INTO nodes VALUES (1, NULL, 0), (2, 1, 0), (3, 1, 0);
ALTER TABLE nodes ENABLE TRIGGER ALL;
DELETE FROM nodes;
SELECT count(*) FROM nodes;
DELETE FROM nodes WHERE id = 1;
SELECT count(*) FROM nodes;
DROP TABLE nodes;
DROP FUNCTION counts, spreads, removes, itself;
-- What a condition may name, and what a function may give back.
CREATE TABLE kinds (id int PRIMARY KEY, v text, n int);
CREATE FUNCTION nop() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NEW; END $$;
CREATE FUNCTION nulls() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen (what) VALUES (TG_OP || (OLD IS NULL) || (NEW IS NULL) || coalesce(OLD.v, '-') || coalesce(NEW.v, '-')); RETURN coalesce(NEW, OLD); END $$;
CREATE FUNCTION gives_old() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN OLD; END $$;
CREATE FUNCTION gives_text() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT 'a'::text AS a, 'b'::text AS b, 3 AS c INTO r; RETURN r; END $$;
CREATE FUNCTION gives_one() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN SELECT 1 AS a INTO r; RETURN r; END $$;
CREATE FUNCTION gives_number() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN 5; END $$;
CREATE FUNCTION is_big(n int) RETURNS boolean LANGUAGE sql AS $$ SELECT n > 10 $$;
CREATE TRIGGER a BEFORE UPDATE ON kinds FOR EACH ROW WHEN (nowhere > 1) EXECUTE FUNCTION nop();
CREATE TRIGGER a BEFORE UPDATE ON kinds FOR EACH ROW WHEN (NEW.nowhere > 1) EXECUTE FUNCTION nop();
CREATE TRIGGER a BEFORE UPDATE ON kinds FOR EACH ROW WHEN ((SELECT count(*) FROM kinds) > 1) EXECUTE FUNCTION nop();
CREATE TRIGGER a BEFORE INSERT ON kinds FOR EACH ROW WHEN (OLD.v = 'a') EXECUTE FUNCTION nop();
CREATE TRIGGER a BEFORE INSERT OR UPDATE ON kinds FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION nop();
CREATE TRIGGER a BEFORE DELETE ON kinds FOR EACH ROW WHEN (NEW.v = 'a') EXECUTE FUNCTION nop();
CREATE TRIGGER a BEFORE UPDATE ON kinds FOR EACH STATEMENT WHEN (NEW.v = 'a') EXECUTE FUNCTION nop();
CREATE TRIGGER a BEFORE UPDATE ON kinds FOR EACH ROW WHEN (NEW.n) EXECUTE FUNCTION nop();
--! unsupported
CREATE TRIGGER a BEFORE UPDATE ON kinds FOR EACH ROW WHEN (is_big(NEW.n)) EXECUTE FUNCTION nop();
DROP TRIGGER IF EXISTS a ON kinds;
CREATE TRIGGER a BEFORE UPDATE ON kinds FOR EACH ROW WHEN (NEW.v ~ '^x') EXECUTE FUNCTION nulls();
CREATE TRIGGER b AFTER UPDATE ON kinds FOR EACH ROW WHEN (OLD.* IS DISTINCT FROM NEW.*) EXECUTE FUNCTION nulls();
INSERT INTO kinds VALUES (1, 'a', 1), (2, NULL, NULL);
DELETE FROM seen;
UPDATE kinds SET v = 'x1' WHERE id = 1 RETURNING id, 'x', n + 1;
UPDATE kinds SET v = 'x1' WHERE id = 1;
UPDATE kinds SET n = NULL WHERE id = 2;
UPDATE kinds SET n = 3 WHERE id = 2;
SELECT what FROM seen ORDER BY n;
DROP TRIGGER a ON kinds;
DROP TRIGGER b ON kinds;
CREATE TRIGGER a BEFORE INSERT OR UPDATE OR DELETE ON kinds FOR EACH ROW EXECUTE FUNCTION nulls();
CREATE TRIGGER b AFTER INSERT ON kinds FOR EACH STATEMENT EXECUTE FUNCTION nulls();
DELETE FROM seen;
INSERT INTO kinds VALUES (3, 'c', 3);
UPDATE kinds SET v = 'd' WHERE id = 3;
DELETE FROM kinds WHERE id = 3;
SELECT what FROM seen ORDER BY n;
DROP TRIGGER a ON kinds;
DROP TRIGGER b ON kinds;
CREATE TRIGGER a BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION gives_old();
INSERT INTO kinds VALUES (4, 'e', 4);
CREATE OR REPLACE TRIGGER a BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION gives_text();
INSERT INTO kinds VALUES (4, 'e', 4);
CREATE OR REPLACE TRIGGER a BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION gives_one();
INSERT INTO kinds VALUES (4, 'e', 4);
CREATE OR REPLACE TRIGGER a BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION gives_number();
INSERT INTO kinds VALUES (4, 'e', 4);
CREATE OR REPLACE TRIGGER a AFTER INSERT ON kinds FOR EACH STATEMENT EXECUTE FUNCTION gives_one();
INSERT INTO kinds VALUES (4, 'e', 4);
DROP TRIGGER a ON kinds;
-- Columns that triggers depend on.
CREATE TRIGGER a BEFORE UPDATE OF v ON kinds FOR EACH ROW WHEN (NEW.n > 0) EXECUTE FUNCTION nop();
ALTER TABLE kinds RENAME COLUMN n TO "M m";
UPDATE kinds SET v = 'c' WHERE id = 1;
ALTER TABLE kinds ALTER COLUMN v TYPE varchar(10);
ALTER TABLE kinds ALTER COLUMN "M m" TYPE bigint;
ALTER TABLE kinds DROP COLUMN "M m";
ALTER TABLE kinds DROP COLUMN v CASCADE;
SELECT count(*) FROM pg_trigger WHERE tgrelid = 'kinds'::regclass;
CREATE SCHEMA going;
CREATE FUNCTION going.f() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
CREATE TRIGGER z BEFORE INSERT ON kinds FOR EACH ROW EXECUTE FUNCTION going.f();
INSERT INTO kinds (id) VALUES (9);
DROP SCHEMA going CASCADE;
INSERT INTO kinds (id) VALUES (9);
--! unsupported
CREATE TABLE computed (id int PRIMARY KEY, twice int GENERATED ALWAYS AS (id * 2) STORED); CREATE TRIGGER a AFTER INSERT ON computed FOR EACH ROW EXECUTE FUNCTION nop();
DROP TABLE kinds;
DROP FUNCTION nop, nulls, gives_old, gives_text, gives_one, gives_number, is_big;
-- DROP.
DROP FUNCTION note();
DROP TRIGGER nowhere ON parts;
DROP TRIGGER IF EXISTS nowhere ON parts;
DROP TRIGGER b_price ON parts;
INSERT INTO parts VALUES (8, 'free', -1);
DROP FUNCTION note() CASCADE;
DELETE FROM parts WHERE id = 8;
SELECT what FROM seen ORDER BY n;
DROP TABLE parts, counted, seen;
DROP FUNCTION counted, note_rows, no_price, no_trigger, stamp, told, through, argued;
-- COPY: rows fire triggers, batch by batch; those before them change or drop rows.
CREATE TABLE copied (id int PRIMARY KEY, name text, n serial, at int DEFAULT 4, part int);
CREATE TABLE copies (n serial PRIMARY KEY, what text);
CREATE FUNCTION copying() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF TG_LEVEL = 'STATEMENT' THEN INSERT INTO copies (what) VALUES (TG_WHEN || ' ' || TG_OP || ' ' || (SELECT count(*) FROM copied)); RETURN NULL; END IF; IF NEW.name = 'drop' THEN RETURN NULL; END IF; IF NEW.name = 'fail' THEN RAISE EXCEPTION 'no %', NEW.id; END IF; IF TG_WHEN = 'AFTER' THEN INSERT INTO copies (what) VALUES ('row ' || NEW.id || ' ' || NEW.name || ' ' || NEW.at); END IF; NEW.name := upper(NEW.name); RETURN NEW; END $$;
CREATE TRIGGER a BEFORE INSERT ON copied EXECUTE FUNCTION copying();
CREATE TRIGGER b BEFORE INSERT ON copied FOR EACH ROW EXECUTE FUNCTION copying();
CREATE TRIGGER c AFTER INSERT ON copied FOR EACH ROW WHEN (NEW.id < 100) EXECUTE FUNCTION copying();
CREATE TRIGGER d AFTER INSERT ON copied EXECUTE FUNCTION copying();
COPY copied (name, id) FROM STDIN;
one	1
drop	2
three	3
\.
COPY copied FROM STDIN WITH (FORMAT csv);
4,four,40,41,42
5,,50,,52
\.
COPY copied (id) FROM STDIN;
\.
COPY copied (id, name) FROM STDIN;
6	six
7	fail
\.
COPY copied (id, name) FROM STDIN;
6	six
3	three
\.
COPY copied (id, name) FROM STDIN;
6	six
seven	x
\.
SELECT * FROM copied ORDER BY id;
SELECT what FROM copies ORDER BY n;
BEGIN;
COPY copied (id, name) FROM STDIN;
8	eight
\.
INSERT INTO copied (id, name) VALUES (9, 'nine');
ROLLBACK;
CREATE FUNCTION copied_all() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO copies (what) SELECT 'all ' || count(*) || ' ' || sum(id) FROM fresh; RETURN NULL; END $$;
CREATE TRIGGER e AFTER INSERT ON copied REFERENCING NEW TABLE AS fresh EXECUTE FUNCTION copied_all();
COPY copied (id, name) FROM STDIN;
8	eight
9	drop
10	ten
\.
SELECT count(*) FROM copied;
SELECT what FROM copies ORDER BY n;
CREATE VIEW copied_view AS SELECT id, name FROM copied WHERE id > 0;
--! differs: it is refused before the client is asked for data
COPY copied_view FROM STDIN;
\.
CREATE FUNCTION copied_view() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.name IS NULL THEN RETURN NULL; END IF; INSERT INTO copied (id, name) VALUES (NEW.id, NEW.name || '?'); RETURN NEW; END $$;
CREATE TRIGGER v INSTEAD OF INSERT ON copied_view FOR EACH ROW EXECUTE FUNCTION copied_view();
COPY copied_view FROM STDIN;
20	twenty
21	\N
22	more
\.
SELECT id, name FROM copied WHERE id >= 20 ORDER BY id;
