-- Tables and indexes: what is made, dropped and refused.
CREATE TABLE a (id int PRIMARY KEY, name text NOT NULL, n numeric(10,2) DEFAULT 1.5, v varchar(5), c char(4));
CREATE TABLE a (id int PRIMARY KEY);
CREATE TABLE IF NOT EXISTS a (id int PRIMARY KEY);
INSERT INTO a VALUES (1, 'one', 12.345, 'abcde', 'x');
SELECT * FROM a;
INSERT INTO a (id, name) VALUES (2, 'two');
SELECT * FROM a ORDER BY id;
INSERT INTO a (id, name, v) VALUES (3, 'three', 'abcdef');
INSERT INTO a (id, name, v) VALUES (3, 'three', 'abcde   ');
INSERT INTO a (id, name, c) VALUES (4, 'four', 'abcde');
INSERT INTO a (id, name, n) VALUES (4, 'four', 123456789);
INSERT INTO a (id) VALUES (5);
INSERT INTO a VALUES (NULL, 'x');
INSERT INTO a VALUES (1, 'again');
INSERT INTO a VALUES (6, 'six', 1, 'v', 'c', 'too many');
INSERT INTO a (id, nope) VALUES (1, 2);
INSERT INTO a (id, id) VALUES (1, 2);
CREATE UNIQUE INDEX a_name ON a (name);
CREATE UNIQUE INDEX a_name ON a (name);
CREATE INDEX IF NOT EXISTS a_name ON a (name);
CREATE INDEX ON a (v, c);
INSERT INTO a VALUES (7, 'one');
UPDATE a SET name = 'one' WHERE id = 2;
UPDATE a SET id = 1 WHERE id = 2;
UPDATE a SET name = NULL WHERE id = 2;
CREATE INDEX ON a (nope);
CREATE INDEX ON nope (a);
DROP INDEX a_name;
DROP INDEX a_name;
DROP INDEX IF EXISTS a_name;
INSERT INTO a VALUES (7, 'one');
CREATE UNIQUE INDEX a_name ON a (name);
DROP TABLE a_v_c_idx;
DROP INDEX a;
DROP TABLE a;
DROP TABLE a;
DROP TABLE IF EXISTS a;
SELECT * FROM a;
CREATE TABLE b (x int, y text, UNIQUE (x), PRIMARY KEY (y, x));
INSERT INTO b VALUES (1, 'a'), (2, 'b');
INSERT INTO b VALUES (1, 'c');
INSERT INTO b VALUES (1, NULL);
INSERT INTO b VALUES (NULL, 'd');
CREATE TABLE c (x int UNIQUE, y text);
INSERT INTO c VALUES (NULL, 'a'), (NULL, 'b'), (1, 'c');
INSERT INTO c VALUES (1, 'd');
SELECT * FROM c ORDER BY y;
ALTER TABLE c ADD PRIMARY KEY (y);
INSERT INTO c VALUES (5, 'a');
ALTER TABLE c ADD PRIMARY KEY (x);
TRUNCATE c;
SELECT count(*) FROM c;
TRUNCATE TABLE b, c;
TRUNCATE nope;
CREATE TABLE d (x int, y int, x text);
CREATE TABLE d (x int PRIMARY KEY, y int PRIMARY KEY);
CREATE TABLE d (x nosuchtype);
CREATE TABLE d (x varchar(0));
CREATE TABLE d (x numeric(2000));
CREATE TABLE d (x int DEFAULT 'abc');
--! differs: a column in a default is an unknown name
CREATE TABLE d (x int DEFAULT y);
CREATE TABLE d (x int, PRIMARY KEY (z));
CREATE TABLE d ();
CREATE TABLE e (x int DEFAULT 1 + 2, t timestamptz DEFAULT now(), u text DEFAULT upper('abc'), d date DEFAULT '2020-01-01', b boolean DEFAULT true);
INSERT INTO e DEFAULT VALUES;
SELECT x, t IS NOT NULL, u, d, b FROM e;
INSERT INTO e VALUES (DEFAULT, DEFAULT, 'x', DEFAULT, false) RETURNING x, u, d, b;
INSERT INTO e (x) VALUES (DEFAULT), (9) RETURNING x, u;
UPDATE e SET u = DEFAULT WHERE x = 9 RETURNING u;
DROP TABLE b, c, e;
CREATE TABLE "Mixed" ("Column One" int PRIMARY KEY, "select" text);
INSERT INTO "Mixed" VALUES (1, 'x');
SELECT * FROM "Mixed";
SELECT "Column One", "select" FROM "Mixed" WHERE "Column One" = 1;
SELECT * FROM mixed;
DROP TABLE "Mixed";
CREATE TABLE f (a int, b int);
INSERT INTO f VALUES (1, 1), (1, 1), (2, 2);
DELETE FROM f WHERE a = 1;
SELECT * FROM f;
ALTER TABLE f ADD PRIMARY KEY (a);
INSERT INTO f VALUES (2, 3);
ALTER TABLE f DROP CONSTRAINT f_pkey;
INSERT INTO f VALUES (2, 3);
SELECT * FROM f ORDER BY a, b;
ALTER TABLE f ADD PRIMARY KEY (a);
ALTER TABLE f ADD CONSTRAINT f_ab UNIQUE (a, b);
INSERT INTO f VALUES (2, 3);
ALTER TABLE f DROP CONSTRAINT nope;
ALTER TABLE nope ADD PRIMARY KEY (a);
DROP TABLE f;
CREATE TABLE g (id int PRIMARY KEY, UNIQUE (id));
DROP TABLE g;
CREATE SCHEMA IF NOT EXISTS public;
CREATE SCHEMA other;
DROP SCHEMA other;
CREATE VIEW v AS SELECT 1;
DROP VIEW v;
--! unsupported
CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1';
--! unsupported
CREATE TRIGGER t BEFORE INSERT ON a FOR EACH ROW EXECUTE FUNCTION f();
CREATE TYPE mood AS ENUM ('sad', 'ok');
DROP TYPE mood;
CREATE ROLE somebody;
DROP ROLE somebody;
--! unsupported
CREATE TABLE h (x int[] UNIQUE);
CREATE TABLE h (x json);
DROP TABLE h;
CREATE TABLE refers (x int REFERENCES a);
CREATE TEMP TABLE h (x int);
DROP TABLE h;
CREATE TABLE filled AS SELECT 1;
DROP TABLE filled;
--! unsupported
CREATE TABLE h (x int) PARTITION BY RANGE (x);
--! unsupported
CREATE TABLE h PARTITION OF a FOR VALUES FROM (1) TO (2);
--! unsupported
CREATE TABLE h (x int, UNIQUE NULLS NOT DISTINCT (x));
--! missing: the parser knows it of a table only
CREATE TABLE h (x int UNIQUE NULLS NOT DISTINCT);
--! unsupported
CREATE TABLE h (x int PRIMARY KEY DEFERRABLE);
--! unsupported
CREATE TABLE h (x int, UNIQUE (x) INITIALLY DEFERRED);
CREATE TABLE keyed (x int, y int UNIQUE NOT DEFERRABLE, PRIMARY KEY (x) INITIALLY IMMEDIATE, UNIQUE NULLS DISTINCT (x, y));
DROP TABLE keyed;
--! differs: system catalogs are no tables to index
CREATE INDEX ON pg_class (relname);
LISTEN channel;
NOTIFY other, 'payload';
UNLISTEN channel;
--! unsupported
CREATE DATABASE other;
LOCK TABLE a;
COMMENT ON TABLE a IS 'x';
MERGE INTO a USING b ON a.id = b.id WHEN MATCHED THEN DELETE;
--! unsupported
DO 'begin end';
GRANT SELECT ON a TO b;
CREATE TABLE wrong (a int) WITH (oids = true);
CREATE TABLE wrong (a int) WITH (nosuchoption = 1);
CREATE TABLE wrong (a int) TABLESPACE nosuchtablespace;
CREATE TABLE wrong (a boolean DEFAULT 1 IN (1, 2));
CREATE TABLE wrong (a int COLLATE "C");
--! unsupported
CREATE TABLE wrong (a text COLLATE "POSIX");
CREATE TABLE wrong (a int) WITH (fillfactor = 2);
CREATE TABLE wrong (a int) WITH (autovacuum_analyze_scale_factor = -10.0);
CREATE TABLE wrong (a int) WITH (autovacuum_enabled = 12);
