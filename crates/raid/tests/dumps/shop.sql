-- A database with one of everything that Raid and PostgreSQL 15 both have, for dumps from one to the other.
CREATE ROLE dump_reader;
CREATE SCHEMA shop;
COMMENT ON SCHEMA shop IS 'the shop';
CREATE TYPE shop.mood AS ENUM ('sad', 'ok', 'it''s fine');
CREATE DOMAIN shop.email AS text CONSTRAINT email_check CHECK (VALUE LIKE '%@%') NOT NULL;
CREATE DOMAIN shop.quantity AS int DEFAULT 1 CHECK (VALUE >= 0);
CREATE SEQUENCE shop.loose START 100 INCREMENT 5 MAXVALUE 1000 CYCLE;
CREATE TABLE shop.customer (
    id serial PRIMARY KEY,
    name varchar(40) NOT NULL DEFAULT 'nobody',
    mail shop.email,
    mood shop.mood DEFAULT 'ok',
    created timestamptz DEFAULT '2024-05-06 07:08:09+00',
    tags text[] DEFAULT '{}',
    profile jsonb,
    credit numeric(12, 3) DEFAULT 0.5,
    CONSTRAINT name_length CHECK (length(name) > 1)
);
COMMENT ON TABLE shop.customer IS 'people who buy';
COMMENT ON COLUMN shop.customer.name IS 'how they are called';
CREATE TABLE shop.orders (
    id bigint GENERATED ALWAYS AS IDENTITY (START 10) PRIMARY KEY,
    customer_id int NOT NULL REFERENCES shop.customer (id) ON DELETE CASCADE,
    q shop.quantity,
    price double precision,
    total double precision GENERATED ALWAYS AS (price * 2) STORED,
    d date, t time, i interval, b bytea, u uuid, address inet, c char(5), f real, s smallint, o boolean,
    UNIQUE (customer_id, d)
);
CREATE INDEX orders_price ON shop.orders (price DESC NULLS LAST) WHERE price > 10;
CREATE INDEX customer_lower ON shop.customer (lower(name), id);
CREATE UNIQUE INDEX customer_mail ON shop.customer (mail);
ALTER TABLE shop.orders ADD CONSTRAINT later FOREIGN KEY (customer_id) REFERENCES shop.customer (id)
    DEFERRABLE INITIALLY DEFERRED NOT VALID;
-- Its name stands before those of what it reads.
CREATE VIEW shop.a_rich_one AS
    SELECT c.name, o.price FROM shop.customer c JOIN shop.orders o ON o.customer_id = c.id WHERE o.price > 5;
COMMENT ON VIEW shop.a_rich_one IS 'a view';
CREATE VIEW shop.a_name AS SELECT name FROM shop.a_rich_one;
CREATE MATERIALIZED VIEW shop.a_total AS
    SELECT customer_id, count(*) AS orders FROM shop.orders GROUP BY customer_id;
CREATE FUNCTION shop.twice(a int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT a * 2';
CREATE FUNCTION shop.orders_of(who int) RETURNS bigint LANGUAGE sql STABLE AS
    'SELECT count(*) FROM shop.orders WHERE customer_id = who';
CREATE FUNCTION shop.greet(who text DEFAULT 'you', OUT answer text) LANGUAGE plpgsql AS $$
BEGIN
    answer := 'hello ' || who;
END $$;
CREATE FUNCTION shop.stamp() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.name := upper(NEW.name);
    RETURN NEW;
END $$;
CREATE TRIGGER stamped BEFORE INSERT OR UPDATE OF name ON shop.customer
    FOR EACH ROW WHEN (NEW.name IS NOT NULL) EXECUTE FUNCTION shop.stamp();
CREATE TABLE public."Odd Name" ("select" int PRIMARY KEY, "it's" text);
CREATE TABLE keyless (a int, b text);
CREATE UNLOGGED TABLE unlogged (k int PRIMARY KEY);
INSERT INTO shop.customer (name, mail, profile, tags) VALUES
    ('ann', 'a@x', '{"a": [1, 2]}', '{x,"y z"}'), ('bob', 'b@x', NULL, NULL), (E'tab\tnew\nline\\', 'c@x', '"s"', '{}');
INSERT INTO shop.orders (customer_id, q, price, d, t, i, b, u, address, c, f, s, o) VALUES
    (1, 3, 12.5, '2024-02-29', '12:30', '1 day 2 hours', '\xdeadbeef', '6f1ed3c5-8e34-4a0e-9d5f-0a4f3a7f2b11',
        '10.0.0.0/8', 'ab', 1.1, 7, true),
    (2, NULL, 'NaN', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO public."Odd Name" VALUES (1, 'x');
INSERT INTO keyless VALUES (1, 'a'), (2, NULL);
SELECT nextval('shop.loose');
REFRESH MATERIALIZED VIEW shop.a_total;
GRANT USAGE ON SCHEMA shop TO dump_reader;
GRANT SELECT ON shop.customer TO dump_reader;
GRANT SELECT (id), UPDATE (price) ON shop.orders TO dump_reader WITH GRANT OPTION;
REVOKE EXECUTE ON FUNCTION shop.twice(int) FROM PUBLIC;
ALTER DEFAULT PRIVILEGES IN SCHEMA shop GRANT SELECT ON TABLES TO dump_reader;
ALTER TABLE shop.orders ENABLE ROW LEVEL SECURITY;
CREATE POLICY "seen by" ON shop.orders FOR SELECT TO dump_reader USING (price > 10);
CREATE POLICY narrow ON shop.orders AS RESTRICTIVE USING (customer_id > 0) WITH CHECK (customer_id > 1);
ALTER TABLE keyless FORCE ROW LEVEL SECURITY;
