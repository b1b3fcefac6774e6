-- Row locks: FOR UPDATE and the like, alone and in subqueries.
CREATE TABLE job (id int PRIMARY KEY, state text NOT NULL, priority int, made timestamptz, note text);
CREATE INDEX job_state ON job (state, id);
INSERT INTO job VALUES (1, 'ready', 5, '2024-01-03', NULL), (2, 'done', 1, '2024-01-01', 'x'), (3, 'ready', 1, '2024-01-02', NULL), (4, 'ready', NULL, '2024-01-01', 'y'), (5, 'ready', 1, '2024-01-04', NULL);
CREATE TABLE nokey (a int, b text);
INSERT INTO nokey VALUES (3, 'c'), (1, 'a'), (2, 'b');
SELECT id FROM job WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
SELECT id FROM job WHERE state = 'ready' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1;
SELECT id FROM job WHERE state = 'ready' ORDER BY id DESC FOR NO KEY UPDATE SKIP LOCKED LIMIT 2 OFFSET 1;
SELECT id FROM job WHERE state = 'ready' ORDER BY priority, id LIMIT 2 FOR UPDATE SKIP LOCKED;
SELECT id, priority FROM job ORDER BY priority DESC, id LIMIT 3 FOR SHARE;
SELECT id, priority FROM job ORDER BY priority NULLS FIRST, made FOR KEY SHARE NOWAIT;
SELECT id FROM job ORDER BY priority DESC NULLS LAST, made DESC FOR UPDATE NOWAIT;
SELECT id, note FROM job ORDER BY note, 1 FOR UPDATE;
SELECT id AS n FROM job ORDER BY n DESC FOR UPDATE SKIP LOCKED;
SELECT id FROM job ORDER BY -id FOR UPDATE SKIP LOCKED FETCH FIRST 2 ROWS ONLY;
SELECT id FROM job WHERE id = 3 FOR UPDATE NOWAIT;
SELECT id FROM job WHERE id = 9 FOR UPDATE NOWAIT;
SELECT id FROM job WHERE id IN (1, 3, 9) AND priority = 1 FOR UPDATE SKIP LOCKED;
SELECT a FROM nokey ORDER BY b LIMIT 2 FOR UPDATE SKIP LOCKED;
SELECT id FROM job j WHERE j.state = 'ready' ORDER BY id FOR UPDATE OF j SKIP LOCKED LIMIT 1;
SELECT id FROM job AS j WHERE id = 1 FOR SHARE OF j, j NOWAIT FOR UPDATE OF j SKIP LOCKED;
SELECT id FROM job j FOR UPDATE OF job;
SELECT id FROM job FOR SHARE OF nothing NOWAIT;
SELECT id FROM job FOR UPDATE OF job, nothing;
SELECT id FROM job FOR UPDATE SKIP;
SELECT id FROM job FOR UPDATE LOCKED;
SELECT id FROM job FOR UPDATE NOWAIT SKIP LOCKED;
SELECT id FROM job FOR UPDATE LIMIT 1 FOR UPDATE;
SELECT id FROM job LIMIT 0 FOR UPDATE SKIP LOCKED;
SELECT id FROM job LIMIT -1 FOR UPDATE SKIP LOCKED;
SELECT id FROM job ORDER BY id LIMIT NULL FOR UPDATE SKIP LOCKED;
SELECT DISTINCT state FROM job FOR UPDATE;
SELECT state FROM job GROUP BY state FOR UPDATE SKIP LOCKED;
SELECT id FROM job HAVING true FOR UPDATE;
SELECT max(id) FROM job FOR SHARE;
SELECT rank() OVER (ORDER BY id) FROM job FOR UPDATE;
SELECT id FROM job UNION SELECT 1 FOR UPDATE;
SELECT 1 FOR UPDATE SKIP LOCKED;
--! with ready
SELECT id FROM job WHERE state = $1 ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED;
--! with 2
SELECT id FROM job ORDER BY priority, id LIMIT $1 FOR UPDATE SKIP LOCKED;
BEGIN READ ONLY;
SELECT id FROM job WHERE id = 1 FOR UPDATE SKIP LOCKED;
ROLLBACK;
BEGIN;
UPDATE job SET priority = 0 WHERE id = 5;
SELECT id, priority FROM job WHERE state = 'ready' ORDER BY priority, id LIMIT 1 FOR UPDATE SKIP LOCKED;
SELECT id FROM job WHERE id = 5 FOR UPDATE NOWAIT;
INSERT INTO job VALUES (6, 'ready', -1);
DELETE FROM job WHERE id = 3;
SELECT id FROM job WHERE state = 'ready' ORDER BY priority, id FOR UPDATE SKIP LOCKED;
ROLLBACK;
-- What a subquery locks.
UPDATE job SET state = 'running' WHERE id = (SELECT id FROM job WHERE state = 'ready' ORDER BY priority, id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING *;
UPDATE job SET state = 'running' WHERE id = (SELECT id FROM job WHERE state = 'ready' ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED) AND priority > 100 RETURNING id;
--! any order
UPDATE job SET state = 'running' WHERE id IN (SELECT id FROM job WHERE state = 'ready' ORDER BY id LIMIT 2 FOR UPDATE SKIP LOCKED) RETURNING id, state;
UPDATE job SET state = 'running' WHERE id = (SELECT id FROM job WHERE state = 'none' FOR UPDATE SKIP LOCKED) RETURNING id;
UPDATE job SET note = (SELECT b FROM nokey WHERE a = 2 FOR SHARE) WHERE id = 1 RETURNING id, note;
UPDATE nokey SET b = b || '!' WHERE a = (SELECT id FROM job ORDER BY id LIMIT 1 FOR UPDATE) RETURNING *;
UPDATE job SET note = 'z' WHERE id = (SELECT id FROM job FOR UPDATE);
UPDATE job SET note = 'z' WHERE id = (SELECT id, state FROM job FOR UPDATE);
UPDATE job SET note = 'z' WHERE id IN (SELECT id, state FROM job FOR UPDATE);
UPDATE job SET note = 'z' WHERE id = (SELECT nothing FROM job FOR UPDATE);
--! missing: a subquery that locks is looked at before its tables
UPDATE job SET note = 'z' WHERE id = (SELECT id FROM nothing FOR UPDATE);
UPDATE job SET note = 'z' WHERE id = (SELECT b FROM nokey LIMIT 1 FOR UPDATE);
UPDATE job SET note = 'z' WHERE id = (SELECT a FROM nokey ORDER BY a LIMIT 1 FOR UPDATE OF job);
--! with ready|3
UPDATE job SET note = 'p' WHERE id = (SELECT id FROM job WHERE state = $1 AND id < $2 ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING id;
--! unsupported
UPDATE job SET note = 'z' WHERE id NOT IN (SELECT id FROM job FOR UPDATE);
--! unsupported
UPDATE job j SET note = 'z' WHERE id = (SELECT a FROM nokey n WHERE n.a = j.id FOR UPDATE);
--! unsupported
UPDATE job SET note = 'z' WHERE id IN (SELECT n.a FROM nokey n JOIN job k ON k.id = n.a FOR UPDATE OF n);
--! unsupported
UPDATE job SET note = 'z' FROM nokey WHERE id = nokey.a AND id = (SELECT id FROM job LIMIT 1 FOR UPDATE);
--! unsupported
SELECT id FROM job WHERE id = (SELECT a FROM nokey LIMIT 1 FOR UPDATE);
--! unsupported
WITH next AS (SELECT id FROM job FOR UPDATE) SELECT * FROM next;
--! unsupported
SELECT j.id FROM job j JOIN nokey n ON n.a = j.id FOR UPDATE OF j SKIP LOCKED;
--! any order
DELETE FROM job WHERE id IN (SELECT id FROM job WHERE state = 'running' ORDER BY id FOR UPDATE SKIP LOCKED LIMIT 2) RETURNING id;
DELETE FROM job WHERE id = (SELECT id FROM job WHERE state = 'done' ORDER BY made FOR UPDATE SKIP LOCKED LIMIT 1) RETURNING *;
DELETE FROM nokey WHERE b IN (SELECT b FROM nokey ORDER BY a DESC LIMIT 1 FOR UPDATE) RETURNING *;
SELECT * FROM job ORDER BY id;
SELECT * FROM nokey ORDER BY a;
CREATE PROCEDURE take(up_to int) LANGUAGE sql AS 'UPDATE job SET state = ''taken'' WHERE id = (SELECT id FROM job WHERE id <= up_to ORDER BY priority FOR UPDATE SKIP LOCKED LIMIT 1)';
CALL take(5);
SELECT id, state FROM job ORDER BY id;
