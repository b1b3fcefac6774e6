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
INSERT INTO parts VALUES (1, 'a') ON CONFLICT (id) DO UPDATE SET name = 'b';
--! unsupported
CREATE TRIGGER t AFTER TRUNCATE ON parts EXECUTE FUNCTION note();
--! unsupported
CREATE CONSTRAINT TRIGGER t AFTER INSERT ON parts DEFERRABLE FOR EACH ROW EXECUTE FUNCTION note();
INSERT INTO parts VALUES (2, 'again') ON CONFLICT DO NOTHING;
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
DROP FUNCTION counted, note_rows, no_price, no_trigger, stamp, told, through;
