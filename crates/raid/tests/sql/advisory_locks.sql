-- Advisory locks of one session: counted, shared, until the transaction ends, in pg_locks.
SELECT pg_advisory_lock(1);
SELECT pg_try_advisory_lock(1);
--! missing: columns of pg_locks chosen one by one, and conditions on them
SELECT locktype, relation, page, tuple, virtualxid, transactionid, classid, objid, objsubid, mode, granted, fastpath, waitstart FROM pg_locks WHERE locktype = 'advisory';
SELECT pg_advisory_unlock(1);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
SELECT pg_advisory_unlock(1);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
--! missing: the warning comes behind the columns
SELECT pg_advisory_unlock(1);
--! missing: the warning comes behind the columns
SELECT pg_advisory_unlock_shared(1);
-- Keys.
SELECT pg_advisory_lock(-1), pg_advisory_lock(4294967296), pg_advisory_lock(1, 2), pg_advisory_lock_shared(-1, -2), pg_advisory_lock(9223372036854775807), pg_advisory_lock(-9223372036854775808);
SELECT classid, objid, objsubid, mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY classid, objid, objsubid;
--! missing: the warning comes behind the columns
SELECT pg_advisory_unlock(1, 2), pg_advisory_unlock(2, 1), pg_advisory_unlock(-1, -2), pg_advisory_unlock_shared(-1, -2) AS shared, 7 AS seven;
SELECT pg_advisory_unlock_all();
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
SELECT pg_advisory_unlock_all();
-- NULL takes nothing.
SELECT pg_advisory_lock(NULL);
SELECT pg_try_advisory_lock(NULL), pg_try_advisory_lock(1, NULL), pg_advisory_unlock(NULL);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
-- Both modes of one lock.
SELECT pg_advisory_lock(3), pg_advisory_lock_shared(3), pg_try_advisory_lock_shared(3);
SELECT mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY mode;
--! missing: the warning comes behind the columns
SELECT pg_advisory_unlock(3), pg_advisory_unlock(3);
SELECT mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY mode;
--! missing: the warning comes behind the columns
SELECT pg_advisory_unlock_shared(3), pg_advisory_unlock_shared(3), pg_advisory_unlock_shared(3);
-- Transactions.
BEGIN;
SELECT pg_advisory_xact_lock(1), pg_advisory_xact_lock_shared(2), pg_advisory_xact_lock(1, 1), pg_advisory_xact_lock_shared(2, 2);
SELECT classid, objid, objsubid, mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY classid, objid, objsubid, mode;
SELECT pg_advisory_unlock_all();
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
--! missing: the warning comes behind the columns
SELECT pg_advisory_unlock(1), pg_advisory_unlock_shared(2), pg_advisory_unlock(1, 1), pg_advisory_unlock_shared(2, 2);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
COMMIT;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
BEGIN;
SELECT pg_advisory_lock(1), pg_advisory_xact_lock(2), pg_try_advisory_xact_lock(3), pg_try_advisory_xact_lock_shared(4, 4), pg_try_advisory_lock_shared(5);
ROLLBACK;
SELECT objid, mode, granted FROM pg_locks WHERE locktype = 'advisory' ORDER BY objid;
--! missing: the warning comes behind the columns
SELECT pg_advisory_unlock(1), pg_advisory_unlock_shared(5), pg_advisory_unlock(2);
-- Both of the session and of the transaction.
BEGIN;
SELECT pg_advisory_xact_lock(1), pg_advisory_lock(1);
--! missing: the warning comes behind the columns
SELECT pg_advisory_unlock(1), pg_advisory_unlock(1);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
SELECT pg_advisory_lock(1);
COMMIT;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
SELECT pg_advisory_unlock(1);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
-- Savepoints.
BEGIN;
SELECT pg_advisory_xact_lock(1);
SAVEPOINT s;
SELECT pg_advisory_xact_lock(2), pg_advisory_lock(3);
SAVEPOINT t;
SELECT pg_advisory_xact_lock(4);
SELECT 1 / 0;
ROLLBACK TO t;
SELECT objid FROM pg_locks WHERE locktype = 'advisory' ORDER BY objid;
RELEASE t;
SELECT pg_advisory_xact_lock(5);
ROLLBACK TO s;
SELECT objid FROM pg_locks WHERE locktype = 'advisory' ORDER BY objid;
COMMIT;
SELECT objid FROM pg_locks WHERE locktype = 'advisory' ORDER BY objid;
SELECT pg_advisory_unlock(3);
-- A transaction that is read only takes them, too.
BEGIN READ ONLY;
SELECT pg_advisory_xact_lock(6);
SELECT pg_try_advisory_lock(7);
COMMIT;
SELECT objid FROM pg_locks WHERE locktype = 'advisory' ORDER BY objid;
DISCARD ALL;
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
-- A statement alone is a transaction, and so is a text.
SELECT pg_advisory_xact_lock(8);
SELECT count(*) FROM pg_locks WHERE locktype = 'advisory';
-- Parameters.
--! describe
SELECT pg_advisory_lock($1), pg_try_advisory_lock($2, $3), pg_advisory_unlock_all();
--! with 12|-3|4
SELECT pg_try_advisory_lock($1), pg_try_advisory_lock_shared($2, $3);
SELECT classid, objid, objsubid, mode FROM pg_locks WHERE locktype = 'advisory' ORDER BY classid, objid;
SELECT pg_advisory_unlock_all();
-- Names and types.
SELECT pg_catalog.pg_try_advisory_lock(2::smallint) AS taken, pg_advisory_unlock('2');
SELECT pg_advisory_lock(1.5);
SELECT pg_advisory_lock(1, 5000000000);
SELECT pg_advisory_lock(1, 2, 3);
SELECT pg_advisory_lock();
-- What is not there.
--! unsupported
SELECT pg_try_advisory_lock(1) AND true;
--! unsupported
SELECT pg_try_advisory_lock(g) FROM generate_series(1, 2) AS g;
--! unsupported
SELECT 1 WHERE pg_try_advisory_xact_lock(1);
--! unsupported
SELECT pg_advisory_unlock(i) FROM (VALUES (1)) AS v (i);
