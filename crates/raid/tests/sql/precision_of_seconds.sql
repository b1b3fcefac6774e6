-- timestamp(p), timestamptz(p), time(p), interval(p) and the fields of intervals.
CREATE TABLE events (
    id int PRIMARY KEY,
    at timestamp(3) DEFAULT '2020-01-01 00:00:00.12345',
    zoned timestamptz(0),
    daily time(2),
    took interval(1),
    span interval day to second,
    years interval year,
    short interval second(2),
    many timestamp(3)[],
    six timestamp(6)
);
SELECT attname::text, atttypmod, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'events'::regclass AND attnum > 0 ORDER BY attnum;
SELECT column_name::text, data_type::text, datetime_precision::int, interval_type::text, interval_precision::int FROM information_schema.columns WHERE table_name = 'events' ORDER BY ordinal_position;
INSERT INTO events (id) VALUES (1);
INSERT INTO events VALUES (2, '2020-01-01 23:59:59.9999', '2020-01-01 23:59:59.5+00', '23:59:59.999', '1.25 s', '1 year 2 days 03:04:05.678', '26 months', '1.236 s', '{"2020-01-01 00:00:00.0005",NULL}', '2020-01-01 00:00:00.1234567');
--! with 2020-01-01 00:00:00.0015|2020-01-01 00:00:00.5+00|10:00:00.005|1.05 s
INSERT INTO events VALUES (3, $1, $2, $3, $4);
INSERT INTO events (id, at, zoned) VALUES (4, now() - now() + timestamp '2021-05-05 01:02:03.4567', '1999-12-31 23:59:59.49+00');
INSERT INTO events (id, at, daily) SELECT 5, timestamp '2022-05-05 01:02:03.9996', time '01:02:03.456';
SELECT * FROM events ORDER BY id;
SELECT id FROM events WHERE at = '2020-01-01 23:59:59.9999';
SELECT id FROM events WHERE at = '2020-01-02 00:00:00';
SELECT id FROM events WHERE at > '2020-01-01 00:00:00.1229' AND at < '2020-01-01 00:00:00.1231';
SELECT at + interval '0.0001 s', at - at, at::timestamp(0), at::date FROM events WHERE id = 1;
SELECT coalesce(at, now()::timestamp), CASE WHEN true THEN at ELSE at END, min(at), max(at) FROM events WHERE id = 1 GROUP BY at;
UPDATE events SET at = '2020-02-02 00:00:00.9995', daily = daily + interval '0.006 s' WHERE id = 2;
UPDATE events SET at = at + interval '0.0004 s' WHERE id = 2 RETURNING at, daily;
INSERT INTO events (id, at) VALUES (2, '2020-03-03 00:00:00.00051') ON CONFLICT (id) DO UPDATE SET at = excluded.at RETURNING at;
CREATE TABLE copied AS SELECT at, at + interval '1 day' AS x, took, span, years FROM events;
SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'copied'::regclass AND attnum > 0 ORDER BY attnum;
CREATE VIEW seen AS SELECT at, zoned FROM events;
SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'seen'::regclass AND attnum > 0 ORDER BY attnum;
SELECT '2020-01-01 00:00:00.123456'::timestamp(3), '2020-01-01 00:00:00.5+00'::timestamptz(0), '10:11:12.5'::time(0), '1.25'::interval(1);
SELECT CAST('2020-01-01 00:00:00.126' AS timestamp(2) without time zone), CAST('23:59:59.9' AS time(0));
SELECT '1.23456'::interval second(2), '1 day 02:03:04'::interval hour, '14 mons 3 days'::interval year to month, '5 days 01:02:03'::interval day;
SELECT '-1.5'::interval(0), '-0.0005'::interval(3), '2000-01-01 00:00:00.5'::timestamp(0), '1999-12-31 23:59:59.5'::timestamp(0), '1999-12-31 23:59:58.5'::timestamp(0);
--! with 2020-01-01 00:00:00.00151|1.5 s
SELECT $1::timestamp(3), $2::interval(0);
SELECT timestamp(2) '2020-01-01 00:00:00.126', time(0) '23:59:59.9', timestamptz(1) '2020-01-01 00:00:00.16+00';
--! unsupported
SELECT interval '1:02:03.456' minute to second, interval '3' year, interval '3 years 2 mons' year to month, timestamp(2) '2020-01-01 00:00:00.126';
SELECT localtimestamp(0) = date_trunc('second', localtimestamp(0)), current_timestamp(0) = date_trunc('second', current_timestamp(0)), extract(microseconds FROM localtime(3))::int % 1000;
CREATE TABLE defaults (id int PRIMARY KEY, at timestamp(3) NOT NULL DEFAULT CURRENT_TIMESTAMP, zoned timestamptz(3) DEFAULT now());
INSERT INTO defaults (id) VALUES (1);
SELECT at = date_trunc('milliseconds', at), zoned = date_trunc('milliseconds', zoned), extract(microseconds FROM at)::int % 1000 FROM defaults;
CREATE INDEX ON events (at);
CREATE UNIQUE INDEX ON events (zoned, at);
SELECT id FROM events WHERE at = timestamp '2020-01-01 00:00:00.123';
SELECT id FROM events WHERE zoned = '2020-01-02 00:00:00+00';
CREATE TABLE keyed (at timestamptz(3) PRIMARY KEY, n int);
INSERT INTO keyed VALUES ('2020-01-01 00:00:00.0004+00', 1);
INSERT INTO keyed VALUES ('2020-01-01 00:00:00.0001+00', 2);
SELECT * FROM keyed WHERE at = '2020-01-01 00:00:00.0004+00';
SELECT * FROM keyed WHERE at = '2020-01-01 00:00:00+00';
DELETE FROM keyed WHERE at = '2020-01-01 00:00:00.0001+00';
ALTER TABLE events ALTER COLUMN six TYPE timestamp(0);
SELECT six FROM events WHERE id = 2;
ALTER TABLE events ALTER COLUMN at TYPE timestamp;
ALTER TABLE events ADD COLUMN later timestamp(1) DEFAULT '2020-01-01 00:00:00.05';
SELECT later FROM events WHERE id = 1;
CREATE DOMAIN moment AS timestamptz(0);
SELECT '2020-01-01 00:00:00.6+00'::moment;
CREATE TABLE moments (m moment);
INSERT INTO moments VALUES ('2020-01-01 00:00:00.6+00') RETURNING m;
CREATE TABLE wrong (a timestamp(-1));
CREATE TABLE wrong (a interval(3) day);
CREATE TABLE wrong (a timestamp(1, 2));
--! missing: the warning comes
CREATE TABLE wide (a timestamp(9), b time(7), c interval(8));
SELECT attname::text, format_type(atttypid, atttypmod) FROM pg_attribute WHERE attrelid = 'wide'::regclass AND attnum > 0 ORDER BY attnum;
COPY events (id, at, zoned) FROM STDIN;
10	2020-01-01 00:00:00.12345	2020-01-01 00:00:00.6+00
\.
SELECT at, zoned FROM events WHERE id = 10;
CREATE FUNCTION rounded_to(t timestamp(0)) RETURNS timestamp(0) LANGUAGE sql AS 'SELECT t';
SELECT rounded_to('2020-01-01 00:00:00.6');
DO $$ DECLARE t timestamp(0) := '2020-01-01 00:00:00.6'; BEGIN RAISE NOTICE '%', t; END $$;
DROP FUNCTION rounded_to;
DROP VIEW seen;
DROP TABLE events, copied, defaults, keyed, moments, wide;
DROP DOMAIN moment;
