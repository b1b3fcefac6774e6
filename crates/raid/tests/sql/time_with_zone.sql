-- time with time zone: input and output, casts, operators, zones, fields, columns, keys and indexes.
SELECT '12:00+02'::timetz, '12:00:01.5-03:30'::timetz, '040506+0530'::timetz, '12:00z'::timetz, '  12:00+02 '::timetz, '12:00+02:30:15'::timetz;
SELECT '12:00'::timetz, '1200'::timetz, '12:00 pm'::timetz, '04:05 AM -8'::timetz, 'allballs'::timetz, '12:00 pst'::timetz, '12:00 UTC'::timetz;
SELECT '12:00 Etc/GMT+3'::timetz, '2020-07-01 12:00 America/New_York'::timetz, '2020-01-01 12:00 America/New_York'::timetz, '2020-07-01 120000 America/New_York'::timetz, '2020-01-01 04:05-08'::timetz;
SELECT '12:00 America/New_York'::timetz;
SELECT '24:00+00'::timetz, '23:59:60+00'::timetz, '12:00:60+00'::timetz, '12:00:00.9999999-03'::timetz;
SELECT '24:00:01+00'::timetz;
SELECT '25:00+00'::timetz;
SELECT '12'::timetz;
SELECT 'xx'::timetz;
SELECT ''::timetz;
SELECT 'epoch'::timetz;
SELECT '12:00 +16'::timetz;
SELECT '12:00 Nowhere/City'::timetz;
SELECT time with time zone '12:00:00.123456+01', time(2) with time zone '12:00:00.126+01', '12:00:00.9+01'::timetz(0), CAST('23:59:59.9+01' AS time(0) with time zone);
SELECT '12:00+02'::timetz::time, time '12:00'::timetz, timestamptz '2020-01-01 12:00+02'::timetz, '12:00+02'::timetz::text, '12:00+02'::text::timetz;
SELECT '12:00+02'::timetz::date;
SELECT date '2020-01-01'::timetz;
SELECT '12:00+02'::timetz::interval;
SELECT '12:00+02'::timetz + interval '1 day 13 hours', '12:00+02'::timetz - interval '13 hours', interval '1 h' + '12:00+02'::timetz, '12:00+02'::timetz + interval '1 mon -1 s', '24:00+00'::timetz + interval '0';
SELECT '12:00+02'::timetz - '11:00+02'::timetz;
SELECT '12:00+02'::timetz + date '2020-01-01', date '2020-01-01' + '23:00-05'::timetz;
SELECT '12:00+02'::timetz = '10:00+00'::timetz, '12:00+02'::timetz < '10:00+00'::timetz, '12:00+02'::timetz > '10:00+00'::timetz, '12:00+02'::timetz <> '12:00+02'::timetz, '01:00+05'::timetz <= '23:00+00'::timetz, '12:00+02'::timetz >= '12:00+01'::timetz;
SELECT time '12:00' = '12:00+00'::timetz, '12:00+01'::timetz < time '12:00', '12:00+02'::timetz BETWEEN '09:00+00' AND '11:00+00';
SELECT '12:00+02'::timetz = 1;
SELECT x FROM (VALUES ('12:00+02'::timetz), ('10:00+00'), ('11:00+01'), ('00:00-08'), ('23:59+14'), (NULL)) t(x) ORDER BY x;
SELECT min(x), max(x), count(DISTINCT x), array_agg(x ORDER BY x DESC) FROM (VALUES ('12:00+02'::timetz), ('10:00+00'), ('11:00+01'), (NULL)) t(x);
SELECT timetz '12:00+02' AT TIME ZONE interval '-3 hours', timetz '12:00+02' AT TIME ZONE 'utc', timetz '12:00+02' AT TIME ZONE 'PST', timetz '01:00+02' AT TIME ZONE 'Etc/GMT+9', timezone(interval '05:30', timetz '23:00+00');
SELECT timetz '12:00+02' AT TIME ZONE 'Nowhere';
SELECT timetz '12:00+02' AT TIME ZONE interval '1 day';
SELECT extract(hour from timetz '12:34:56.789-02:30'), extract(minute from timetz '12:34:56.789-02:30'), extract(second from timetz '12:34:56.789-02:30'), extract(milliseconds from timetz '12:34:56.789-02:30'), extract(microseconds from timetz '12:34:56.789-02:30');
SELECT extract(epoch from timetz '12:00+02'), extract(timezone from timetz '12:00-02:30'), extract(timezone_hour from timetz '12:00-02:30'), extract(timezone_minute from timetz '12:00-02:30');
SELECT date_part('second', timetz '12:00:01.5-02:30'), date_part('epoch', timetz '12:00-02:30'), date_part('timezone', timetz '12:00-02:30'), date_part('HOURS', timetz '12:00-02:30');
SELECT extract(day from timetz '12:00+02');
SELECT extract(foo from timetz '12:00+02');
SELECT date_part('year', timetz '12:00+02');
SELECT date_trunc('hour', timetz '12:00+02');
--! unsupported
SELECT pg_typeof(current_time);
SELECT current_time IS NOT NULL, current_time(2) <= current_time + interval '1 s', current_time::time = localtime, extract(timezone from current_time), current_time = now()::timetz;
SELECT timetz_send('12:00+02'), timetz_hash('12:00+02'), timetz_hash_extended('12:00-02', 7), timetz_cmp('12:00+02', '10:00+00'), timetz_larger('12:00+02', '10:00+00'), timetz_smaller('12:00+02', '10:00+00');
SELECT (timetz '08:00+00', timetz '10:00+00') OVERLAPS (timetz '11:00+02', timetz '12:00+00'), (timetz '08:00+00', timetz '10:00+00') OVERLAPS (timetz '10:00+00', timetz '12:00+00');
SELECT ARRAY['12:00+02', '10:00']::timetz[], '{12:00+02,NULL}'::timetz[], '12:00+02'::timetz = ANY ('{12:00+02}'::timetz[]), ARRAY['12:00:00.55+02'::timetz]::timetz(1)[];
SELECT to_json('12:00+02'::timetz), to_jsonb('12:00+02'::timetz), quote_literal('12:00+02'::timetz), concat('12:00+02'::timetz, '!'), 'at ' || '12:00+02'::timetz;
SELECT coalesce(NULL, '12:00+02'::timetz), greatest('12:00+02'::timetz, '10:00+00'), nullif('12:00+02'::timetz, '10:00+00'), NULL::timetz + interval '1 h';
SELECT '12:00'::time UNION SELECT '12:00+00'::timetz;
CREATE TABLE opening (id int PRIMARY KEY, a timetz, b time(1) with time zone, c timetz[] DEFAULT '{}', d timetz DEFAULT '12:00+03');
SELECT column_name::text, data_type::text, datetime_precision::int, udt_name::text FROM information_schema.columns WHERE table_name = 'opening' ORDER BY ordinal_position;
SELECT attname::text, format_type(atttypid, atttypmod), atttypmod FROM pg_attribute WHERE attrelid = 'opening'::regclass AND attnum > 0 ORDER BY attnum;
--! missing: a default is shown as it was written
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'opening'::regclass ORDER BY adnum;
INSERT INTO opening VALUES (1, '12:00+02', '12:00:00.55+02', '{09:00+00}'), (2, '10:00+00', '08:00', NULL, NULL);
INSERT INTO opening VALUES (3, time '09:00', timestamptz '2020-01-01 12:00+02', DEFAULT, '04:00-08') RETURNING *;
INSERT INTO opening VALUES (4, 5);
INSERT INTO opening VALUES (4, 'noon');
SELECT * FROM opening ORDER BY id;
SELECT id FROM opening WHERE a = '12:00+02';
SELECT id, a FROM opening WHERE a >= '09:30+00' ORDER BY a;
SELECT id, a + interval '30 min', extract(hour from b), a::time FROM opening ORDER BY id;
UPDATE opening SET a = a AT TIME ZONE 'UTC', b = b + interval '1.27 s' RETURNING id, a, b;
SELECT id FROM opening WHERE a = time '10:00' ORDER BY id;
--! with 12:00+02|10:00
SELECT $1::timetz, $2::timetz(0);
--! with 10:00+00
SELECT id FROM opening WHERE a = $1 ORDER BY id;
--! describe
SELECT a, b, a + $1, d FROM opening WHERE b < $2;
CREATE UNIQUE INDEX ON opening (a, id);
CREATE INDEX ON opening USING hash (a);
SELECT id FROM opening WHERE a < '10:00+00' ORDER BY a, id;
CREATE TABLE keyed_times (k timetz PRIMARY KEY);
INSERT INTO keyed_times VALUES ('12:00+02'), ('10:00+00'), ('00:00+12'), ('24:00-12');
INSERT INTO keyed_times VALUES ('10:00+00');
SELECT * FROM keyed_times ORDER BY k;
SELECT * FROM keyed_times WHERE k > '12:00+02' ORDER BY k DESC;
CREATE TABLE checked_times (a timetz CHECK (a < '18:00+00'), b time DEFAULT '12:00');
INSERT INTO checked_times VALUES ('17:00+00');
INSERT INTO checked_times VALUES ('17:00-02');
ALTER TABLE checked_times ALTER COLUMN b TYPE timetz;
SELECT * FROM checked_times;
CREATE INDEX ON checked_times ((b::timetz));
COPY opening (id, a, c) FROM STDIN;
10	23:00-05	{12:00+02}
\.
COPY (SELECT id, a, b, c FROM opening ORDER BY id) TO STDOUT;
SELECT a, count(*) FROM opening GROUP BY a ORDER BY a;
SELECT x.id, y.id FROM opening x JOIN opening y ON x.a = y.a AND x.id < y.id ORDER BY 1, 2;
DROP TABLE opening, keyed_times, checked_times;
--! one session
SET TIME ZONE '+5';
SELECT '12:00'::timetz, time '12:00'::timetz, timestamptz '2020-01-01 12:00+00'::timetz, '12:00+02'::timetz;
RESET TIME ZONE;
SELECT timetz '12:00+02' AT TIME ZONE 'Asia/Tokyo', timetz '12:00+02' AT TIME ZONE 'MSK';
