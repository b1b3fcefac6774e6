-- Triggers that take the place of changes of a view's rows.
CREATE TABLE people (id int PRIMARY KEY, name varchar(10) NOT NULL, boss int);
CREATE TABLE mails (person int REFERENCES people, mail text, PRIMARY KEY (person, mail));
CREATE TABLE seen (n serial PRIMARY KEY, what text);
CREATE VIEW contacts AS SELECT p.id, p.name, m.mail FROM people p JOIN mails m ON m.person = p.id;
CREATE VIEW counts AS SELECT p.name, count(m.mail) AS mails FROM people p LEFT JOIN mails m ON m.person = p.id GROUP BY p.name;
CREATE VIEW simple AS SELECT id, name FROM people;
CREATE FUNCTION contact() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen (what) VALUES (TG_NAME || ' ' || TG_WHEN || ' ' || TG_LEVEL || ' ' || TG_OP || ' ' || TG_TABLE_NAME || ' ' || TG_TABLE_SCHEMA || ' ' || (TG_RELID = 'contacts'::regclass)); IF TG_OP = 'INSERT' THEN IF NEW.mail IS NULL THEN RETURN NULL; END IF; INSERT INTO people (id, name) VALUES (NEW.id, NEW.name) ON CONFLICT (id) DO NOTHING; INSERT INTO mails VALUES (NEW.id, NEW.mail); NEW.name := upper(NEW.name); RETURN NEW; ELSIF TG_OP = 'UPDATE' THEN UPDATE people SET name = NEW.name WHERE id = OLD.id; UPDATE mails SET mail = NEW.mail WHERE person = OLD.id AND mail = OLD.mail; IF NOT FOUND THEN RETURN NULL; END IF; NEW.name := NEW.name || '!'; RETURN NEW; ELSE DELETE FROM mails WHERE person = OLD.id AND mail = OLD.mail; IF OLD.mail = 'kept' THEN RETURN NULL; END IF; OLD.name := 'nobody'; RETURN OLD; END IF; END $$;
CREATE FUNCTION noted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen (what) VALUES (TG_NAME || ' ' || TG_WHEN || ' ' || TG_LEVEL || ' ' || TG_OP); RETURN NULL; END $$;
-- What there cannot be.
CREATE TRIGGER t INSTEAD OF INSERT ON people FOR EACH ROW EXECUTE FUNCTION contact();
CREATE TRIGGER t BEFORE INSERT ON contacts FOR EACH ROW EXECUTE FUNCTION contact();
CREATE TRIGGER t AFTER DELETE ON contacts FOR EACH ROW EXECUTE FUNCTION contact();
CREATE TRIGGER t BEFORE TRUNCATE ON contacts EXECUTE FUNCTION noted();
CREATE TRIGGER t INSTEAD OF INSERT ON contacts EXECUTE FUNCTION contact();
CREATE TRIGGER t INSTEAD OF INSERT ON contacts FOR EACH STATEMENT EXECUTE FUNCTION contact();
CREATE TRIGGER t INSTEAD OF INSERT ON contacts FOR EACH ROW WHEN (NEW.id > 1) EXECUTE FUNCTION contact();
CREATE TRIGGER t INSTEAD OF UPDATE OF name ON contacts FOR EACH ROW EXECUTE FUNCTION contact();
CREATE TRIGGER t INSTEAD OF INSERT ON contacts FOR EACH ROW EXECUTE FUNCTION nowhere();
CREATE TRIGGER t INSTEAD OF INSERT ON contacts REFERENCING NEW TABLE AS n FOR EACH ROW EXECUTE FUNCTION contact();
INSERT INTO contacts VALUES (1, 'ann', 'a@b');
-- A view of a join.
CREATE TRIGGER instead INSTEAD OF INSERT OR UPDATE OR DELETE ON contacts FOR EACH ROW EXECUTE FUNCTION contact();
CREATE TRIGGER instead INSTEAD OF INSERT ON contacts FOR EACH ROW EXECUTE FUNCTION contact();
CREATE TRIGGER before BEFORE INSERT OR UPDATE OR DELETE ON contacts EXECUTE FUNCTION noted();
CREATE TRIGGER after AFTER INSERT OR UPDATE OR DELETE ON contacts FOR EACH STATEMENT EXECUTE FUNCTION noted();
INSERT INTO contacts VALUES (1, 'ann', 'a@b'), (2, 'bob', NULL), (3, 'cid', 'c@d');
INSERT INTO contacts (mail, id, name) VALUES ('kept', 3, 'cid') RETURNING *;
INSERT INTO contacts SELECT id + 10, name, mail FROM contacts WHERE id = 1 RETURNING id, name || mail AS both, contacts.mail;
INSERT INTO contacts AS c (id, name) VALUES (4, 'dan') RETURNING c.*;
--! with 5|eve|e@f
INSERT INTO contacts VALUES ($1, $2, $3) RETURNING id, name;
--! with 6|fay
INSERT INTO contacts (id, name) VALUES ($1, $2);
INSERT INTO contacts (id, name, mail) VALUES (7, 'much too long', 'x');
INSERT INTO contacts (id) VALUES (true);
INSERT INTO contacts (id) VALUES ('x');
INSERT INTO contacts (nowhere) VALUES (1);
INSERT INTO contacts VALUES (1, 'a', 'b', 'c');
INSERT INTO contacts DEFAULT VALUES;
INSERT INTO contacts VALUES (1, 'a', 'b') ON CONFLICT (id) DO NOTHING;
INSERT INTO contacts VALUES (1, 'a', 'b') ON CONFLICT (id) DO UPDATE SET name = 'c';
INSERT INTO contacts VALUES (1, 'gil', 'g@h') RETURNING nowhere;
SELECT * FROM contacts ORDER BY id, mail;
SELECT what FROM seen ORDER BY n;
DELETE FROM seen;
UPDATE contacts SET mail = upper(mail) WHERE id = 1;
UPDATE contacts SET name = 'anna', mail = DEFAULT WHERE id = 11;
--! any order
UPDATE contacts SET mail = mail || 'x' WHERE id > 1 AND mail <> 'kept' RETURNING *;
UPDATE contacts c SET mail = s.v FROM (VALUES (1, 'joined'), (3, 'third')) s (id, v) WHERE s.id = c.id;
UPDATE contacts SET id = 100 WHERE id = 1 RETURNING id, name, mail;
UPDATE contacts SET id = 'x';
UPDATE contacts SET nowhere = 1;
UPDATE contacts SET name = (SELECT max(name) FROM simple) WHERE id = (SELECT min(id) FROM contacts);
--! with cee|3
UPDATE contacts SET name = $1 WHERE id = $2 RETURNING name;
UPDATE contacts SET name = 'z' WHERE id = 99;
SELECT * FROM contacts ORDER BY id, mail;
DELETE FROM contacts WHERE id = 3 AND mail = 'kept';
DELETE FROM contacts WHERE id = 3 RETURNING id, name, mail;
DELETE FROM contacts c USING people p WHERE p.id = c.id AND p.id = 11;
--! with 5
DELETE FROM contacts WHERE id = $1;
DELETE FROM contacts WHERE nowhere = 1;
SELECT * FROM contacts ORDER BY id, mail;
SELECT what FROM seen ORDER BY n;
DELETE FROM seen;
-- A view of groups, for UPDATE alone; what has no trigger is refused as ever.
CREATE FUNCTION recount() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.mails > 9 THEN RAISE EXCEPTION 'too many: %', NEW; END IF; FOR i IN OLD.mails + 1 .. NEW.mails LOOP INSERT INTO mails SELECT id, 'mail ' || i FROM people WHERE name = OLD.name; END LOOP; RETURN NEW; END $$;
CREATE TRIGGER recount INSTEAD OF UPDATE ON counts FOR EACH ROW EXECUTE FUNCTION recount();
UPDATE counts SET mails = mails + 2 WHERE name = 'ann' RETURNING *;
UPDATE counts SET mails = 10;
SELECT * FROM counts ORDER BY name;
DELETE FROM counts;
INSERT INTO counts VALUES ('x', 1);
-- A view that could be changed without; the triggers take the place.
CREATE TRIGGER after AFTER INSERT OR DELETE ON simple EXECUTE FUNCTION noted();
INSERT INTO simple VALUES (20, 'plain');
CREATE FUNCTION named() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO people VALUES (NEW.id, NEW.name || '+', TG_ARGV[0]::int); RETURN NEW; END $$;
CREATE TRIGGER named INSTEAD OF INSERT ON simple FOR EACH ROW EXECUTE PROCEDURE named(7);
INSERT INTO simple VALUES (21, 'other') RETURNING *;
INSERT INTO simple VALUES (21, 'again');
DELETE FROM simple WHERE id = 20;
UPDATE simple SET name = 'more' WHERE id = 21;
SELECT * FROM people ORDER BY id;
SELECT what FROM seen ORDER BY n;
-- A view on such a view.
CREATE VIEW outer_contacts AS SELECT id AS number, name FROM simple WHERE id > 20;
INSERT INTO outer_contacts VALUES (30, 'outer') RETURNING *;
INSERT INTO outer_contacts (name, number) VALUES ('outer', 31);
SELECT * FROM people WHERE id >= 30 ORDER BY id;
CREATE VIEW outer_mails AS SELECT id AS number, mail FROM contacts WHERE id > 1;
CREATE VIEW of_contacts AS SELECT id AS number, mail, name FROM contacts WHERE id < 5;
--! any order
UPDATE of_contacts SET mail = mail || '?' RETURNING *;
--! any order
DELETE FROM of_contacts WHERE mail LIKE 'mail%' RETURNING number;
DELETE FROM outer_mails;
SELECT * FROM contacts ORDER BY id, mail;
-- What the catalogs say.
SELECT c.relname::text, t.tgname::text, t.tgtype, t.tgenabled::text, pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relkind = 'v' ORDER BY 1, 2;
SELECT event_object_table::text, trigger_name::text, event_manipulation::text, action_timing::text, action_orientation::text, action_statement::text FROM information_schema.triggers WHERE event_object_table IN ('contacts', 'counts', 'simple') ORDER BY 1, 2, 3;
SELECT table_name::text, is_updatable::text, is_insertable_into::text, is_trigger_updatable::text, is_trigger_deletable::text, is_trigger_insertable_into::text FROM information_schema.views WHERE table_name IN ('contacts', 'counts', 'simple') ORDER BY 1;
SELECT relname::text, relhastriggers, pg_relation_is_updatable(oid, true), pg_relation_is_updatable(oid, false), pg_column_is_updatable(oid, 1::smallint, true), pg_column_is_updatable(oid, 1::smallint, false) FROM pg_class WHERE relname IN ('contacts', 'counts', 'simple', 'people') ORDER BY 1;
SELECT pg_relation_is_updatable(0, true), pg_column_is_updatable('simple'::regclass, 9::smallint, true);
ALTER TABLE contacts DISABLE TRIGGER instead;
--! unsupported
ALTER VIEW contacts DISABLE TRIGGER instead;
CREATE OR REPLACE VIEW counts AS SELECT p.name, count(m.mail) AS mails, 1 AS one FROM people p LEFT JOIN mails m ON m.person = p.id GROUP BY p.name;
UPDATE counts SET mails = mails + 1 WHERE name = 'ann' RETURNING *;
DROP FUNCTION recount();
DROP TRIGGER recount ON counts;
UPDATE counts SET mails = 1;
DROP TRIGGER recount ON counts;
DROP FUNCTION named() CASCADE;
INSERT INTO simple VALUES (40, 'straight');
-- Within blocks and routines; what fails leaves nothing.
BEGIN;
INSERT INTO contacts VALUES (50, 'gone', 'x');
SAVEPOINT a;
INSERT INTO contacts VALUES (50, 'gone', 'x');
ROLLBACK TO a;
SELECT count(*) FROM contacts WHERE id = 50;
ROLLBACK;
SELECT count(*) FROM contacts WHERE id = 50;
CREATE FUNCTION through(a int) RETURNS int LANGUAGE plpgsql AS $$ DECLARE n int; BEGIN INSERT INTO contacts VALUES (a, 'thru', 'm'), (a, 'thru', NULL); GET DIAGNOSTICS n = ROW_COUNT; RETURN n; END $$;
SELECT through(60);
PREPARE adds AS INSERT INTO contacts VALUES ($1, $2, $3) RETURNING mail;
EXECUTE adds(61, 'prep', 'p@q');
DROP VIEW contacts;
DROP VIEW contacts CASCADE;
DROP TABLE mails CASCADE;
SELECT count(*) FROM pg_trigger WHERE tgname = 'instead';
