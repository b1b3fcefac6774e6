-- Full text search: vectors and queries in and out, order, keys, operators and functions, configurations.
CREATE TABLE papers (id int PRIMARY KEY, title text, body text, v tsvector, q tsquery, many tsvector[]);
INSERT INTO papers VALUES (1, 'Fat cats', 'The fat cats sat on the mats and ate fat rats.', 'fat:2A,7 cat:3B sat:4 mat:7C rat', 'fat & (cat | rat:*)', ARRAY['a:1', 'b']::tsvector[]);
INSERT INTO papers VALUES (2, 'Quick foxes', 'The quick brown foxes jumped over the lazy dogs.', to_tsvector('english', 'The quick brown foxes jumped over the lazy dogs.'), 'quick <-> brown', '{}');
--! missing: the notice about a query without lexemes
INSERT INTO papers VALUES (3, 'Nothing', '', '', '', NULL);
INSERT INTO papers VALUES (4, 'Quotes', 'It''s a \ back', $$'it''s':1 '\\':2 'two words':3$$, $$'it''s' <2> 'two words':AB$$, NULL);
INSERT INTO papers (id) VALUES (5);
SELECT * FROM papers ORDER BY id;
SELECT id, v FROM papers ORDER BY v, id;
SELECT id, v FROM papers ORDER BY v DESC NULLS LAST, id;
SELECT id, q FROM papers ORDER BY q, id;
SELECT DISTINCT v FROM papers ORDER BY v;
SELECT q, count(*) FROM papers GROUP BY q ORDER BY q;
SELECT many[1], many[2] FROM papers WHERE id = 1;
-- Texts of vectors.
SELECT 'a fat cat sat on a mat and ate a fat rat'::tsvector;
SELECT $$the lexeme '    ' contains spaces$$::tsvector;
SELECT $$the lexeme 'Joe''s' contains a quote$$::tsvector;
SELECT 'a:1 fat:2 cat:3 sat:4 on:5 a:6 mat:7 and:8 ate:9 a:10 fat:11 rat:12'::tsvector;
SELECT 'a:1A fat:2B,4C cat:5D'::tsvector;
SELECT 'a:3,1,2,1A,1B'::tsvector;
SELECT 'a:99999'::tsvector;
SELECT ''::tsvector;
SELECT 'a:'::tsvector;
SELECT 'a:0'::tsvector;
SELECT 'a:1x'::tsvector;
SELECT $$'a$$::tsvector;
SELECT $$a\$$::tsvector;
SELECT $$''$$::tsvector;
SELECT 'x:1'::tsvector = 'x:1'::tsvector, 'x:1'::tsvector = 'x:2'::tsvector, 'x'::tsvector < 'y'::tsvector, 'x:1A'::tsvector <> 'x:1'::tsvector;
SELECT 'b'::tsvector > 'a'::tsvector, 'a b'::tsvector >= 'c'::tsvector, 'a'::tsvector <= 'a'::tsvector;
SELECT 'a:1'::tsvector::text, 'a & b'::tsquery::text;
-- Texts of queries.
SELECT 'fat & rat'::tsquery;
SELECT 'fat & (rat | cat)'::tsquery;
SELECT 'fat & rat & ! cat'::tsquery;
SELECT 'fat:ab & cat'::tsquery;
SELECT 'super:*'::tsquery;
SELECT 'a:*AB | b:d'::tsquery;
SELECT $$'a b' <-> c$$::tsquery;
SELECT '!!a & !(b | c)'::tsquery;
SELECT 'a <-> (b <-> c)'::tsquery, '(a <-> b) <3> c'::tsquery, 'a & b | c & !d'::tsquery;
--! missing: the notice about a query without lexemes
SELECT ''::tsquery;
SELECT 'a &'::tsquery;
SELECT 'a b'::tsquery;
SELECT '(a'::tsquery;
SELECT 'a)'::tsquery;
SELECT '!'::tsquery;
SELECT 'a <-> '::tsquery;
SELECT 'a <16385> b'::tsquery;
SELECT 'a:x'::tsquery;
SELECT 'a'::tsquery = 'a:A'::tsquery, 'a & b'::tsquery <> 'a | b'::tsquery, 'a'::tsquery < 'a & b'::tsquery, 'b'::tsquery > 'a'::tsquery;
-- Documents.
SELECT to_tsvector('english', 'The Fat Rats');
SELECT to_tsvector('english', 'a fat  cat sat on a mat - it ate a fat rats');
SELECT to_tsvector('simple', 'The Fat Rats');
SELECT to_tsvector('pg_catalog.english', 'generously running skies');
SELECT to_tsvector('english'::regconfig, 'dying lying tying');
SELECT to_tsvector('The default configuration is English');
SELECT to_tsvector('english', 'up-to-date e-mail addresses: joe.doe@example.com, http://www.example.com/a/b.html?x=1 and /usr/local/lib 1.5 -7 3e10 1.2.3');
SELECT to_tsvector('english', '<b>bold</b> &amp; <i class="x">italic</i> <!-- no comment -->');
SELECT to_tsvector('english', 'foo-bar-baz x1-y2 a_b');
SELECT to_tsvector('english', ''), to_tsvector('english', 'the of and');
SELECT to_tsvector('english', NULL::text), to_tsvector(NULL::regconfig, 'a');
SELECT to_tsvector('nosuch', 'x');
SELECT to_tsvector('english', '{"a": "fat cats", "b": [1, "rats", {"c": "the dogs"}], "d": true}'::json);
SELECT to_tsvector('english', '{"a": "fat cats", "b": [1, "rats", {"c": "the dogs"}], "d": true}'::jsonb);
SELECT to_tsvector('"a text"'::jsonb), to_tsvector('{}'::jsonb);
SELECT to_tsvector('english', '{"b": "fat cats", "a": [1, "rats", {"c": "the dogs", "a": "x"}], "b": "twice"}'::json), to_tsvector('"a text"'::json);
SELECT jsonb_to_tsvector('english', '{"bb": "fat cats", "a": [1, 2.50, "rats", null, {"cats": "the dogs"}], "d": true, "e": false}'::jsonb, '"all"');
SELECT jsonb_to_tsvector('{"bb": "fat cats", "a": [1, 2.50, "rats", null, {"cats": "the dogs"}], "d": true, "e": false}'::jsonb, '["numeric", "Boolean"]');
SELECT json_to_tsvector('english', '{"bb": "fat cats", "a": [1, 2.50, "rats", null], "d": true}'::json, '["key"]'), json_to_tsvector('{"a": 2.50, "b": false}'::json, '["all"]');
SELECT jsonb_to_tsvector('{}'::jsonb, '"nosuch"');
SELECT jsonb_to_tsvector('{}'::jsonb, '[1]');
SELECT jsonb_to_tsvector('{}'::jsonb, '{}');
-- Questions.
SELECT to_tsquery('english', 'The & Fat & Rats');
SELECT to_tsquery('english', 'supernovae:*A & !crab');
SELECT to_tsquery('english', $$'supernovae stars' & !crab$$);
SELECT to_tsquery('simple', 'The & Fats');
SELECT to_tsquery('fat | rats:AB');
SELECT to_tsquery('english', 'the <-> cat <-> of <-> rats');
--! missing: the notice about a query without lexemes
SELECT to_tsquery('english', 'the');
SELECT to_tsquery('english', 'a b');
SELECT plainto_tsquery('english', 'The Fat & Rats:C');
SELECT plainto_tsquery('The Fat Rats'), plainto_tsquery('simple', 'The Fat Rats');
SELECT phraseto_tsquery('english', 'The Fat Rats'), phraseto_tsquery('english', 'The cat and the rats');
SELECT phraseto_tsquery('to be or not to be that is the question');
SELECT websearch_to_tsquery('english', 'The fat rats');
SELECT websearch_to_tsquery('english', '"supernovae stars" -crab');
SELECT websearch_to_tsquery('english', '"sad cat" or "fat rat"');
SELECT websearch_to_tsquery('english', 'signal -"segmentation fault"');
SELECT websearch_to_tsquery('english', '""" )( dummy \\ query <->');
SELECT websearch_to_tsquery('simple', 'or or OR x');
-- Matching.
SELECT 'a fat cat sat on a mat and ate a fat rat'::tsvector @@ 'cat & rat'::tsquery;
SELECT 'fat & cow'::tsquery @@ 'a fat cat sat on a mat and ate a fat rat'::tsvector;
SELECT to_tsvector('fat cats ate fat rats') @@ to_tsquery('fat & rat');
SELECT 'fat cats ate fat rats'::tsvector @@ to_tsquery('fat & rat');
SELECT 'fat cats'::text @@ 'cat'::tsquery, 'fat cats'::text @@ 'cats'::text, 'fat cats'::text @@ 'dogs'::text;
SELECT to_tsvector('fatal error') @@ to_tsquery('fatal <-> error'), to_tsvector('error is not fatal') @@ to_tsquery('fatal <-> error');
SELECT 'a:1 b:3'::tsvector @@ 'a <2> b', 'a:1 b:3'::tsvector @@ 'a <-> b', 'a b'::tsvector @@ 'a <-> b';
SELECT 'a:1A'::tsvector @@ 'a:A', 'a:1A'::tsvector @@ 'a:BC', 'a'::tsvector @@ 'a:B', 'abc:1'::tsvector @@ 'ab:*';
SELECT 'a:1 b:2'::tsvector @@ '!a', 'a:1 b:2'::tsvector @@ '!c & b', 'a:1 b:2'::tsvector @@ 'a <-> !c', 'a:1 b:2'::tsvector @@ '!b <-> b';
--! missing: the notice about a query without lexemes
SELECT ''::tsvector @@ 'a', 'a'::tsvector @@ '', ''::tsvector @@ '!a';
SELECT id FROM papers WHERE v @@ 'fat' ORDER BY id;
SELECT id FROM papers WHERE v @@ to_tsquery('english', 'foxes & jumping') ORDER BY id;
SELECT id FROM papers WHERE to_tsvector('english', title || ' ' || body) @@ plainto_tsquery('english', 'cats rats') ORDER BY id;
SELECT p.id, o.id FROM papers p, papers o WHERE p.v @@ o.q ORDER BY 1, 2;
SELECT id FROM papers WHERE NOT v @@ 'fat' ORDER BY id;
-- Operators and functions of vectors.
SELECT 'a:1 b:2'::tsvector || 'c:1 d:2 b:3'::tsvector;
SELECT ''::tsvector || 'a:3A'::tsvector, 'a b'::tsvector || 'b c'::tsvector;
SELECT setweight('fat:2,4 cat:3 rat:5B'::tsvector, 'A');
SELECT setweight('fat:2,4 cat:3 rat:5,6B'::tsvector, 'A', '{cat,rat}');
SELECT setweight('fat:2'::tsvector, 'x');
SELECT setweight('fat:2'::tsvector, 'A', ARRAY['fat', NULL]);
SELECT strip('fat:2,4 cat:3 rat:5A'::tsvector), length('fat:2,4 cat:3 rat:5A'::tsvector), length(''::tsvector);
SELECT ts_delete('fat:2,4 cat:3 rat:5A'::tsvector, 'fat'), ts_delete('fat:2,4 cat:3 rat:5A'::tsvector, ARRAY['fat', 'rat', 'x']);
SELECT ts_filter('fat:2,4 cat:3b,7c rat:5A'::tsvector, '{a,b}');
SELECT ts_filter('fat:2,4 cat:3b,7c rat:5A'::tsvector, '{}'), ts_filter('fat:2'::tsvector, '{d}');
SELECT ts_filter('fat:2'::tsvector, '{x}');
SELECT tsvector_to_array('fat:2,4 cat:3 rat:5A'::tsvector), array_to_tsvector('{fat,cat,rat,cat}'::text[]);
SELECT array_to_tsvector(ARRAY['a', NULL]);
SELECT array_to_tsvector(ARRAY['a', '']);
SELECT * FROM unnest('cat:3 fat:2,4C rat:5A x'::tsvector);
--! unsupported
SELECT (unnest('cat:3 fat:2,4C'::tsvector)).lexeme;
-- Operators and functions of queries.
SELECT 'fat | rat'::tsquery && 'cat'::tsquery, 'fat | rat'::tsquery || 'cat'::tsquery, !! 'cat'::tsquery;
SELECT 'fat'::tsquery <-> 'rat'::tsquery, tsquery_phrase('fat', 'cat'), tsquery_phrase('fat', 'cat', 10);
SELECT tsquery_phrase('fat', 'cat', -1);
--! missing: the notice about a query without lexemes
SELECT ''::tsquery && 'a'::tsquery, 'a'::tsquery || ''::tsquery, !! ''::tsquery, ''::tsquery <-> 'a'::tsquery;
SELECT 'cat'::tsquery @> 'cat & rat'::tsquery, 'cat'::tsquery <@ 'cat & rat'::tsquery, 'a | b'::tsquery @> 'b'::tsquery;
--! missing: the notice about a query without lexemes
SELECT numnode('(fat & rat) | cat'::tsquery), numnode(''::tsquery), querytree('foo & ! bar'::tsquery), querytree('! bar'), querytree('a | !b');
SELECT ts_rewrite('a & b'::tsquery, 'a'::tsquery, 'foo|bar'::tsquery);
--! missing: the notice about a query without lexemes
SELECT ts_rewrite('a & b & c & d'::tsquery, 'b & d', 'x'), ts_rewrite('a & (b | a)', 'a', ''), ts_rewrite('a', 'b', 'c');
-- Ranks.
SELECT id, ts_rank(v, 'fat | rat | fox') FROM papers WHERE v IS NOT NULL ORDER BY id;
SELECT id, ts_rank_cd(v, 'fat | rat | fox') FROM papers WHERE v IS NOT NULL ORDER BY id;
SELECT ts_rank('a:1A b:3 c:5B'::tsvector, 'a & b'), ts_rank('a:1A b:3 c:5B'::tsvector, 'a <-> c', 1), ts_rank('a b'::tsvector, 'a & b');
SELECT ts_rank('{0.1,0.2,0.3,0.9}', 'a:1A b:3 c:5B'::tsvector, 'a | c'), ts_rank('{1,1,1,1}', 'a:1,2,3'::tsvector, 'a', 2 | 8 | 32);
SELECT ts_rank_cd('a:1A b:3 c:5B'::tsvector, 'a & b'), ts_rank_cd('{0.1,0.2,0.3,0.9}', 'a:1A,9 b:3,11 c:5B'::tsvector, 'a & b', 4), ts_rank_cd('a:1A b:2'::tsvector, 'a <-> b', 16);
SELECT ts_rank('{1,1}', 'a:1'::tsvector, 'a');
SELECT ts_rank('{1,1,1,2}', 'a:1'::tsvector, 'a');
SELECT ts_rank('{}', 'a:1'::tsvector, 'a');
SELECT ts_rank(ARRAY[1, NULL, 1, 1]::real[], 'a:1'::tsvector, 'a');
SELECT id, ts_rank(to_tsvector('english', body), asked) FROM papers, to_tsquery('english', 'fat & rats') asked WHERE to_tsvector('english', body) @@ asked ORDER BY 2 DESC, 1;
-- Headlines.
SELECT ts_headline('english', 'The most common type of search is to find all documents containing given query terms and return them in order of their similarity to the query.', to_tsquery('english', 'query & similarity'));
SELECT ts_headline('english', 'Search terms may occur many times in a document, requiring ranking of the search matches to decide which occurrences to display in the result.', to_tsquery('english', 'search & term'), 'MaxFragments=10, MaxWords=7, MinWords=3, StartSel=<<, StopSel=>>');
SELECT ts_headline('Fat cats and <b>rats</b> here', to_tsquery('rat')), ts_headline('Fat cats', to_tsquery('cat'), 'HighlightAll=true, StartSel="<i>", StopSel="</i>"');
--! missing: the notice about a query without lexemes
SELECT ts_headline('simple', 'no such words', 'x'::tsquery), ts_headline('', 'x'::tsquery), ts_headline('a b', ''::tsquery);
SELECT ts_headline('a b', 'x'::tsquery, 'MinWords=40');
SELECT ts_headline('a b', 'x'::tsquery, 'Nonsense=1');
SELECT ts_headline('a b', 'x'::tsquery, 'MaxWords');
SELECT ts_headline('english', '{"a": "the fat  cats",  "b":[1.50, "rat \"q\"", null, true], "c":{"x":"rats"}}'::json, 'rat');
SELECT ts_headline('english', '{"a": "the fat  cats",  "b":[1.50, "rat \"q\"", null, true], "c":{"x":"rats"}}'::jsonb, 'rat', 'StartSel=<,StopSel=>');
-- Dictionaries, tokens and settings.
SELECT ts_lexize('english_stem', 'stars'), ts_lexize('english_stem', 'a'), ts_lexize('simple', 'The'), ts_lexize('pg_catalog.simple', 'YeS');
SELECT ts_lexize('nosuch', 'x');
SELECT * FROM ts_parse('default', '123 - a number, foo-bar http://x.org/y');
SELECT tokid, token FROM ts_parse('default', 'a.b@c.de ~/x 1.2') WHERE tokid <> 12;
SELECT * FROM ts_token_type('default');
SELECT * FROM ts_parse('nosuch', 'x');
SELECT * FROM ts_parse(3722, 'a 1');
SELECT * FROM ts_parse(1, 'x');
SELECT tokid, alias FROM ts_token_type(3722) WHERE tokid < 3;
SELECT alias, description, token, lexemes FROM ts_debug('english', 'The 3 fat rats, x@y.org');
SELECT tsvector_cmp('a', 'b'), tsquery_cmp('b', 'a'), tsvector_cmp('a', 'a');
SELECT 'english'::regconfig::text, 'simple'::regdictionary::text, to_tsvector('pg_catalog.simple'::regconfig, 'Cats');
--! missing: the type regconfig of a result
SELECT 'English'::regconfig;
SELECT 'nosuch'::regconfig;
--! unsupported
SELECT 3748::regconfig;
--! unsupported
SELECT to_tsvector(body::regconfig, title) FROM papers WHERE id = 1;
--! missing: columns of the type regconfig
CREATE TABLE configured (id int PRIMARY KEY, c regconfig);
SELECT to_tsvector('NoSuch', 'x');
SELECT to_tsvector('foo.english', 'x');
SELECT to_tsvector('"English"', 'x');
SELECT to_tsvector('PG_catalog . English', 'x');
SELECT to_tsvector('', 'x');
SELECT to_tsvector('english'::text, 'x');
--! unsupported
SELECT to_tsvector('french', 'x');
SELECT 'b c'::text::tsvector, 'a & b'::varchar::tsquery, 'a'::tsvector::varchar(2);
SELECT 'a'::tsvector::bytea;
SELECT 'a'::tsvector || 'b'::text, 'a'::tsvector = ANY (ARRAY['a', 'b']::tsvector[]), 'a' IN ('a'::tsvector, 'b'), 'a'::tsquery IN ('b', 'c');
SELECT max(v) FROM papers;
SELECT array_agg(v ORDER BY id) FROM papers WHERE id < 3;
SELECT coalesce(v, 'none'), nullif(q, 'quick <-> brown'), CASE WHEN id = 3 THEN 'x'::tsvector ELSE v END FROM papers ORDER BY id;
SELECT v FROM papers WHERE id < 3 UNION SELECT 'b'::tsvector ORDER BY 1;
--! unsupported
SELECT * FROM ts_stat('SELECT v FROM papers');
SHOW default_text_search_config;
-- Keys, indexes and generated columns.
CREATE TABLE words (v tsvector PRIMARY KEY, n int);
INSERT INTO words VALUES ('a:1', 1), ('a:2', 2), ('b', 3), ('a b', 4), ('', 5);
INSERT INTO words VALUES ('a:1', 9);
SELECT * FROM words ORDER BY v;
SELECT n FROM words WHERE v = 'b';
UPDATE words SET v = v || 'z:1A' WHERE n = 1;
DELETE FROM words WHERE v @@ 'b';
SELECT * FROM words ORDER BY n;
CREATE INDEX papers_v ON papers USING gin (v);
CREATE INDEX papers_g ON papers USING gist (v);
CREATE INDEX papers_b ON papers USING gin (to_tsvector('english', body));
CREATE INDEX papers_c ON papers USING gin ((setweight(to_tsvector('pg_catalog.english'::regconfig, title), 'A') || to_tsvector('simple', coalesce(body, ''))));
CREATE INDEX papers_d ON papers USING gin (to_tsvector(body));
CREATE INDEX papers_e ON papers USING gin (to_tsvector('nosuch', body));
CREATE INDEX papers_f ON papers USING gin (body);
CREATE INDEX papers_h ON papers USING hash (v);
CREATE INDEX papers_i ON papers USING gin (v tsvector_ops);
CREATE INDEX papers_q ON papers USING gist (q);
CREATE INDEX ON papers USING gin (to_tsvector('english', body));
--! missing: indexes are shown as they were written
SELECT indexname, indexdef FROM pg_indexes WHERE tablename = 'papers' ORDER BY 1;
SELECT id FROM papers WHERE to_tsvector('english', body) @@ to_tsquery('english', 'dog') ORDER BY id;
CREATE TABLE posts (id int PRIMARY KEY, title text, body text, search tsvector GENERATED ALWAYS AS (setweight(to_tsvector('english', coalesce(title, '')), 'A') || setweight(to_tsvector('english', coalesce(body, '')), 'B')) STORED);
INSERT INTO posts VALUES (1, 'Fat cats', 'ate the rats'), (2, NULL, 'Quick foxes jumped');
SELECT * FROM posts ORDER BY id;
UPDATE posts SET title = 'Lazy dogs' WHERE id = 2;
SELECT id, search, ts_rank(search, 'dog | rat') FROM posts WHERE search @@ to_tsquery('english', 'dogs | rats') ORDER BY id;
INSERT INTO posts VALUES (3, 'x', 'y', 'z');
CREATE INDEX ON posts USING gin (search);
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'posts'::regclass;
CREATE TABLE wrong (body text, search tsvector GENERATED ALWAYS AS (to_tsvector(body)) STORED);
CREATE TABLE wrong (body text, search tsvector GENERATED ALWAYS AS (to_tsvector('nosuch', body)) STORED);
--! missing: what is not immutable is refused as not supported
CREATE TABLE wrong (c text, body text, search tsvector GENERATED ALWAYS AS (to_tsvector(c, body)) STORED);
ALTER TABLE posts ADD COLUMN simple tsvector GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, body)) STORED;
SELECT id, simple FROM posts ORDER BY id;
CREATE TABLE short (id int PRIMARY KEY, v tsvector DEFAULT 'a:1 b', CHECK (length(v) < 3));
INSERT INTO short VALUES (1), (2, 'x'), (3, NULL);
INSERT INTO short VALUES (4, 'a b c');
SELECT * FROM short ORDER BY id;
ALTER TABLE short ALTER COLUMN v TYPE text;
SELECT * FROM short ORDER BY id;
-- Functions of triggers.
CREATE TABLE film (id int PRIMARY KEY, title text, description varchar(80), length int, fulltext tsvector NOT NULL);
CREATE TRIGGER film_fulltext_trigger BEFORE INSERT OR UPDATE ON film FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger('fulltext', 'pg_catalog.english', 'title', 'description');
INSERT INTO film VALUES (1, 'ACADEMY DINOSAUR', 'A Epic Drama of a Feminist And a Mad Scientist', 86), (2, 'ACE GOLDFINGER', NULL, 48);
SELECT * FROM film ORDER BY id;
UPDATE film SET description = 'A Astounding Epistle of a Database Administrator' WHERE id = 2;
UPDATE film SET fulltext = 'mine', length = 50 WHERE id = 2;
SELECT id, fulltext FROM film ORDER BY id;
UPDATE film SET title = title;
SELECT id, fulltext FROM film WHERE fulltext @@ to_tsquery('fat | astounding') ORDER BY id;
INSERT INTO film VALUES (1, 'x', 'y', 1) ON CONFLICT (id) DO UPDATE SET title = excluded.title RETURNING id, title, fulltext;
SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE tgname = 'film_fulltext_trigger';
DROP TRIGGER film_fulltext_trigger ON film;
CREATE TRIGGER a BEFORE INSERT ON film FOR EACH ROW EXECUTE PROCEDURE pg_catalog.tsvector_update_trigger(fulltext, 'english', 'title');
INSERT INTO film VALUES (3, 'x');
CREATE OR REPLACE TRIGGER a BEFORE INSERT ON film FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger('fulltext', 'pg_catalog.nosuch', 'title');
INSERT INTO film VALUES (3, 'x');
CREATE OR REPLACE TRIGGER a BEFORE INSERT ON film FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger('nosuch', 'pg_catalog.simple', 'title');
INSERT INTO film VALUES (3, 'x');
CREATE OR REPLACE TRIGGER a BEFORE INSERT ON film FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger('title', 'pg_catalog.simple', 'title');
INSERT INTO film VALUES (3, 'x');
CREATE OR REPLACE TRIGGER a BEFORE INSERT ON film FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger('fulltext', 'pg_catalog.simple', 'length');
INSERT INTO film VALUES (3, 'x');
CREATE OR REPLACE TRIGGER a BEFORE INSERT ON film FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger('fulltext', 'pg_catalog.simple');
INSERT INTO film VALUES (3, 'x');
CREATE OR REPLACE TRIGGER a BEFORE INSERT ON film FOR EACH STATEMENT EXECUTE FUNCTION tsvector_update_trigger('fulltext', 'pg_catalog.simple', 'title');
INSERT INTO film VALUES (3, 'x');
CREATE OR REPLACE TRIGGER a BEFORE INSERT ON film FOR EACH ROW EXECUTE FUNCTION tsvector_update_trigger_column('fulltext', 'title', 'title');
INSERT INTO film VALUES (3, 'x');
DROP TABLE film;
-- Routines and views.
CREATE FUNCTION found(wanted text) RETURNS SETOF int LANGUAGE sql AS $$ SELECT id FROM papers WHERE v @@ to_tsquery('english', wanted) ORDER BY id $$;
SELECT * FROM found('fat | foxes');
CREATE FUNCTION vector_of(document text) RETURNS tsvector LANGUAGE plpgsql AS $$
DECLARE made tsvector := to_tsvector('english', document);
BEGIN
RETURN made || 'end:1'::tsvector;
END $$;
SELECT vector_of('fat rats');
CREATE VIEW shown AS SELECT id, v, v @@ 'fat'::tsquery AS is_fat FROM papers;
SELECT * FROM shown ORDER BY id;
SELECT cfgname::text FROM pg_ts_config WHERE cfgname IN ('simple', 'english') ORDER BY 1;
SELECT d.dictname::text, count(*) FROM pg_ts_config c JOIN pg_ts_config_map m ON m.mapcfg = c.oid JOIN pg_ts_dict d ON d.oid = m.mapdict WHERE c.cfgname = 'english' GROUP BY 1 ORDER BY 1;
COPY papers (id, v, q) FROM STDIN;
6	'fat':1 'cow'	'fat' & !'cow'
\.
COPY (SELECT id, v, q FROM papers ORDER BY id) TO STDOUT;
SELECT typname::text, typarray, typcategory::text FROM pg_type WHERE typname IN ('tsvector', 'tsquery', '_tsvector', '_tsquery') ORDER BY oid;
--! with fat|1
SELECT id FROM papers WHERE v @@ to_tsquery('english', $1) AND id = $2::int;
DROP VIEW shown;
DROP FUNCTION found, vector_of;
DROP TABLE papers, words, posts, short;
SHOW default_text_search_config;
--! one session
SET default_text_search_config = 'simple';
SHOW default_text_search_config;
SELECT to_tsvector('The Fat Rats'), plainto_tsquery('The Rats'), get_current_ts_config()::text;
SET default_text_search_config = 'nosuch';
SET default_text_search_config = '';
SET default_text_search_config = 'pg_catalog.english';
SELECT to_tsvector('The Fat Rats'), 'The Rats' @@ 'rat'::tsquery;
RESET default_text_search_config;
SHOW default_text_search_config;
SELECT oid, prsname::text FROM pg_ts_parser;
