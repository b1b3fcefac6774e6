"""What applications do with psycopg 3: `psycopg_driver.py CONNECTION ELSEWHERE`. A step that fails is printed; the exit status says how all went."""
import datetime as dt
import decimal
import sys
import threading
import traceback
import uuid

import psycopg
from psycopg import sql
from psycopg.rows import dict_row

DSN, ELSEWHERE = sys.argv[1:]
failed = 0


def step(function):
    """Runs a step on a connection of its own."""
    global failed
    try:
        with psycopg.connect(DSN) as connection:
            function(connection)
    except Exception:
        failed += 1
        print(f"FAILED {function.__name__}\n{traceback.format_exc(limit=-2)}")


VALUES = {
    "i2": 7, "i4": 70000, "i8": 7 * 10**12, "f4": 1.5, "f8": 2.25, "n": decimal.Decimal("12.340"), "t": "größe",
    "v": "varchar", "b": True, "y": b"\x00\xff", "d": dt.date(2024, 2, 29), "tm": dt.time(12, 34, 56, 789000),
    "ts": dt.datetime(2024, 2, 29, 12, 0, 0, 5), "tz": dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone.utc),
    "iv": dt.timedelta(days=3, seconds=5), "u": uuid.UUID(int=5),
}


@step
def types(c):
    c.execute("DROP TABLE IF EXISTS psy")
    c.execute("CREATE TABLE psy (id int PRIMARY KEY, i2 smallint, i4 int, i8 bigint, f4 real, f8 double precision, n numeric,"
              " t text, v varchar(20), b boolean, y bytea, d date, tm time, ts timestamp, tz timestamptz, iv interval, u uuid)")
    columns = sql.SQL(", ").join(map(sql.Identifier, VALUES))
    marks = sql.SQL(", ").join(sql.Placeholder() * len(VALUES))
    insert = sql.SQL("INSERT INTO psy (id, {}) VALUES (%s, {})").format(columns, marks)
    c.execute(insert, [1, *VALUES.values()])
    binary = sql.SQL(", ").join([sql.SQL("%b")] * len(VALUES))
    c.execute(sql.SQL("INSERT INTO psy (id, {}) VALUES (2, {})").format(columns, binary), list(VALUES.values()))
    c.execute(insert, [3] + [None] * len(VALUES))
    for is_binary in (False, True):
        with c.cursor(binary=is_binary, row_factory=dict_row) as cursor:
            rows = cursor.execute("SELECT * FROM psy ORDER BY id").fetchall()
        for row in rows[:2]:
            for name, value in VALUES.items():
                assert row[name] == value, (is_binary, name, row[name], value)
        assert rows[2]["t"] is None


@step
def prepared(c):
    for _ in range(10):
        assert c.execute("SELECT t FROM psy WHERE id = %s", (1,), prepare=True).fetchone() == ("größe",)
    cursor = c.cursor()
    cursor.executemany("INSERT INTO psy (id, t) VALUES (%s, %s)", [(i, f"m{i}") for i in range(100, 150)])
    assert cursor.rowcount == 50
    cursor.executemany("INSERT INTO psy (id) VALUES (%s) RETURNING id", [(200,), (201,)], returning=True)
    assert cursor.fetchone() == (200,) and cursor.nextset() and cursor.fetchone() == (201,)


