-- Every type: in and out, as text and in binary.
CREATE TABLE all_types (id int PRIMARY KEY, i2 smallint, i4 integer, i8 bigint, f4 real, f8 double precision, n numeric, nn numeric(12,3), t text, v varchar(20), c char(6), b boolean, y bytea, d date, tm time, ts timestamp, tz timestamptz, iv interval, u uuid);
INSERT INTO all_types VALUES (1, 1, 2, 3, 1.5, 2.5, 1.10, 2.2, 'text', 'varchar', 'char', true, '\xdeadbeef', '2024-02-29', '12:34:56.789', '2024-02-29 12:34:56.789', '2024-02-29 12:34:56.789+02', '1 year 2 mons 3 days 04:05:06.7', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11');
INSERT INTO all_types (id) VALUES (2);
INSERT INTO all_types VALUES (3, -32768, -2147483648, -9223372036854775808, -1e-10, 1e300, -123456789012345678901234567890.123456789, 999999999.999, '', '', '', false, '', '0001-01-01', '00:00', '4713-01-01 00:00:00 BC', '1900-01-01 00:00:00+00', '-1 days -00:00:01', '00000000-0000-0000-0000-000000000000');
--! unsupported
INSERT INTO all_types VALUES (4, 32767, 2147483647, 9223372036854775807, 'NaN', 'Infinity', 1e-20, 0, 'größe ' || chr(10) || '"', 'tab	', '  a', 'yes', 'bytes\\\000', 'infinity', '24:00', 'infinity', '-infinity', '0', '{A0EEBC999C0B4EF8BB6D6BB9BD380A11}');
--! unsupported
INSERT INTO all_types (id, n) VALUES (5, 'NaN');
SELECT * FROM all_types ORDER BY id;
SELECT * FROM all_types WHERE i8 = 3;
SELECT * FROM all_types WHERE u = 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11';
SELECT id FROM all_types WHERE tz = '2024-02-29 10:34:56.789Z';
SELECT id FROM all_types WHERE c = 'char';
SELECT id, length(c), c || '|', v || '|' FROM all_types ORDER BY id;
INSERT INTO all_types (id, i2) VALUES (9, 32768);
INSERT INTO all_types (id, i4) VALUES (9, 2147483648);
INSERT INTO all_types (id, i8) VALUES (9, 9223372036854775808);
INSERT INTO all_types (id, i4) VALUES (9, 'abc');
INSERT INTO all_types (id, i4) VALUES (9, true);
INSERT INTO all_types (id, b) VALUES (9, 1);
INSERT INTO all_types (id, d) VALUES (9, '2023-02-29');
INSERT INTO all_types (id, d) VALUES (9, 'not a date');
INSERT INTO all_types (id, tm) VALUES (9, '25:00');
INSERT INTO all_types (id, u) VALUES (9, 'xyz');
INSERT INTO all_types (id, y) VALUES (9, '\xabc');
INSERT INTO all_types (id, iv) VALUES (9, 'one day');
INSERT INTO all_types (id, nn) VALUES (9, 1e12);
INSERT INTO all_types (id, i4) VALUES (9, 1.5), (10, 2.5), (11, -1.5);
SELECT id, i4 FROM all_types WHERE id >= 9 ORDER BY id;
INSERT INTO all_types (id, t) VALUES (12, 5);
INSERT INTO all_types (id, i4) VALUES (13, '  42 ');
SELECT 1::smallint;
SELECT 2::int;
SELECT 3::bigint;
SELECT 1.5::real;
SELECT 2.5::float8;
SELECT 1.10::numeric;
SELECT 'a'::text;
SELECT 'b'::varchar;
SELECT 'c'::char(3);
SELECT true;
SELECT '\x01'::bytea;
SELECT date '2024-01-31';
SELECT time '10:11:12';
SELECT timestamp '2024-01-31 10:11:12.5';
SELECT timestamptz '2024-01-31 10:11:12+01';
SELECT interval '1 day 2 hours';
SELECT uuid 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11';
SELECT NULL;
SELECT NULL::int;
SELECT 'x';
SELECT 1;
SELECT 1.0;
SELECT 10000000000;
SELECT 1e5;
SELECT 100000000000000000000;
SELECT 1/3;
SELECT 1.0/3;
SELECT 1::float8/3;
SELECT 7 % 3;
SELECT -7 / 2;
SELECT -7 % 2;
SELECT 2 ^ 10;
SELECT 1::real/3;
SELECT 1/0;
SELECT 1.0/0;
SELECT 1::float8/0;
SELECT 2147483647 + 1;
SELECT 9223372036854775807 + 1;
SELECT 32767::smallint + 1::smallint;
SELECT '1' + 1;
SELECT '1.5'::numeric + 1;
SELECT 1 + 1.5;
SELECT 1::real + 1::float8;
SELECT 1::bigint * 2;
SELECT 'a' + 1;
SELECT 'a' || 1;
SELECT 'a' || NULL;
SELECT 1 || 'b';
SELECT 'abc'::int;
SELECT '12'::int;
SELECT '1e3'::float8;
SELECT ' 7 '::int;
SELECT 't'::boolean;
SELECT 'off'::boolean;
SELECT 'maybe'::boolean;
SELECT 1.5::int;
SELECT 2.5::int;
SELECT 2.5::float8::int;
SELECT 1e10::int;
SELECT true::int;
SELECT 1::boolean;
SELECT 0::boolean;
SELECT 'true'::boolean::text;
SELECT 123.456::numeric(5,2);
SELECT 123.456::numeric(4,1);
SELECT 12345::numeric(4,1);
SELECT 'abcdef'::varchar(3);
SELECT 'abcdef'::char(3);
SELECT 'ab'::char(4) || 'x';
SELECT 0.1::real;
SELECT 0.1::float8;
SELECT 1e-7::float8;
SELECT 123456789.123::real;
SELECT 1e15::float8;
SELECT 1e16::float8;
SELECT 'NaN'::float8;
SELECT '-Infinity'::float8;
SELECT -0.0::float8;
SELECT 1.0;
SELECT 1.00;
SELECT 1e2;
SELECT 1.5e-3;
SELECT .5;
SELECT 5.;
SELECT '2024-01-01'::date + 1;
SELECT '2024-01-01'::date - '2023-01-01'::date;
SELECT '2024-01-31'::date + interval '1 month';
SELECT '2024-01-01'::timestamp - '2023-01-01'::timestamp;
SELECT '2024-03-01'::timestamp - interval '1 day';
SELECT '10:00'::time + interval '3 hours';
SELECT '10:00'::time - '08:30'::time;
SELECT interval '1 day' * 2;
SELECT interval '1 month' / 2;
SELECT interval '1 day' + interval '1 hour';
SELECT -interval '1 day';
SELECT interval '90 minutes';
SELECT interval '1.5 hours';
SELECT interval 'P1Y2M';
SELECT interval '1-2';
SELECT interval '3 4:05:06';
--! missing: fields of an interval in its type
SELECT interval '1' day;
--! missing: fields of an interval in its type
SELECT interval '1' year;
--! unsupported
SELECT interval '2:03' hour to minute;
SELECT '2024-01-01 10:00'::timestamp::date;
SELECT '2024-01-01'::date::timestamp;
SELECT '2024-01-01 10:00+00'::timestamptz::timestamp;
SELECT '2024-01-01 10:00'::timestamp::time;
--! unsupported
SELECT 'today'::date = current_date;
SELECT 'epoch'::timestamp;
--! unsupported
SELECT 'infinity'::timestamp;
SELECT 'Jan 5 2024'::date;
SELECT '5 January 2024'::date;
SELECT '20240105'::date;
SELECT '01/02/2024'::date;
SELECT '2024-01-01'::date < '2024-01-02';
SELECT '2024-01-01'::date = '2024-01-01'::timestamp;
SELECT 1 < 1.5;
SELECT 1::bigint = 1::smallint;
SELECT 'a' < 'b';
SELECT 'a' = 'a '::char(2);
SELECT 'abc' LIKE 'a%';
SELECT 'abc' NOT LIKE '_b_';
SELECT 'ABC' ILIKE 'a%';
SELECT 'abc' ~ '^a';
SELECT 'abc' !~ 'c$';
SELECT 'abc' ~* 'B';
SELECT 'a%c' LIKE 'a\%c';
SELECT 'abc' SIMILAR TO 'a(b|c)+';
SELECT 1 = NULL;
SELECT NULL IS NULL;
SELECT 1 IS DISTINCT FROM NULL;
SELECT NULL IS NOT DISTINCT FROM NULL;
SELECT true AND NULL;
SELECT false AND NULL;
SELECT true OR NULL;
SELECT NOT NULL::boolean;
SELECT 1 BETWEEN 0 AND 2;
SELECT 3 NOT BETWEEN 0 AND 2;
SELECT 1 IN (1, 2);
SELECT 3 IN (1, NULL);
SELECT 3 NOT IN (1, 2);
--! missing: BETWEEN SYMMETRIC
SELECT 1 BETWEEN SYMMETRIC 2 AND 0;
SELECT 5 & 3;
SELECT 5 | 3;
SELECT 5 # 3;
SELECT ~5;
SELECT 1 << 4;
SELECT 256 >> 2;
SELECT '\x0102'::bytea || '\x03'::bytea;
SELECT length('\x0102'::bytea);
SELECT encode('\x0102ff', 'hex');
SELECT encode('abc', 'base64');
SELECT decode('YWJj', 'base64');
SELECT get_byte('\x0102', 1);
SELECT substring('\x010203'::bytea from 2 for 1);
SELECT E'a\tb\n\\';
SELECT 'it''s';
SELECT U&'\0041';
SELECT $$dollar 'quoted'$$;
SELECT $x$ a $$ b $x$;
--! unsupported
SELECT B'101';
--! missing: bit strings
SELECT X'1F';
SELECT 1::oid;
SELECT 'pg_class'::regclass::oid;
--! missing: object identifier types
SELECT 'int4'::regtype;
--! missing: object identifier types
SELECT 23::regtype;
SELECT '{1,2,3}'::int[];
SELECT ARRAY[1,2,3];
SELECT ARRAY['a','b'];
SELECT (ARRAY[1,2,3])[2];
SELECT array_length(ARRAY[1,2], 1);
SELECT 1 = ANY(ARRAY[1,2]);
SELECT 3 = ALL(ARRAY[3,3]);
SELECT cardinality(ARRAY[1,2,3]);
SELECT 1::nosuchtype;
SELECT CAST('2024-01-01' AS timestamp);
SELECT CAST(5 AS text);
SELECT CAST(NULL AS int);
SELECT CAST('1' AS numeric(5,2));
--! missing: the function to_char
SELECT to_char(1234.5, '9999.99');
--! missing: the function to_char
SELECT to_char(12, '00009');
--! missing: the function to_char
SELECT to_char(1234567, '9,999,999');
SELECT to_char(timestamp '2024-02-29 13:04:05', 'YYYY-MM-DD HH24:MI:SS');
--! missing: the function to_char
SELECT to_char(timestamp '2024-02-29 13:04:05', 'Dy, DD Mon YYYY HH12:MI AM');
--! missing: the function to_char
SELECT to_char(date '2024-02-29', 'Day Month DDD');
--! missing: the function to_date
SELECT to_date('2024-02-29', 'YYYY-MM-DD');
--! missing: the function to_timestamp
SELECT to_timestamp('2024-02-29 01:02:03', 'YYYY-MM-DD HH24:MI:SS');
SELECT to_timestamp(0);
--! missing: the function to_number
SELECT to_number('1,234.5', '9,999.9');
DROP TABLE all_types;

-- Arrays as columns: stored, compared, changed, and found by.
CREATE TABLE arrays (id int PRIMARY KEY, tags text[] NOT NULL DEFAULT '{none}', numbers int[], prices numeric(6,2)[], spans varchar(3)[]);
INSERT INTO arrays VALUES (1, '{a,"b c",NULL}', '{1,2,3}', '{1.5,NULL}', '{abc}'), (2, ARRAY['x'], ARRAY[]::int[], NULL, NULL), (3, DEFAULT, NULL, '{}', '{}');
INSERT INTO arrays (id, numbers) SELECT id, ARRAY[id, n] FROM unnest('{4,5}'::int[], '{40,50}'::int[]) AS t(id, n);
SELECT * FROM arrays ORDER BY id;
SELECT id FROM arrays WHERE id = ANY ('{5,1,NULL,77}') ORDER BY id;
SELECT id FROM arrays WHERE id <> ALL ('{1,2}') ORDER BY id DESC;
SELECT id FROM arrays WHERE 2 = ANY (numbers) ORDER BY id;
SELECT id FROM arrays WHERE 'x' = ANY (tags) OR 3 < ALL (numbers) ORDER BY id;
SELECT id FROM arrays WHERE numbers = '{1,2,3}';
SELECT id FROM arrays WHERE tags >= '{b}' ORDER BY tags;
SELECT id, cardinality(tags), array_length(numbers, 1), numbers[1] FROM arrays ORDER BY id;
UPDATE arrays SET tags = '{new}', prices = '{9.999}' WHERE id = ANY ('{2,3,99}') RETURNING id, tags, prices;
UPDATE arrays SET tags = tags || 'more'::text WHERE id = ANY ('{1,2}'::bigint[]);
UPDATE arrays SET numbers = numbers || '{8,9}'::int[], spans = ARRAY['abcd'] WHERE id = 1;
UPDATE arrays SET numbers = '{1,x}' WHERE id = 1;
UPDATE arrays SET tags = NULL WHERE id = 1;
UPDATE arrays SET numbers = ARRAY['1', '2'] WHERE id = 1;
DELETE FROM arrays WHERE id = ANY (ARRAY[4, 5]) AND numbers[2] >= 50 RETURNING id;
ALTER TABLE arrays ADD COLUMN marks boolean[] DEFAULT '{t,NULL}';
SELECT * FROM arrays ORDER BY id;
SELECT unnest(tags) AS tag, count(*) FROM arrays GROUP BY 1 ORDER BY 1;
SELECT array_agg(numbers[1] ORDER BY id) FROM arrays;
SELECT id FROM arrays WHERE id = ANY (3);
SELECT id FROM arrays WHERE id = ANY ('{a}');
SELECT id FROM arrays WHERE tags = '{1}'::int[];
COPY arrays (id, tags, numbers) FROM STDIN;
10	{"tab\\there",\\"}	{1,2}
\.
COPY (SELECT id, tags, numbers FROM arrays ORDER BY id) TO STDOUT;
--! unsupported
CREATE TABLE keyed (a int[] PRIMARY KEY);
--! unsupported
CREATE INDEX ON arrays (tags);
--! unsupported
SELECT '{{1,2},{3,4}}'::int[];
DROP TABLE arrays;
CREATE TABLE identified (id oid PRIMARY KEY, other oid, many oid[]);
INSERT INTO identified VALUES (1, 2, '{3,4294967295}'), ('4294967295', -1, NULL), (16384::bigint, NULL, '{}');
INSERT INTO identified VALUES (1, 5, NULL);
INSERT INTO identified VALUES (4294967296, 5, NULL);
INSERT INTO identified VALUES (1.5, 5, NULL);
SELECT * FROM identified ORDER BY id DESC;
SELECT other FROM identified WHERE id = 4294967295;
SELECT id FROM identified WHERE id = '1';
SELECT id FROM identified WHERE id = ANY ('{1,7,16384}') ORDER BY id;
SELECT id FROM identified WHERE id > 5::bigint AND id < 20000;
SELECT id FROM identified WHERE other = id;
SELECT id FROM identified WHERE other = -1;
SELECT id FROM identified WHERE id > -1 ORDER BY id;
SELECT id FROM identified WHERE id = 4294967296;
SELECT count(*) FROM identified a JOIN identified b ON a.id = b.id::bigint WHERE a.other = -1;
UPDATE identified SET other = id WHERE id = 16384 RETURNING other::bigint, other::int, other::text || 'x';
UPDATE identified SET other = other + 1;
SELECT id FROM identified WHERE id = 1.5;
DELETE FROM identified WHERE id IN (1, 16384);
SELECT count(*), min(id), max(other) FROM identified;
DROP TABLE identified;
--! unsupported
SELECT '(0,1)'::tid;
--! unsupported
SELECT '11 22'::int2vector;
--! unsupported
SELECT '\101'::"char";
--! unsupported
SELECT interval(0) '1 day 01:23:45.6789';
--! unsupported
SELECT interval '1.234' second(2);
--! unsupported
SELECT to_regclass('pg_class');
SELECT to_regclass('pg_class')::text, to_regclass('nosuchtable') IS NULL;
--! unsupported
SELECT ARRAY[[1, 2], [3, 4]];
--! unsupported
SELECT array_agg(ARRAY[x, 1]) FROM (VALUES (1), (2)) v(x);
