-- SET, SHOW and what they do.
--! differs: Raid has versions of its own
SHOW server_version_num;
SHOW standard_conforming_strings;
SHOW client_encoding;
SHOW DateStyle;
SHOW TimeZone;
SHOW TIME ZONE;
SHOW search_path;
SHOW integer_datetimes;
SHOW max_identifier_length;
--! differs: who asks for nothing is strictly serializable
SHOW default_transaction_isolation;
--! differs: who asks for nothing is strictly serializable
SHOW TRANSACTION ISOLATION LEVEL;
SHOW nope;
SET nope = 1;
SET my.own = 'x';
SHOW my.own;
SELECT current_setting('my.own');
SET application_name = 'me';
SHOW application_name;
SET application_name TO DEFAULT;
SET LOCAL application_name = 'x';
SET statement_timeout = 5000;
SHOW statement_timeout;
SET statement_timeout = '2s';
SHOW statement_timeout;
SET statement_timeout = 'abc';
SET statement_timeout = 0;
SET extra_float_digits = 3;
SHOW extra_float_digits;
SELECT 0.1::float8;
--! unsupported
SET extra_float_digits = 0;
RESET extra_float_digits;
SET client_min_messages = error;
SET client_min_messages = nope;
RESET client_min_messages;
SET search_path = public, pg_catalog;
SHOW search_path;
SET search_path TO "$user", public;
SHOW search_path;
RESET search_path;
SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL SERIALIZABLE;
SET standard_conforming_strings = on;
SET bytea_output = 'hex';
SELECT '\x01'::bytea;
SET client_encoding = 'UTF8';
SET NAMES 'UTF8';
SET DateStyle = 'ISO, MDY';
SET DateStyle = 'ISO';
SHOW DateStyle;
SET IntervalStyle = 'postgres';
SET timezone = 'UTC';
SET TIME ZONE 'UTC';
SET timezone = 'Nowhere/Land';
RESET timezone;
SELECT set_config('application_name', 'cfg', false);
SELECT current_setting('application_name');
BEGIN;
SET LOCAL statement_timeout = 1234;
SHOW statement_timeout;
COMMIT;
SHOW statement_timeout;
BEGIN;
SET application_name = 'gone';
ROLLBACK;
SHOW application_name;
RESET ALL;
DISCARD ALL;
DISCARD PLANS;
SET ROLE NONE;
SET SESSION AUTHORIZATION DEFAULT;
SET work_mem = '64MB';
SHOW work_mem;
SET synchronous_commit = off;
SHOW synchronous_commit;
SET lock_timeout = 100;
SHOW lock_timeout;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET row_security = off;
SET check_function_bodies = false;
SET xmloption = content;
SET default_tablespace = '';
SET default_table_access_method = heap;
SELECT pg_catalog.set_config('search_path', '', false);
RESET search_path;
VACUUM;
ANALYZE;
CHECKPOINT;
SET jit = off;
SET enable_seqscan = off;
SHOW server_version_nope;
SHOW is_superuser;
SHOW session_authorization;
SHOW max_connections_nope;
SHOW server_encoding;
SHOW lc_collate;
VACUUM (VERBOSE) nosuchtable;
VACUUM (NOSUCHOPTION);
ANALYZE nosuchtable;
ANALYZE (nosuchoption) nosuchtable;
REINDEX TABLE nosuchtable;
REINDEX SCHEMA nosuchschema;
--! unsupported
REINDEX TABLE CONCURRENTLY pg_class;
SELECT 1; VACUUM;
SET custom."bad-guc" = 42;
SHOW custom."bad-guc";
--! unsupported
SET plpgsql.nosuchparameter = true;
SET default_table_access_method = '';
SET default_table_access_method = 'nosuchmethod';
SET lc_time TO 'nosuchlocale';
--! unsupported
SET extra_float_digits = 0;
--! unsupported
SET datestyle = 'ISO, DMY';
SET datestyle = 'nosuchstyle';
--! unsupported
SET intervalstyle = 'iso_8601';
-- Several statements of a message are one transaction: what fails later undoes a setting as well.
SET statement_timeout = '50s'; SELECT 1/0;
SHOW statement_timeout;
SET statement_timeout = '60s'; SELECT 1;
SHOW statement_timeout;
SET LOCAL statement_timeout = '70s'; SHOW statement_timeout;
SHOW statement_timeout;
SET LOCAL statement_timeout = '80s';
RESET statement_timeout; SELECT 1/0;
SHOW statement_timeout;
SET ROLE pg_monitor; SELECT current_user; SELECT 1/0;
SELECT current_user = 'pg_monitor';
SET ROLE pg_monitor; SELECT current_user::text;
RESET ROLE;
RESET statement_timeout;
-- What is not set is not said to be.
SET app.tenant = '1';
--! unsupported
SELECT set_config('app.tenant', v, false) FROM (VALUES ('2')) AS x (v);
SELECT set_config(name, '2', false) FROM pg_settings WHERE name = 'nowhere';
--! unsupported
DO $$ DECLARE t text := '2'; BEGIN PERFORM set_config('app.tenant', t, false); END $$;
SET app.tenant = '2';
SELECT current_setting('app.tenant');