@step
def arrays(c):
    """As parameters and results of every type, in text and binary; as columns; to fetch, change and insert many rows at once."""
    for is_binary in (False, True):
        with c.cursor(binary=is_binary) as cursor:
            fetch = "SELECT id, t FROM psy WHERE id = ANY(%s) ORDER BY id"
            assert cursor.execute(fetch, ([1, 3, 1, 999],)).fetchall() == [(1, "größe"), (3, None)]
            assert cursor.execute(fetch.replace("%s", "%b"), ([2, 1],)).fetchall() == [(1, "größe"), (2, "größe")]
            assert cursor.execute(fetch, ([],)).fetchall() == []
            for name, value in VALUES.items():
                column = sql.Identifier(name)
                query = sql.SQL("SELECT count(*), array_agg({} ORDER BY id) FROM psy WHERE {} = ANY(%s) AND id < 3").format(column, column)
                count, values = cursor.execute(query, ([value, value, None],)).fetchone()
                # A real is not what its decimal digits say, but this one is.
                assert count == 2 and values == [value, value], (is_binary, name, count, values)
            words = ["a b", 'q"\\', "", "null", None, "{,}"]
            assert cursor.execute("SELECT %s::text[], %b::text[]", (words, words)).fetchone() == (words, words)
    c.execute("DROP TABLE IF EXISTS psy_arrays")
    c.execute("CREATE TABLE psy_arrays (id int PRIMARY KEY, words text[] NOT NULL DEFAULT '{}', numbers int[])")
    with c.cursor(binary=True) as cursor:
        cursor.execute("INSERT INTO psy_arrays (id, words, numbers) VALUES (1, %s, %s)", (words, [1, None, 3]))
        cursor.execute("INSERT INTO psy_arrays (id, numbers) SELECT id, ARRAY[id, n] FROM unnest(%s::int[], %s::int[]) AS t(id, n)",
                       ([2, 3, 4], [20, 30, 40]))
        assert cursor.rowcount == 3
        rows = cursor.execute("SELECT id, words, numbers FROM psy_arrays ORDER BY id").fetchall()
        assert rows == [(1, words, [1, None, 3]), (2, [], [2, 20]), (3, [], [3, 30]), (4, [], [4, 40])], rows
        cursor.execute("UPDATE psy_arrays SET words = words || %s::text WHERE id = ANY(%s)", ("more", [1, 4, 5]))
        assert cursor.rowcount == 2
        cursor.execute("DELETE FROM psy_arrays WHERE id = ANY(%s) RETURNING id", ([2, 3],))
        assert sorted(cursor.fetchall()) == [(2,), (3,)]
        rows = cursor.execute("SELECT words, numbers[2], cardinality(numbers) FROM psy_arrays ORDER BY id").fetchall()
        assert rows == [(words + ["more"], None, 3), (["more"], 40, 2)], rows
    for wrong, code in [("SELECT '{{1}}'::int[]", "0A000"), ("SELECT '{1'::int[]", "22P02"),
                        ("CREATE TABLE psy_wrong (a int[] PRIMARY KEY)", "0A000"), ("CREATE INDEX ON psy_arrays (numbers)", "0A000")]:
        try:
            with c.transaction():
                c.execute(wrong)
            raise AssertionError(f"{wrong} was taken")
        except psycopg.Error as error:
            assert error.sqlstate == code, (wrong, error)


@step
def cursors_of_sql(c):
    """DECLARE and FETCH, forwards and backwards, with other statements between."""
    c.autocommit = True
    with c.transaction():
        c.execute("DECLARE named SCROLL CURSOR FOR SELECT id FROM psy WHERE id BETWEEN 100 AND 109 ORDER BY id")
        assert c.execute("FETCH 3 FROM named").fetchall() == [(100,), (101,), (102,)]
        assert c.execute("SELECT count(*) FROM psy WHERE id = 100").fetchone() == (1,)
        assert c.execute("FETCH BACKWARD 1 FROM named").fetchall() == [(101,)]
        assert len(c.execute("FETCH ALL FROM named").fetchall()) == 8
        c.execute("CLOSE named")
        for is_binary in (False, True):
            with c.cursor("server_side", binary=is_binary) as cursor:
                cursor.itersize = 3
                cursor.execute("SELECT id, t FROM psy WHERE id BETWEEN %s AND %s ORDER BY id", (100, 109))
                assert [row[0] for row in cursor] == list(range(100, 110))
    with c.cursor("held", withhold=True) as cursor:
        cursor.execute("SELECT id FROM psy WHERE id < 103 AND id >= 100 ORDER BY id")
        assert cursor.fetchmany(2) == [(100,), (101,)]
        assert cursor.fetchall() == [(102,)]


