-- COPY in and out.
CREATE TABLE t (id int PRIMARY KEY, a text, b numeric, c boolean, d date);
--! unsupported
COPY t FROM STDIN;
1	one	1.5	t	2024-01-01
2	tab\there	\N	f	\N
3	\N	0.00	\N	infinity
4	back\\slash\nnewline	-1	true	2024-02-29
\.
COPY t TO STDOUT;
COPY t (id, a) TO STDOUT WITH (FORMAT csv, HEADER);
COPY t TO STDOUT WITH CSV;
--! unsupported
COPY t TO STDOUT (FORMAT csv, DELIMITER ';', NULL 'nil', FORCE_QUOTE (a));
COPY t TO STDOUT (FORMAT binary);
COPY t TO STDOUT (DELIMITER '|', NULL '');
COPY (SELECT id, a FROM t WHERE id < 3 ORDER BY id DESC) TO STDOUT;
COPY (SELECT count(*), sum(b) FROM t WHERE id < 3) TO STDOUT CSV HEADER;
COPY t (id, a) FROM STDIN WITH (FORMAT csv);
10,"quoted ""x"", y"
11,
12,""
13,"two
lines"
\.
SELECT id, a, a IS NULL FROM t WHERE id >= 10 ORDER BY id;
COPY t (id, a) FROM STDIN (FORMAT csv, HEADER true, DELIMITER ';', NULL 'nil');
id;a
20;nil
21;x
\.
SELECT id, a FROM t WHERE id >= 20 ORDER BY id;
COPY t FROM STDIN;
1	dup	1	t	2024-01-01
\.
COPY t FROM STDIN;
abc	dup	1	t	2024-01-01
\.
COPY t FROM STDIN;
30	missing
\.
COPY t FROM STDIN;
30	x	1	t	2024-01-01	extra
\.
COPY t (id, nope) FROM STDIN;
COPY t (id, id) FROM STDIN;
COPY nope FROM STDIN;
COPY nope TO STDOUT;
COPY t FROM '/etc/passwd.none';
COPY t TO STDOUT (FORMAT nope);
COPY t TO STDOUT (DELIMITER 'ab');
COPY t (id, a) FROM STDIN;
\.
--! unsupported
COPY t (id, a) FROM STDIN WHERE id > 41;
40	x
42	y
\.
SELECT count(*) FROM t;
BEGIN;
COPY t (id, a) FROM STDIN;
50	in a block
\.
SELECT a FROM t WHERE id = 50;
ROLLBACK;
SELECT count(*) FROM t;
CREATE TABLE k (a int, b text DEFAULT 'dflt');
COPY k (a) FROM STDIN;
1
2
\.
SELECT * FROM k ORDER BY a;
--! differs: FREEZE changes nothing here
COPY k FROM STDIN (FREEZE);
3	x
\.
TRUNCATE k;
COPY k FROM STDIN;
5	after truncate
\.
SELECT * FROM k;
DROP TABLE t, k;
