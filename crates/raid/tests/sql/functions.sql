-- Scalar functions.
SELECT abs(-5);
SELECT abs(-5.5);
SELECT ceil(1.2);
SELECT floor(-1.2);
SELECT round(1.5);
SELECT round(2.567, 2);
SELECT trunc(1.99);
SELECT trunc(1.567, 2);
SELECT sign(-3.0);
SELECT mod(7, 3);
SELECT power(2, 3);
SELECT sqrt(2);
SELECT exp(1);
SELECT ln(10);
SELECT log(100);
SELECT pi();
SELECT round(2.5::float8);
SELECT round(3.5::float8);
SELECT round(-2.5);
SELECT div(7, 2);
SELECT gcd(12, 18);
SELECT lcm(4, 6);
SELECT degrees(pi());
SELECT sin(0);
SELECT cos(0);
SELECT atan2(1, 1);
--! missing: the result of a mathematical function
SELECT cbrt(27);
SELECT factorial(5);
SELECT sqrt(-1);
SELECT ln(0);
SELECT length('größe');
SELECT char_length('abc');
SELECT octet_length('größe');
SELECT bit_length('abc');
--! differs: letters beyond ASCII have capitals in every locale
SELECT upper('größe');
SELECT lower('ABC');
SELECT initcap('hello world');
SELECT substring('hello' from 2 for 3);
SELECT substring('hello', 2);
SELECT substr('hello', 2, 2);
SELECT left('hello', 2);
SELECT right('hello', 2);
SELECT left('hello', -2);
SELECT position('l' in 'hello');
SELECT strpos('hello', 'lo');
SELECT trim('  a ');
SELECT trim(both 'x' from 'xax');
SELECT ltrim('  a');
SELECT rtrim('a  ');
SELECT btrim('xxaxx', 'x');
SELECT lpad('5', 3, '0');
SELECT rpad('5', 3, 'ab');
SELECT repeat('ab', 3);
SELECT reverse('abc');
SELECT replace('hello', 'l', 'L');
SELECT translate('12345', '143', 'ax');
SELECT concat('a', NULL, 1, true);
SELECT concat_ws(',', 'a', NULL, 'b');
SELECT split_part('a,b,c', ',', 2);
SELECT ascii('A');
SELECT chr(65);
SELECT md5('abc');
SELECT to_hex(255);
SELECT quote_literal('it''s');
SELECT quote_ident('Mixed');
SELECT format('%s-%I-%L', 'a', 'B c', 'd''e');
SELECT regexp_replace('hello', 'l+', 'L');
SELECT regexp_replace('hello', 'l', 'L', 'g');
SELECT regexp_match('foobar', '(o+)b');
SELECT regexp_split_to_array('a,b', ',');
SELECT starts_with('hello', 'he');
SELECT overlay('hello' placing 'XX' from 2 for 3);
--! missing: patterns in substring
SELECT substring('foobar' from 'o(.)b');
--! missing: patterns in substring
SELECT substring('foobar' similar '%#"o_b#"%' escape '#');
SELECT extract(epoch FROM timestamp '2024-01-01');
SELECT extract(month FROM date '2024-05-06');
SELECT extract(hour FROM time '12:34');
SELECT extract(second FROM timestamp '2024-01-01 00:00:12.345');
SELECT extract(day FROM interval '3 days');
SELECT extract(quarter FROM date '2024-05-06');
SELECT extract(week FROM date '2024-05-06');
SELECT extract(isodow FROM date '2024-05-05');
SELECT extract(doy FROM date '2024-05-06');
SELECT extract(century FROM date '2024-05-06');
SELECT date_part('year', date '2024-05-06');
SELECT date_trunc('hour', timestamp '2024-01-01 12:34:56');
SELECT date_trunc('week', date '2024-05-08');
SELECT date_trunc('day', interval '3 days 4 hours');
SELECT make_date(2024, 2, 29);
SELECT make_timestamp(2024, 1, 2, 3, 4, 5.5);
--! missing: the function make_interval
SELECT make_interval(days => 3);
SELECT justify_hours(interval '27 hours');
SELECT justify_days(interval '35 days');
SELECT age(timestamp '2024-03-01', timestamp '2023-01-15');
SELECT date '2024-01-01' + time '10:00';
SELECT timestamp '2024-01-01' AT TIME ZONE 'UTC';
--! unsupported
SELECT isfinite(date 'infinity');
SELECT (date '2024-01-01', date '2024-02-01') OVERLAPS (date '2024-01-15', date '2024-03-01');
SELECT now() = current_timestamp;
SELECT now() = transaction_timestamp();
SELECT localtimestamp IS NOT NULL;
SELECT current_date IS NOT NULL;
SELECT clock_timestamp() >= now();
SELECT statement_timestamp() IS NOT NULL;
--! unsupported
SELECT current_time IS NOT NULL;
SELECT now()::timestamptz(0) IS NOT NULL;
SELECT '2024-01-01 10:11:12.987654'::timestamp(2);
SELECT '10:11:12.987'::time(0);
SELECT timestamptz '2024-01-01 10:11:12.5 Europe/Zurich';
SELECT coalesce(NULL, 'a');
SELECT nullif('a', 'a');
SELECT greatest(1, 2.5, NULL);
SELECT least('b', 'a');
SELECT version() LIKE 'PostgreSQL 15%';
--! missing: the type name
SELECT current_database();
--! missing: the type name
SELECT current_schema();
--! missing: the type name
SELECT current_schema;
--! missing: the type name
SELECT current_user;
--! missing: the type name
SELECT session_user;
--! missing: the type name
SELECT user;
--! missing: the type name
SELECT current_catalog;
--! missing: the function pg_typeof
SELECT pg_typeof(1);
--! missing: the function pg_typeof
SELECT pg_typeof(now());
--! missing: the function pg_typeof
SELECT pg_typeof('a'::varchar(3));
SELECT current_setting('server_version_num')::int >= 150000;
SELECT current_setting('nope', true);
SELECT pg_backend_pid() > 0;
--! missing: the function txid_current
SELECT txid_current() > 0;
SELECT current_setting('nope');
SELECT gen_random_uuid() IS NOT NULL;
SELECT random() BETWEEN 0 AND 1;
SELECT length(gen_random_uuid()::text);
SELECT width_bucket(5.35, 0.024, 10.06, 5);
SELECT bool(1);
SELECT int4('5');
SELECT text(7);
SELECT float8(1);
SELECT array_to_string(ARRAY[1,2,3], ',');
SELECT string_to_array('a,b', ',');
SELECT array_append(ARRAY[1], 2);
SELECT array_position(ARRAY['a','b'], 'b');
SELECT ARRAY[1,2] || 3;
SELECT ARRAY[1,2] @> ARRAY[1];
SELECT pg_size_pretty(123456789::bigint);
SELECT obj_description(0, 'pg_class') IS NULL;
SELECT has_table_privilege('pg_class', 'SELECT');
SELECT pg_is_in_recovery();
--! missing: the address of the server
SELECT inet_server_port() IS NOT NULL;
SELECT sha256('abc');
SELECT encode(sha256('abc'), 'hex');
SELECT convert_to('abc', 'UTF8');
SELECT convert_from('\x616263', 'UTF8');
SELECT hashtext('a') IS NOT NULL;
SELECT pg_sleep(0);
SELECT lower(5);
SELECT substring('abc', 'x', 'y', 'z');
SELECT to_char(interval '1 day 02:03:04', 'DD HH24:MI:SS');
SELECT to_char(-5, 'S99');
SELECT to_char(0.5, 'FM0.00');
SELECT to_char(1234.5678, 'FM999G999D99');
SELECT to_char(12, 'RN');
SELECT to_char(5, '999th');
SELECT to_char(timestamp '2024-01-05 03:04:05.678', 'YY.MM.DD HH:MI:SS.MS US AM TZ Q WW IW J D ID');
SELECT to_char(timestamptz '2024-01-05 03:04:05+00', 'YYYY-MM-DD"T"HH24:MI:SSOF');
SELECT 'a' IS NOT NULL AND true;
SELECT (1 > 0) IS TRUE;
SELECT NULL::boolean IS UNKNOWN;
SELECT (1 > 2) IS NOT FALSE;
SELECT min(x), max(x) FROM (VALUES ('b'), ('a')) v(x);
SELECT every(x > 0), bit_and(x), bit_or(x), corr(x, x), regr_slope(x, x) FROM (VALUES (1), (3)) v(x);
SELECT mode() WITHIN GROUP (ORDER BY x), percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM (VALUES (1), (1), (3)) v(x);
SELECT factorial(5), gcd(12, 18), lcm(4::bigint, 6);
SELECT factorial(-1);
SELECT power(2.5, '3');
SELECT power(2.5, 3);
SELECT length(42);
SELECT has_table_privilege('pg_class', 'SELECT, INSERT');
SELECT has_table_privilege('nosuchtable', 'SELECT');
SELECT has_table_privilege('nosuchuser', 'pg_class', 'SELECT');
SELECT has_table_privilege('pg_class', 'SEL');
SELECT has_schema_privilege('nosuchschema', 'USAGE');
