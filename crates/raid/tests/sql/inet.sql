-- Network addresses: inet, cidr, macaddr and macaddr8, in and out, order, keys, operators and functions.
CREATE TABLE hosts (id int PRIMARY KEY, ip inet, net cidr, mac macaddr, mac8 macaddr8, ips inet[], note text);
INSERT INTO hosts VALUES (1, '192.168.1.5', '192.168.1.0/24', '08:00:2b:01:02:03', '08:00:2b:01:02:03:04:05', '{10.0.0.1,::1}', 'one');
INSERT INTO hosts VALUES (2, '192.168.1.5/24', '192.168.0.0/16', '08-00-2b-01-02-04', '08-00-2b-01-02-03-04-06', ARRAY['10.0.0.1/8', NULL]::inet[], 'two');
INSERT INTO hosts VALUES (3, '::1', '::1', '08002b:010205', '08002b:0102030405', '{}', 'three');
INSERT INTO hosts VALUES (4, '2001:db8::ff00:42:8329/64', '2001:db8::/32', '08002b-010206', '08002b-0102030406', NULL, 'four');
INSERT INTO hosts VALUES (5, '10.1.2.3/8', '10', '0800.2b01.0207', '0800.2b01.0203.0407', '{0.0.0.0/0}', 'five');
INSERT INTO hosts VALUES (6, '0.0.0.0/0', '0.0.0.0/0', '0800-2b01-0208', '0800-2b01-0203-0408', NULL, 'six');
INSERT INTO hosts VALUES (7, '::ffff:1.2.3.4', '::ffff:1.2.3.0/120', '08002b010209', '08002b0102030409', NULL, 'seven');
INSERT INTO hosts (id) VALUES (8);
SELECT * FROM hosts ORDER BY id;
SELECT id, ip FROM hosts ORDER BY ip, id;
SELECT id, ip FROM hosts ORDER BY ip DESC NULLS LAST, id;
SELECT id, net FROM hosts ORDER BY net, id;
SELECT id, mac FROM hosts ORDER BY mac DESC, id;
SELECT id, mac8 FROM hosts ORDER BY mac8, id;
SELECT id, ips FROM hosts ORDER BY ips, id;
-- What is written wrongly.
INSERT INTO hosts (id, ip) VALUES (9, '10.1.2');
INSERT INTO hosts (id, ip) VALUES (9, '10.1.2.256');
INSERT INTO hosts (id, ip) VALUES (9, '10.1.2.3/33');
INSERT INTO hosts (id, ip) VALUES (9, ' 10.1.2.3');
INSERT INTO hosts (id, ip) VALUES (9, '');
INSERT INTO hosts (id, ip) VALUES (9, '1:2');
INSERT INTO hosts (id, ip) VALUES (9, '::1/129');
INSERT INTO hosts (id, ip) VALUES (9, 1);
INSERT INTO hosts (id, ip) VALUES (9, '10.1.2.3'::text);
INSERT INTO hosts (id, net) VALUES (9, '10.1.2.3/8');
INSERT INTO hosts (id, net) VALUES (9, '2001:db8::1/64');
INSERT INTO hosts (id, net) VALUES (9, 'x');
INSERT INTO hosts (id, mac) VALUES (9, '08:00:2b:01:02');
INSERT INTO hosts (id, mac) VALUES (9, '08:00:2b:01:02:03:04');
INSERT INTO hosts (id, mac) VALUES (9, '108:00:2b:01:02:03');
INSERT INTO hosts (id, mac8) VALUES (9, '08:00:2b:01:02:03:04');
INSERT INTO hosts (id, mac8) VALUES (9, '08:00-2b:01:02:03:04:05');
INSERT INTO hosts (id, ip) VALUES (9, '08:00:2b:01:02:03'::macaddr);
SELECT count(*) FROM hosts;
-- What is written in PostgreSQL's own ways.
SELECT '10/8'::inet, '10.1/16'::inet, '010.001.2.3'::inet, '10.1.2.3.'::inet, '::1.2'::inet;
SELECT '10'::cidr, '10.1'::cidr, '10.1.2'::cidr, '172.16'::cidr, '192.168.1'::cidr, '224'::cidr, '250'::cidr, '0x0a01'::cidr;
SELECT '1:0:0:2:0:0:0:3'::inet, '1:0:0:2:0:0:3:4'::inet, '2001:DB8:0:0:1:0:0:1'::inet, '0:0:0:0:0:0:1.2.3.4'::inet, '::2'::inet;
SELECT inet '10.0.0.1', cidr '10.0.0.0/8', macaddr '08:00:2b:01:02:03', macaddr8 '08:00:2b:01:02:03';
SELECT 'fe80::/10'::cidr, '::/0'::cidr, 'fe80::1%eth0'::inet;
SELECT ' 8:0:2B:1:2:3 '::macaddr, ' 08002B010203 '::macaddr8, '08:00:2b:01:02:03'::macaddr8;
-- Comparisons.
SELECT id FROM hosts WHERE ip = '192.168.1.5';
SELECT id FROM hosts WHERE ip = '192.168.1.5/24';
SELECT id FROM hosts WHERE ip <> '::1' ORDER BY id;
SELECT id FROM hosts WHERE ip > '192.168.1.0/24' ORDER BY id;
SELECT id FROM hosts WHERE ip >= '10.0.0.0/8' AND ip < '::' ORDER BY id;
SELECT id FROM hosts WHERE ip BETWEEN '0.0.0.0' AND '255.255.255.255' ORDER BY id;
SELECT id FROM hosts WHERE ip IN ('192.168.1.5', '::1') ORDER BY id;
SELECT id FROM hosts WHERE ip = ANY ('{192.168.1.5,::1}') ORDER BY id;
SELECT id FROM hosts WHERE '::1' = ANY (ips);
SELECT id FROM hosts WHERE ip IS DISTINCT FROM '::1' ORDER BY id;
SELECT id FROM hosts WHERE net = '10.0.0.0/8';
SELECT id FROM hosts WHERE net = '10.0.0.1/8';
SELECT id FROM hosts WHERE net IN ('10.0.0.1/8', '::1');
SELECT id FROM hosts WHERE net = ip ORDER BY id;
SELECT id FROM hosts WHERE ip > net ORDER BY id;
SELECT id FROM hosts WHERE mac = '08:00:2b:01:02:03';
SELECT id FROM hosts WHERE mac > '08:00:2b:01:02:05' ORDER BY id;
SELECT id FROM hosts WHERE mac8 = '08:00:2b:01:02:03:04:05' ORDER BY id;
SELECT id FROM hosts WHERE mac = mac8;
SELECT id FROM hosts WHERE ip = mac;
SELECT id FROM hosts WHERE ip = 1;
SELECT id FROM hosts WHERE ip = '10.0.0.1'::text;
SELECT id FROM hosts WHERE ip LIKE '192%';
SELECT id FROM hosts WHERE ip::text LIKE '192.168.%' ORDER BY id;
SELECT '10.0.0.1/8'::inet = '10.0.0.0/8'::cidr, '10.0.0.0/8'::inet = '10.0.0.0/8'::cidr, '10.0.0.0/8'::inet < '10.0.0.0/9'::inet;
SELECT '10.0.0.0/9'::inet < '10.0.0.1/8'::inet, '9.255.255.255'::inet < '10.0.0.0/8'::inet, '255.255.255.255'::inet < '::'::inet;
-- Within each other.
SELECT id FROM hosts WHERE ip << '192.168.0.0/16' ORDER BY id;
SELECT id FROM hosts WHERE ip <<= net ORDER BY id;
SELECT id FROM hosts WHERE net >> ip ORDER BY id;
SELECT id FROM hosts WHERE net >>= ip ORDER BY id;
SELECT id FROM hosts WHERE ip && net ORDER BY id;
SELECT '10.1.0.0/16'::inet << '10.0.0.0/8'::inet, '10.0.0.0/8'::inet << '10.0.0.0/8'::inet, '10.0.0.0/8'::inet <<= '10.0.0.0/8'::inet;
SELECT '10.0.0.0/8'::inet >> '10.1.0.0/16', '10.0.0.0/8'::inet >>= '10.0.0.0/8', '10.0.0.0/8'::cidr && '10.1.2.3'::inet, '10.0.0.0/8'::cidr && '::/0'::cidr;
-- Bits and sums.
SELECT ~ '192.168.1.6'::inet, '192.168.1.6'::inet & '0.0.0.255', '192.168.1.6'::inet | '0.0.0.255/16', '192.168.1.6'::cidr & '255.255.0.0/16';
SELECT '192.168.1.6'::inet + 25, 200 + '::ffff:fff0:1'::inet, '192.168.1.43'::inet - 36, '192.168.1.43/24'::inet - '192.168.1.19'::inet, '::2'::inet - '::1'::inet;
SELECT '255.255.255.255'::inet + 1;
SELECT '0.0.0.0'::inet - 1;
SELECT '::'::inet - 1;
SELECT '10.0.0.1'::inet - '::1'::inet;
SELECT '10.0.0.1'::inet & '::1'::inet;
SELECT '10.0.0.1'::inet | '::1'::inet;
SELECT '8000::'::inet - '::'::inet;
SELECT '10.0.0.1'::inet * 2;
SELECT - '10.0.0.1'::inet;
SELECT ip + id FROM hosts WHERE id < 8 ORDER BY id;
SELECT id, ip - '10.0.0.0'::inet FROM hosts WHERE family(ip) = 4 ORDER BY id;
SELECT ~ mac, mac & 'ff:ff:ff:00:00:00', mac | '00:00:00:ff:ff:ff' FROM hosts WHERE id = 1;
SELECT ~ mac8, mac8 & 'ff:ff:ff:00:00:00:00:00', mac8 | '00:00:00:ff:ff:ff:ff:ff' FROM hosts WHERE id = 1;
SELECT mac + 1 FROM hosts;
-- Functions.
SELECT id, abbrev(ip), abbrev(net), broadcast(ip), family(ip), host(ip) FROM hosts ORDER BY id;
SELECT id, hostmask(ip), netmask(ip), network(ip), masklen(ip), text(ip) FROM hosts ORDER BY id;
SELECT id, abbrev(net), broadcast(net), family(net), host(net), hostmask(net), netmask(net), network(net), masklen(net), text(net) FROM hosts ORDER BY id;
SELECT set_masklen('192.168.1.5/24'::inet, 16), set_masklen('192.168.1.0/24'::cidr, 16), set_masklen('10.0.0.1/8'::inet, -1), set_masklen('::1'::inet, 64);
SELECT set_masklen('192.168.1.5'::inet, 33);
SELECT set_masklen('192.168.1.5'::inet, -2);
SELECT set_masklen('::/0'::cidr, 129);
SELECT inet_merge('192.168.1.5/24', '192.168.2.5/24'), inet_merge('::1', '::2'), inet_merge('10.0.0.0/8', '11.0.0.0/8');
SELECT inet_merge('10.0.0.1', '::1');
SELECT inet_same_family('10.0.0.1', '10.0.0.2'), inet_same_family('10.0.0.1', '::1');
SELECT abbrev('10.1.0.0/16'::cidr), abbrev('10.1.0.0/16'::inet), abbrev('0.0.0.0/0'::cidr), abbrev('10.1.2.3/32'::cidr), abbrev('10.128.0.0/9'::cidr);
SELECT abbrev('2001:db8::/32'::cidr), abbrev('::/0'::cidr), abbrev('::ffff:1.2.3.0/120'::cidr), abbrev('fe80::/10'::cidr), abbrev('::1/128'::cidr), abbrev('2001:db8:0:1::/64'::cidr);
SELECT trunc(mac), trunc(mac8), macaddr8_set7bit(mac8), macaddr8_set7bit(mac) FROM hosts WHERE id = 1;
SELECT network('10.0.0.1');
SELECT host(1);
SELECT masklen('08:00:2b:01:02:03'::macaddr);
SELECT hashinet('10.0.0.1'), hashinet('::1/64'), hashinetextended('10.0.0.1', 7), hashmacaddr('08:00:2b:01:02:03'), hashmacaddr8('08:00:2b:01:02:03');
SELECT inet_send('10.0.0.1/8'), cidr_send('::/0'), macaddr_send('08:00:2b:01:02:03'), macaddr8_send('08:00:2b:01:02:03');
-- Casts.
SELECT '192.168.1.5/24'::inet::cidr, '192.168.1.0/24'::cidr::inet, '10.0.0.1/32'::cidr::inet, cidr('192.168.1.5/16'::inet);
SELECT '10.0.0.1'::inet::text, '10.0.0.1/8'::inet::text, '10.0.0.1'::cidr::text, '::1'::inet::varchar(20), '10.0.0.1'::inet::char(3);
SELECT '10.0.0.1'::text::inet, '10.1'::text::cidr, ('10.0.' || '0.1')::inet, '10.0.0.1'::varchar::inet;
SELECT '10.0.0.1/8'::text::cidr;
SELECT '08:00:2b:01:02:03'::macaddr::macaddr8, '08:00:2b:ff:fe:01:02:03'::macaddr8::macaddr, '08:00:2b:01:02:03'::macaddr::text, '08-00-2b-01-02-03'::text::macaddr;
SELECT '08:00:2b:01:02:03:04:05'::macaddr8::macaddr;
SELECT '10.0.0.1'::inet::int;
SELECT 5::inet;
SELECT '10.0.0.1'::inet::macaddr;
SELECT '\x0a000001'::bytea::inet;
SELECT '10.0.0.1'::inet || '/x', 'x' || '10.0.0.0/8'::cidr, concat('10.0.0.1'::inet, ' ', '10.0.0.0/32'::cidr), format('%s %L', '10.0.0.1'::inet, '::1'::inet);
SELECT 'mac ' || '08:00:2b:01:02:03'::macaddr, length('10.0.0.1'::inet::text), upper('::ab'::inet::text);
SELECT length('10.0.0.1'::inet);
SELECT quote_literal('10.0.0.1'::inet), to_json('10.0.0.1'::inet), to_jsonb('10.0.0.0/8'::cidr), json_build_object('mac', '08:00:2b:01:02:03'::macaddr);
--! unsupported
SELECT pg_typeof('10.0.0.1'::inet), pg_typeof('10/8'::cidr), pg_typeof(ip), pg_typeof(net), pg_typeof(ips), pg_typeof(mac8), pg_typeof(network(ip)) FROM hosts WHERE id = 1;
SELECT coalesce(ip, '0.0.0.0'), coalesce(net, ip), CASE WHEN id = 1 THEN net ELSE '1.2.3.4' END, nullif(ip, '::1') FROM hosts ORDER BY id;
SELECT greatest(ip, '10.0.0.0'), least(ip, net), greatest(mac, '08:00:2b:01:02:06') FROM hosts ORDER BY id;
-- Arrays.
SELECT ips[1], array_length(ips, 1), array_append(ips, '1.2.3.4'), ips || '5.6.7.8'::inet FROM hosts ORDER BY id;
SELECT ARRAY['10.0.0.1'::inet, '::1'], ARRAY['10.0.0.0/8'::cidr], '{10.0.0.0/8,::/0}'::cidr[], '{08:00:2b:01:02:03,NULL}'::macaddr[], '{}'::macaddr8[];
SELECT '{10.0.0.0/8,::/0}'::cidr[]::inet[], '{10.0.0.1}'::inet[]::text[], '{10.0.0.1/8}'::inet[]::cidr[];
SELECT '{10.0.0.1,x}'::inet[];
SELECT unnest('{::1,10.0.0.1}'::inet[]);
SELECT array_agg(ip ORDER BY ip), array_agg(net ORDER BY net DESC), array_agg(mac ORDER BY mac) FROM hosts WHERE id < 4;
SELECT ips @> ARRAY['::1'::inet], ips && ARRAY['10.0.0.1'::inet], '10.0.0.1' = ANY (ips) FROM hosts ORDER BY id;
SELECT string_agg(host(ip), ',' ORDER BY ip) FROM hosts;
-- Groups, extremes and joins.
SELECT min(ip), max(ip), min(net), max(net), count(ip), count(DISTINCT network(ip)) FROM hosts;
SELECT min(mac) FROM hosts;
SELECT sum(ip) FROM hosts;
SELECT network(ip), count(*) FROM hosts GROUP BY network(ip) ORDER BY 1;
SELECT family(ip), max(ip) FROM hosts GROUP BY 1 ORDER BY 1;
SELECT DISTINCT masklen(net) FROM hosts ORDER BY 1;
SELECT DISTINCT network(set_masklen(ip, 8)) FROM hosts ORDER BY 1;
SELECT a.id, b.id FROM hosts a JOIN hosts b ON a.ip << b.net ORDER BY 1, 2;
SELECT a.id, b.id FROM hosts a JOIN hosts b ON a.net = b.net AND a.id <= b.id ORDER BY 1, 2;
SELECT a.id, b.id FROM hosts a LEFT JOIN hosts b ON a.ip = b.net ORDER BY 1, 2;
SELECT ip FROM hosts WHERE id < 4 UNION SELECT net FROM hosts WHERE id < 4 ORDER BY 1;
SELECT ip FROM hosts INTERSECT SELECT net FROM hosts ORDER BY 1;
SELECT ip FROM hosts WHERE id < 4 UNION SELECT mac FROM hosts;
SELECT mac FROM hosts WHERE id < 3 UNION ALL SELECT '00:00:00:00:00:01' ORDER BY 1;
SELECT id, rank() OVER (ORDER BY ip), lag(ip) OVER (ORDER BY ip, id) FROM hosts ORDER BY id;
SELECT id, first_value(ip) OVER (PARTITION BY family(ip) ORDER BY ip DESC) FROM hosts ORDER BY id;
SELECT * FROM (VALUES ('10.0.0.1'::inet, 1), ('::1', 2)) AS v (a, b) ORDER BY a DESC;
WITH RECURSIVE r (a, n) AS (SELECT '10.0.0.254'::inet, 1 UNION ALL SELECT a + 1, n + 1 FROM r WHERE n < 4) SELECT a, network(set_masklen(a, 24)) FROM r ORDER BY n;
SELECT x, '10.0.0.0'::inet + x FROM generate_series(254, 257) x ORDER BY x;
SELECT id FROM hosts WHERE ip IN (SELECT net FROM hosts) ORDER BY id;
SELECT id FROM hosts h WHERE EXISTS (SELECT FROM hosts o WHERE o.net >> h.ip AND o.id <> h.id) ORDER BY id;
-- Keys and indexes.
CREATE TABLE routes (net cidr PRIMARY KEY, gateway inet NOT NULL, UNIQUE (gateway));
INSERT INTO routes VALUES ('10.0.0.0/8', '10.0.0.1'), ('10.0.0.0/16', '10.0.0.2'), ('10.0.0.0/16'::inet + 0, '10.0.0.3');
INSERT INTO routes VALUES ('10.0.0.0/8', '10.0.0.1'), ('10.0.0.0/16', '10.0.0.2'), ('::/0', '::1'), ('192.168.0.0/16', '192.168.0.1/16');
INSERT INTO routes VALUES ('10.0.0.0/8', '10.0.0.9');
INSERT INTO routes VALUES ('11.0.0.0/8', '10.0.0.1');
INSERT INTO routes VALUES ('11.0.0.0/8', '10.0.0.1/8');
INSERT INTO routes VALUES ('10.0.0.0/8', '1.1.1.1') ON CONFLICT (net) DO UPDATE SET gateway = excluded.gateway RETURNING *;
SELECT * FROM routes ORDER BY net;
SELECT * FROM routes ORDER BY net DESC LIMIT 2;
SELECT gateway FROM routes WHERE net = '10.0.0.0/16';
SELECT gateway FROM routes WHERE net = '10.0.0.1/16';
SELECT net FROM routes WHERE net > '10.0.0.0/8' AND net <= '192.168.0.0/16' ORDER BY net;
SELECT net FROM routes WHERE gateway = '192.168.0.1/16';
SELECT net FROM routes WHERE net >>= '10.0.0.77' ORDER BY masklen(net) DESC LIMIT 1;
UPDATE routes SET gateway = gateway + 1 WHERE net = '10.0.0.0/8' RETURNING *;
UPDATE routes SET net = network(set_masklen(net, 12)) WHERE net = '10.0.0.0/16' RETURNING *;
UPDATE routes SET gateway = net WHERE net = '::/0' RETURNING *;
UPDATE routes SET net = gateway WHERE net = '192.168.0.0/16' RETURNING *;
DELETE FROM routes WHERE net << '10.0.0.0/8' RETURNING net;
DELETE FROM routes WHERE gateway <<= '0.0.0.0/0';
SELECT * FROM routes ORDER BY net;
CREATE INDEX hosts_ip ON hosts (ip);
CREATE INDEX hosts_net ON hosts USING btree (net inet_ops);
CREATE INDEX hosts_net_cidr ON hosts (net cidr_ops);
CREATE INDEX hosts_mac ON hosts (mac);
CREATE INDEX hosts_mac8 ON hosts USING hash (mac8);
CREATE INDEX hosts_gist ON hosts USING gist (ip);
CREATE INDEX hosts_wrong ON hosts (ip text_ops);
SELECT id FROM hosts WHERE ip = '192.168.1.5';
SELECT id, ip FROM hosts WHERE ip > '10.0.0.0' ORDER BY ip LIMIT 3;
SELECT id, net FROM hosts WHERE net >= '10.0.0.0/8' ORDER BY net;
SELECT id FROM hosts WHERE mac = '08:00:2b:01:02:04';
SELECT id FROM hosts WHERE mac8 = '08:00:2b:01:02:03:04:09';
SELECT id FROM hosts WHERE ip = ANY (ARRAY['::1', '192.168.1.5']::inet[]) ORDER BY id;
-- Defaults, checks, domains.
CREATE TABLE guarded (id int PRIMARY KEY, ip inet DEFAULT '127.0.0.1' CHECK (ip <> '0.0.0.0'), mac macaddr DEFAULT '00:00:00:00:00:00', net cidr DEFAULT '10/8');
INSERT INTO guarded (id) VALUES (1) RETURNING *;
INSERT INTO guarded (id, ip) VALUES (2, '0.0.0.0');
INSERT INTO guarded (id, ip) VALUES (2, '::1/64'::cidr);
INSERT INTO guarded (id, ip, net) VALUES (3, '10.0.0.0/8'::cidr, '10.0.0.1/8'::inet) RETURNING *;
INSERT INTO guarded (id, ip, net) SELECT id + 10, net, ip FROM hosts WHERE id < 4 RETURNING *;
ALTER TABLE guarded ADD COLUMN peer inet DEFAULT '::1';
ALTER TABLE guarded ALTER COLUMN peer TYPE text;
ALTER TABLE guarded ALTER COLUMN mac TYPE macaddr8;
ALTER TABLE guarded ALTER COLUMN net TYPE inet;
SELECT * FROM guarded ORDER BY id;
ALTER TABLE guarded ALTER COLUMN peer TYPE inet;
ALTER TABLE guarded ALTER COLUMN peer TYPE inet USING peer::inet;
CREATE DOMAIN host_address AS inet CHECK (value <> '0.0.0.0');
SELECT '10.0.0.1'::host_address;
SELECT '0.0.0.0'::host_address;
CREATE VIEW networks AS SELECT id, network(ip) AS network, ip << '192.168.0.0/16' AS local FROM hosts;
SELECT * FROM networks ORDER BY id;
CREATE TABLE copied AS SELECT ip, net, mac, mac8, ips FROM hosts;
SELECT * FROM copied ORDER BY ip, net;
CREATE FUNCTION next_address(a inet) RETURNS inet LANGUAGE sql IMMUTABLE AS 'SELECT a + 1';
SELECT next_address('10.0.0.255/8'), next_address(ip) FROM hosts WHERE id = 1;
-- Parameters.
--! describe
SELECT * FROM hosts WHERE ip = $1 AND net = $2 AND mac = $3 AND mac8 = $4;
--! describe
INSERT INTO hosts (id, ip, net, mac, mac8, ips) VALUES ($1, $2, $3, $4, $5, $6);
--! with 20|10.9.8.7/16|10.9.0.0/16|00:01:02:03:04:05|00:01:02:03:04:05|{1.2.3.4,NULL}
INSERT INTO hosts (id, ip, net, mac, mac8, ips) VALUES ($1, $2, $3, $4, $5, $6) RETURNING *;
--! with 21|10.9.8.7/33
INSERT INTO hosts (id, ip) VALUES ($1, $2);
--! with 192.168.1.5
SELECT id, ip FROM hosts WHERE ip = $1;
--! with 10.0.0.1/8
SELECT id, net FROM hosts WHERE net = $1;
--! with 10.9.0.0/16
SELECT id, net FROM hosts WHERE net = $1;
--! with 10.0.0.0/8
SELECT id, ip FROM hosts WHERE ip << $1 ORDER BY id;
--! with {::1,10.9.8.7/16}
SELECT id, ip FROM hosts WHERE ip = ANY ($1) ORDER BY id;
--! with 10.0.0.1|5
SELECT $1::inet + $2, host($1), family($1::inet);
--! with 08:00:2b:01:02:03
SELECT $1::macaddr, trunc($1::macaddr), $1::macaddr::macaddr8;
--! with 10.0.0.0/8
SELECT $1::cidr, abbrev($1::cidr), $1::cidr::text;
-- COPY.
COPY hosts (id, ip, net, mac, mac8, ips) FROM STDIN;
30	1.2.3.4/24	1.2.3.0/24	0a:0b:0c:0d:0e:0f	0a:0b:0c:0d:0e:0f:10:11	{1.1.1.1}
31	\N	\N	\N	\N	\N
\.
COPY hosts (id, ip) FROM STDIN;
32	1.2.3
\.
COPY hosts (id, ip, mac) FROM STDIN (FORMAT csv);
33,"fe80::1",0800.2b01.0203
\.
COPY (SELECT id, ip, net, mac, mac8, ips FROM hosts ORDER BY id) TO STDOUT;
COPY (SELECT id, ip, net, mac, mac8 FROM hosts ORDER BY id) TO STDOUT (FORMAT csv, HEADER);
COPY (SELECT ip, net, mac, mac8, ips FROM hosts ORDER BY id) TO STDOUT (FORMAT binary);
-- The catalogs.
SELECT typname::text, oid, typlen, typcategory::text, typarray FROM pg_type WHERE typname IN ('inet', 'cidr', 'macaddr', 'macaddr8', '_inet') ORDER BY oid;
SELECT attname::text, atttypid::regtype::text, format_type(atttypid, atttypmod), attlen FROM pg_attribute WHERE attrelid = 'hosts'::regclass AND attnum > 0 ORDER BY attnum;
SELECT column_name::text, data_type::text, udt_name::text FROM information_schema.columns WHERE table_name = 'hosts' ORDER BY ordinal_position;
SELECT format_type(869, -1), format_type(650, NULL), 'macaddr8'::regtype::oid;
SELECT indexname::text, indexdef FROM pg_indexes WHERE tablename IN ('hosts', 'routes') ORDER BY indexname;
DROP TABLE guarded;
DROP TABLE copied;
