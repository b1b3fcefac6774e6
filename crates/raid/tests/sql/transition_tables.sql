-- Transition tables: the rows that a statement has changed, as functions of triggers read them.
CREATE TABLE stock (id int PRIMARY KEY, name varchar(8), amount numeric(8,2) DEFAULT 1, tags text[]);
CREATE TABLE plain (id int PRIMARY KEY, name varchar(8), amount numeric(8,2) DEFAULT 1, note text);
CREATE TABLE seen (n serial PRIMARY KEY, what text);
CREATE FUNCTION sums() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE n int; total numeric; BEGIN IF TG_OP = 'INSERT' THEN SELECT count(*), sum(amount) INTO n, total FROM news; ELSIF TG_OP = 'DELETE' THEN SELECT count(*), sum(amount) INTO n, total FROM olds; ELSE SELECT count(*), sum(b.amount - a.amount) INTO n, total FROM olds a JOIN news b ON a.id = b.id; END IF; INSERT INTO seen (what) VALUES (TG_NAME || ' ' || TG_OP || ' ' || n || ' ' || coalesce(total::text, '-')); RETURN NULL; END $$;
CREATE FUNCTION rowwise() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE r record; BEGIN IF EXISTS (SELECT 1 FROM fresh WHERE amount > 100) THEN RAISE EXCEPTION 'too much: %', (SELECT max(f.amount) FROM fresh f); END IF; FOR r IN SELECT * FROM fresh AS f (number) ORDER BY number LOOP INSERT INTO seen (what) VALUES (TG_NAME || ' ' || NEW.id || ' of ' || r.number || ' ' || coalesce(r.note, '-')); END LOOP; RETURN NULL; END $$;
-- What there cannot be.
CREATE TRIGGER x AFTER INSERT ON plain REFERENCING NEW ROW AS n FOR EACH ROW EXECUTE FUNCTION sums();
CREATE TRIGGER x BEFORE INSERT ON plain REFERENCING NEW TABLE AS n FOR EACH ROW EXECUTE FUNCTION sums();
CREATE TRIGGER x AFTER TRUNCATE ON plain REFERENCING NEW TABLE AS n EXECUTE FUNCTION sums();
CREATE TRIGGER x AFTER INSERT OR UPDATE ON plain REFERENCING NEW TABLE AS n EXECUTE FUNCTION sums();
CREATE TRIGGER x AFTER UPDATE OF name ON plain REFERENCING NEW TABLE AS n EXECUTE FUNCTION sums();
CREATE TRIGGER x AFTER DELETE ON plain REFERENCING NEW TABLE AS n EXECUTE FUNCTION sums();
CREATE TRIGGER x AFTER INSERT ON plain REFERENCING OLD TABLE AS n EXECUTE FUNCTION sums();
CREATE TRIGGER x AFTER INSERT ON plain REFERENCING NEW TABLE AS n NEW TABLE AS m EXECUTE FUNCTION sums();
CREATE TRIGGER x AFTER UPDATE ON plain REFERENCING OLD TABLE AS n OLD TABLE AS m EXECUTE FUNCTION sums();
CREATE TRIGGER x AFTER UPDATE ON plain REFERENCING OLD TABLE AS n NEW TABLE AS n EXECUTE FUNCTION sums();
-- Once for a statement.
CREATE TRIGGER added AFTER INSERT ON plain REFERENCING NEW TABLE AS news EXECUTE FUNCTION sums();
CREATE TRIGGER changed AFTER UPDATE ON plain REFERENCING OLD TABLE AS olds NEW TABLE news FOR EACH STATEMENT EXECUTE FUNCTION sums();
CREATE TRIGGER gone AFTER DELETE ON plain REFERENCING OLD TABLE olds EXECUTE FUNCTION sums();
INSERT INTO plain VALUES (1, 'bolt', 1.5), (2, 'nut', 2.25), (3, 'gear', 3);
INSERT INTO plain SELECT id + 10, name, amount FROM plain RETURNING id;
INSERT INTO plain SELECT id + 10, name, amount FROM plain WHERE false;
UPDATE plain SET amount = amount * 2 WHERE id < 3;
UPDATE plain SET amount = amount + 1 WHERE id = 99;
DELETE FROM plain WHERE id > 11 RETURNING id;
DELETE FROM plain WHERE id = 99;
INSERT INTO plain VALUES (1, 'again', 4), (4, 'new', 4) ON CONFLICT (id) DO UPDATE SET amount = plain.amount + excluded.amount;
INSERT INTO plain VALUES (1, 'again', 4), (5, 'five', 4) ON CONFLICT DO NOTHING;
SELECT what FROM seen ORDER BY n;
DELETE FROM seen;
-- For each row, with all rows.
CREATE TRIGGER each AFTER INSERT ON plain REFERENCING NEW TABLE AS fresh FOR EACH ROW EXECUTE FUNCTION rowwise();
INSERT INTO plain VALUES (20, 'a', 1, 'x'), (21, 'b', 2, NULL);
INSERT INTO plain VALUES (22, 'a', 1000, 'x');
SELECT what FROM seen ORDER BY n;
DELETE FROM seen;
DROP TRIGGER each ON plain;
-- The name means the transition table, whatever else is called so; but not to WITH, and not in functions that are called.
CREATE TABLE news (id int);
CREATE FUNCTION others() RETURNS bigint LANGUAGE plpgsql AS $$ BEGIN RETURN (SELECT count(*) FROM news); END $$;
CREATE FUNCTION names() RETURNS trigger LANGUAGE plpgsql AS $$ DECLARE a bigint; b bigint; c bigint; BEGIN SELECT count(*) INTO a FROM news; WITH news AS (SELECT 1 FROM news LIMIT 1) SELECT count(*) INTO b FROM news; SELECT count(*) INTO c FROM public.news; INSERT INTO seen (what) SELECT a || ' ' || b || ' ' || c || ' ' || others() || ' ' || string_agg(news.name, ',' ORDER BY news.id) FROM news; UPDATE plain SET note = 'seen ' || news.name FROM news WHERE news.id = plain.id; DELETE FROM plain USING news WHERE news.id = plain.id AND news.name = 'drop'; EXECUTE 'INSERT INTO seen (what) SELECT ''dynamic '' || count(*) FROM news WHERE id > $1' USING 31; RETURN NULL; END $$;
CREATE TRIGGER named AFTER INSERT ON plain REFERENCING NEW TABLE AS news EXECUTE FUNCTION names();
INSERT INTO plain (id, name) VALUES (30, 'thirty'), (31, 'drop'), (32, 'two');
SELECT what FROM seen ORDER BY n;
SELECT id, name, note FROM plain WHERE id >= 30 ORDER BY id;
DELETE FROM seen;
DROP TRIGGER named ON plain;
DROP TRIGGER added ON plain;
CREATE FUNCTION writes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO news VALUES (1); RETURN NULL; END $$;
CREATE FUNCTION removes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN DELETE FROM news; RETURN NULL; END $$;
CREATE TRIGGER writes AFTER INSERT ON plain REFERENCING NEW TABLE AS news EXECUTE FUNCTION writes();
INSERT INTO plain (id) VALUES (40);
DROP TRIGGER writes ON plain;
CREATE TRIGGER removes AFTER INSERT ON plain REFERENCING NEW TABLE AS news EXECUTE FUNCTION removes();
INSERT INTO plain (id) VALUES (40);
DROP TRIGGER removes ON plain;
-- What triggers before the rows have made of them.
CREATE FUNCTION shouts() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.name = 'no' THEN RETURN NULL; END IF; NEW.name := upper(NEW.name); NEW.amount := 1.005; RETURN NEW; END $$;
CREATE TRIGGER shouts BEFORE INSERT ON plain FOR EACH ROW EXECUTE FUNCTION shouts();
CREATE FUNCTION lists() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen (what) SELECT row_to_json("New Rows")::text FROM "New Rows"; RETURN NULL; END $$;
CREATE TRIGGER lists AFTER INSERT ON plain REFERENCING NEW TABLE AS "New Rows" EXECUTE FUNCTION lists();
INSERT INTO plain (id, name) VALUES (50, 'fifty'), (51, 'no'), (52, 'more');
SELECT what FROM seen ORDER BY n;
SELECT tgname::text, tgoldtable::text, tgnewtable::text, pg_get_triggerdef(oid) FROM pg_trigger WHERE tgrelid = 'plain'::regclass ORDER BY 1;
SELECT trigger_name::text, action_reference_old_table::text, action_reference_new_table::text FROM information_schema.triggers WHERE event_object_table = 'plain' ORDER BY 1;
-- A column of arrays.
CREATE TRIGGER added AFTER INSERT ON stock REFERENCING NEW TABLE AS news EXECUTE FUNCTION sums();
--! unsupported
INSERT INTO stock VALUES (1, 'a', 1, '{x,y}');
