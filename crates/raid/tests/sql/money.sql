-- money as in the locale C: input and output, casts, arithmetic, words, columns, keys and indexes.
SET lc_monetary = 'C';
SELECT '1234.56'::money, '$1,234.56'::money, '-1234.567'::money, '(5)'::money, '$ -5'::money, '- $5'::money, '5-'::money, '+5'::money, '5$'::money, ' 5 '::money, ''::money;
SELECT '.5'::money, '5.'::money, '5.5'::money, '5.555'::money, '5.554'::money, '5.5,5'::money, '5,5'::money, ','::money, '12.,3'::money, '0.005'::money, '-0.004'::money;
SELECT '92233720368547758.07'::money, '-92233720368547758.08'::money, '1000000'::money, '999999.99'::money, '-0.01'::money;
SELECT '92233720368547758.08'::money;
SELECT '-92233720368547758.09'::money;
SELECT '1.2.3'::money;
SELECT '1 2'::money;
SELECT 'abc'::money;
SELECT '€5'::money;
SELECT money '12.5', CAST('12.5' AS money);
--! missing: an operator behind a literal whose type is no keyword
SELECT money '$1' + '2';
SELECT 5::money, 5::bigint::money, 12.345::money, (-12.345)::money, 12.344::numeric(10,2)::money, '1'::text::money, '1'::money::text, '1'::money::varchar;
SELECT '1.50'::money::numeric, '-1234.5'::money::numeric(10,1), '1.5'::money::numeric::int;
SELECT 5::smallint::money;
SELECT 5.5::float8::money;
SELECT '1'::money::int;
SELECT '1'::money::float8;
SELECT 1e20::numeric::money;
SELECT 92233720368547759::money;
SELECT '5'::money + '2.5'::money, '5'::money - '7.25', '5'::money * 2, 2 * '5'::money, '5'::money * 2::smallint, 3::smallint * '5'::money, '5'::money * 3::bigint, 3::bigint * '5'::money;
SELECT '5'::money * 2.5::float8, 2.5::float8 * '5.01'::money, '5.01'::money * 0.5::float4, 0.5::float4 * '5.03'::money, '5'::money * 2.5, 2.5 * '5'::money;
SELECT '5'::money / 3, '-5'::money / 3, '5'::money / 3::smallint, '5'::money / 3::bigint, '5.01'::money / 2::float8, '5.03'::money / 2::float4, '5'::money / 2.5;
SELECT '5'::money / '2'::money, '1'::money / '3'::money;
SELECT '5'::money / 0;
SELECT '5'::money / 0::float8;
SELECT '5'::money / '0'::money;
SELECT '5'::money / 0::bigint;
SELECT '92233720368547758.07'::money + '1';
SELECT '-92233720368547758.08'::money - '1';
SELECT '92233720368547758.07'::money * 2;
SELECT '5'::money * 1e30::float8;
SELECT '5'::money * 'NaN'::float8;
SELECT '5'::money * '5'::money;
SELECT '5'::money % 3;
SELECT -'1'::money;
SELECT abs('1'::money);
SELECT '1'::money < '2', '1'::money = 1::money, '1'::money <> '1', '1'::money >= '0.99', '-1'::money > '-2', '1'::money <= '1.00';
SELECT '1'::money = 1;
SELECT '1'::money < 2.5;
SELECT cash_words('123456.78'), cash_words('-1.01'), cash_words('0'), cash_words('100'), cash_words('110'), cash_words('119.20');
SELECT cash_words('9000000000000000'), cash_words('1001001.99'), cash_words('20.20'), cash_words('300'), cash_words('12345678901234.56'), cash_words('-92233720368547758.08');
SELECT sum(x), min(x), max(x), count(x), count(DISTINCT x), array_agg(x ORDER BY x) FROM (VALUES ('1'::money), ('2.5'), (NULL), ('-3'), ('1.00')) t(x);
SELECT sum(x) FROM (VALUES ('92233720368547758.07'::money), ('1')) t(x);
SELECT sum(x) FROM (VALUES (NULL::money)) t(x);
SELECT avg('1'::money);
SELECT sum(x) OVER (ORDER BY x), x FROM (VALUES ('1'::money), ('2.5'), ('-3')) t(x) ORDER BY x;
SELECT x FROM (VALUES ('1'::money), ('2.5'), (NULL), ('-3')) t(x) ORDER BY x DESC;
SELECT cash_send('1'), cash_cmp('1', '2'), cashlarger('1', '2'), cashsmaller('1', '2');
--! unsupported
SELECT pg_typeof('1'::money);
SELECT ARRAY['1', '2.5']::money[], '{"$1,234.56",-5,NULL}'::money[], '1'::money = ANY ('{1,2}'::money[]), ARRAY[1::money] || 2::money;
SELECT to_json('1234.5'::money), to_jsonb('-1'::money), quote_literal('1'::money), concat('1'::money, '!'), 'for ' || '1'::money, format('%s', '1'::money);
SELECT coalesce(NULL, '1'::money), greatest('1'::money, '2'), nullif('1'::money, '1'), NULL::money + '1', CASE WHEN true THEN '1'::money END;
SELECT '1'::money UNION SELECT '2'::money ORDER BY 1;
SELECT 'x'::money(2);
CREATE TABLE accounts (id int PRIMARY KEY, balance money DEFAULT '5', list money[], floor money CHECK (floor < '100'));
SELECT column_name::text, data_type::text, numeric_precision::int, numeric_scale::int, udt_name::text FROM information_schema.columns WHERE table_name = 'accounts' ORDER BY ordinal_position;
SELECT attname::text, format_type(atttypid, atttypmod), atttypmod FROM pg_attribute WHERE attrelid = 'accounts'::regclass AND attnum > 0 ORDER BY attnum;
--! missing: a default is shown as it was written
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'accounts'::regclass;
INSERT INTO accounts VALUES (1, '$1,000.00', '{1,2}', 0), (2, 12.345, NULL, 1.5), (3, DEFAULT, '{}', NULL);
INSERT INTO accounts VALUES (4, 12.5::float8);
INSERT INTO accounts VALUES (4, 'abc');
INSERT INTO accounts VALUES (4, 1, NULL, 100);
INSERT INTO accounts VALUES (4, 7::bigint) RETURNING *;
SELECT * FROM accounts ORDER BY id;
SELECT id FROM accounts WHERE balance = '1000';
SELECT id, balance FROM accounts WHERE balance > 6::money ORDER BY balance;
SELECT id FROM accounts WHERE balance > 6;
SELECT id, balance * 2, balance / 3, balance - floor, balance::numeric FROM accounts ORDER BY id;
UPDATE accounts SET balance = balance + '0.05' WHERE id = 1 RETURNING balance;
--! any order
UPDATE accounts SET balance = balance * 1.1 RETURNING id, balance;
--! with 5|$7.25
SELECT $1::money, $2::money * 2;
--! with 1,100.06
SELECT id FROM accounts WHERE balance = $1;
--! describe
SELECT balance, balance + $1, balance / $2, list FROM accounts WHERE floor < $3;
CREATE INDEX ON accounts (balance);
SELECT id FROM accounts WHERE balance < '10' ORDER BY balance, id;
CREATE INDEX ON accounts USING hash (balance);
CREATE INDEX ON accounts ((balance::numeric));
CREATE TABLE keyed_amounts (k money PRIMARY KEY, n int);
INSERT INTO keyed_amounts SELECT (x * 7 - 50)::money, x FROM generate_series(1, 20) x;
INSERT INTO keyed_amounts VALUES ('-$1', 0);
SELECT * FROM keyed_amounts WHERE k = '-1';
SELECT * FROM keyed_amounts WHERE k BETWEEN '-10' AND '10' ORDER BY k;
ALTER TABLE keyed_amounts ALTER COLUMN n TYPE money;
SELECT * FROM keyed_amounts ORDER BY k LIMIT 2;
COPY accounts (id, balance, list) FROM STDIN;
10	$5.50	{"$1,000.00"}
\.
COPY (SELECT id, balance, list FROM accounts ORDER BY id) TO STDOUT;
SELECT balance, count(*) FROM accounts GROUP BY balance HAVING count(*) >= 1 ORDER BY balance;
SELECT a.id, b.id FROM accounts a JOIN accounts b ON a.balance > b.balance ORDER BY 1, 2;
SELECT sum(balance), max(balance) FROM accounts WHERE id < 4;
DROP TABLE accounts, keyed_amounts;