@step
def copying(c):
    with c.cursor() as cursor:
        with cursor.copy("COPY psy (id, t, d) FROM STDIN") as copy:
            for i in range(300, 400):
                copy.write_row((i, f"c\t{i}", None))
        with cursor.copy("COPY psy (id, t) FROM STDIN (FORMAT binary)") as copy:
            copy.set_types(["int4", "text"])
            for i in range(400, 450):
                copy.write_row((i, "b"))
        with cursor.copy("COPY (SELECT id, t FROM psy WHERE id >= 300 ORDER BY id) TO STDOUT") as copy:
            copy.set_types(["int4", "text"])
            rows = list(copy.rows())
        assert len(rows) == 150 and rows[0] == (300, "c\t300"), rows[:2]


@step
def pipelines(c):
    with c.pipeline():
        cursors = [c.execute("SELECT t FROM psy WHERE id = %s", (i,)) for i in (1, 100, 2)]
        assert [cursor.fetchone()[0] for cursor in cursors] == ["größe", "m100", "größe"]


@step
def streaming(c):
    assert sum(1 for _ in c.cursor().stream("SELECT id FROM psy ORDER BY id")) > 100


@step
def transactions(c):
    with c.transaction():
        c.execute("INSERT INTO psy (id) VALUES (1000)")
        try:
            with c.transaction():
                c.execute("INSERT INTO psy (id) VALUES (1000)")
        except psycopg.errors.UniqueViolation as error:
            assert error.diag.constraint_name == "psy_pkey" and error.diag.table_name == "psy", vars(error.diag)
        c.execute("INSERT INTO psy (id) VALUES (1001)")
    assert c.execute("SELECT count(*) FROM psy WHERE id >= 1000").fetchone() == (2,)
    c.rollback()
    for level in psycopg.IsolationLevel:
        c.isolation_level = level
        with c.transaction():
            c.execute("SELECT 1")
    c.isolation_level, c.read_only = None, True
    try:
        c.execute("DELETE FROM psy")
        raise AssertionError("a read-only transaction wrote")
    except psycopg.errors.ReadOnlySqlTransaction:
        c.rollback()


@step
def autocommit(c):
    c.rollback()
    c.autocommit = True
    c.execute("UPDATE psy SET t = 'auto' WHERE id = 1000")
    assert c.execute("SELECT t FROM psy WHERE id = 1000").fetchone() == ("auto",)


@step
def errors(c):
    c.autocommit = True
    for text, kind in [("SELEKT", psycopg.errors.SyntaxError), ("SELECT * FROM nope", psycopg.errors.UndefinedTable),
                       ("SELECT nope FROM psy", psycopg.errors.UndefinedColumn), ("LISTEN 'x'", psycopg.errors.SyntaxError),
                       ("SELECT 1/0", psycopg.errors.DivisionByZero), ("INSERT INTO psy VALUES (NULL)", psycopg.errors.NotNullViolation)]:
        try:
            c.execute(text)
            raise AssertionError(f"{text} succeeded")
        except kind:
            pass


@step
def listening(c):
    c.autocommit = True
    c.execute("LISTEN channel")
    with psycopg.connect(ELSEWHERE, autocommit=True) as other:
        other.execute("NOTIFY channel, 'one'")
        other.execute("NOTIFY channel, 'two'")
    notices = c.notifies()
    assert [next(notices).payload, next(notices).payload] == ["one", "two"]
    notices.close()
    c.execute("UNLISTEN *")


@step
def cancelling(c):
    timer = threading.Timer(0.3, c.cancel)
    timer.start()
    try:
        c.execute("SELECT count(*) FROM generate_series(1, 3000) a, generate_series(1, 3000) b, generate_series(1, 3000) d")
        raise AssertionError("it was not cancelled")
    except psycopg.errors.QueryCanceled:
        c.rollback()
    finally:
        timer.join()
    assert c.execute("SELECT 1").fetchone() == (1,)


@step
def type_lookups(c):
    info = psycopg.types.TypeInfo.fetch(c, "uuid")
    assert info is not None and info.oid == 2950 and info.array_oid == 2951
    assert psycopg.types.TypeInfo.fetch(c, "nosuchtype") is None
    assert c.info.server_version >= 150000 and c.info.encoding == "utf-8"


@step
def two_phase(c):
    try:
        c.tpc_begin(c.xid(1, "a", "b"))
        c.tpc_prepare()
        raise AssertionError("two-phase commit is not there")
    except psycopg.errors.FeatureNotSupported:
        c.close()


sys.exit(1 if failed else 0)
