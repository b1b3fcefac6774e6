"""What applications do with asyncpg, which speaks only the extended protocol and only in binary: `asyncpg_driver.py CONNECTION ELSEWHERE`. A step that
fails is printed; the exit status says how all went."""
import asyncio
import datetime as dt
import decimal
import sys
import traceback
import uuid

import asyncpg

DSN = sys.argv[1]
ELSEWHERE = sys.argv[2]
failed = 0
VALUES = [1, 7, 7 * 10**12, 1.5, 2.25, decimal.Decimal("12.340"), "text", True, b"\x00\xff", dt.date(2024, 2, 29), dt.time(12, 34),
          dt.datetime(2024, 2, 29, 12), dt.datetime(2024, 2, 29, 12, tzinfo=dt.timezone.utc), dt.timedelta(days=3, seconds=5),
          uuid.UUID(int=5)]


async def types(c):
    await c.execute("DROP TABLE IF EXISTS apg; CREATE TABLE apg (id int PRIMARY KEY, i2 smallint, i8 bigint, f4 real, f8 float8,"
                    " n numeric, t text, b bool, y bytea, d date, tm time, ts timestamp, tz timestamptz, iv interval, u uuid)")
    marks = ", ".join(f"${i + 1}" for i in range(len(VALUES)))
    assert await c.execute(f"INSERT INTO apg VALUES ({marks})", *VALUES) == "INSERT 0 1"
    row = await c.fetchrow("SELECT * FROM apg WHERE id = $1", 1)
    assert list(row) == VALUES, row


async def many(c):
    await c.executemany("INSERT INTO apg (id, t) VALUES ($1, $2)", [(i, f"m{i}") for i in range(100, 200)])
    assert await c.fetchval("SELECT count(*) FROM apg WHERE id >= $1", 100) == 100


async def portals(c):
    async with c.transaction():
        ids = [r["id"] async for r in c.cursor("SELECT id FROM apg ORDER BY id", prefetch=10)]
        assert len(ids) == 101
        cursor = await c.cursor("SELECT id FROM apg WHERE id >= $1 ORDER BY id", 100)
        assert [r[0] for r in await cursor.fetch(3)] == [100, 101, 102]
        assert (await cursor.fetchrow())[0] == 103


async def transactions(c):
    try:
        async with c.transaction(isolation="serializable"):
            await c.execute("INSERT INTO apg (id) VALUES (500)")
            async with c.transaction():
                await c.execute("INSERT INTO apg (id) VALUES (501)")
            raise RuntimeError("rolled back")
    except RuntimeError:
        pass
    assert await c.fetchval("SELECT count(*) FROM apg WHERE id >= 500") == 0
    for level in ("read_committed", "repeatable_read", "serializable"):
        async with c.transaction(isolation=level, readonly=level == "serializable", deferrable=level == "serializable"):
            await c.fetchval("SELECT 1")
    try:
        await c.execute("INSERT INTO apg (id) VALUES (1)")
    except asyncpg.UniqueViolationError as error:
        assert error.constraint_name == "apg_pkey"


async def arrays(c):
    """In binary. Arrays of texts this driver knows without asking the catalog."""
    rows = await c.fetch("SELECT id FROM apg WHERE id = ANY($1::text[]::int[]) ORDER BY id", ["1", "1", "987654"])
    assert [row["id"] for row in rows] == [1], rows
    words = ["a b", 'q"\\', "", "null", None, "{,}"]
    assert await c.fetchval("SELECT $1::text[]", words) == words
    await c.execute("DROP TABLE IF EXISTS apg_arrays")
    await c.execute("CREATE TABLE apg_arrays (id bigint PRIMARY KEY, words text[])")
    many = range(500)
    await c.execute("INSERT INTO apg_arrays (id, words) SELECT id::bigint, ARRAY[word] FROM unnest($1::text[], $2::text[]) AS t(id, word)",
                    [str(i) for i in many], [f"w{i}" for i in many])
    update = "UPDATE apg_arrays SET words = $2 WHERE id = ANY($1::text[]::int[])"
    assert await c.execute(update, ["1", "2", "999"], words) == "UPDATE 2"
    assert await c.fetchval("SELECT words FROM apg_arrays WHERE id = 2") == words
    assert await c.execute("DELETE FROM apg_arrays WHERE id = ANY($1::text[]::int[])", [str(i) for i in range(10, 500)]) == "DELETE 490"
    assert await c.fetchval("SELECT array_agg(id ORDER BY id)::text FROM apg_arrays") == "{0,1,2,3,4,5,6,7,8,9}"
    await c.copy_records_to_table("apg_arrays", records=[(600 + i, [f"c{i}", None]) for i in range(20)])
    assert await c.fetchval("SELECT words FROM apg_arrays WHERE id = 619") == ["c19", None]
    statement = await c.prepare("SELECT words FROM apg_arrays WHERE words[1] = ANY($1)")
    assert [p.oid for p in statement.get_parameters()] == [1009], statement.get_parameters()
    assert [a.type.oid for a in statement.get_attributes()] == [1009]
    try:
        await c.fetchval("SELECT $1::text[]", [["a"], ["b"]])
        raise AssertionError("an array of two dimensions was taken")
    except asyncpg.FeatureNotSupportedError:
        pass


async def arrays_of_other_types(c):
    """The driver asks the catalog about them, with a parameter of type oid[]."""
    numbers = [1, None, 3]
    assert await c.fetchval("SELECT $1::int[]", numbers) == numbers
    rows = await c.fetch("SELECT id FROM apg WHERE id = ANY($1) ORDER BY id", [1, 1, 987654])
    assert [row["id"] for row in rows] == [1], rows
    assert await c.fetchval("SELECT array_agg(id ORDER BY id) FROM apg WHERE id < 103") == [1, 100, 101, 102]
    others = {"bigint": [7 * 10**12], "float8": [0.5], "numeric": [decimal.Decimal("12.340")], "bool": [True, False], "bytea": [b"\x00"],
              "uuid": [uuid.UUID(int=5)], "timestamptz": [dt.datetime(2024, 2, 29, tzinfo=dt.timezone.utc)], "varchar": ["a b"], "oid": [2**32 - 1]}
    for name, values in others.items():
        assert await c.fetchval(f"SELECT $1::{name}[]", values) == values, name
    row = await c.fetchrow("SELECT oid, typarray, $1::oid AS given FROM pg_type WHERE oid = $1", 23)
    assert list(row) == [23, 1007, 23], row
    statement = await c.prepare("SELECT oid FROM pg_type WHERE oid = $1")
    assert [p.name for p in statement.get_parameters()] == ["oid"], statement.get_parameters()


async def copying(c):
    records = [(i, f"r{i}", dt.date(2024, 1, 1)) for i in range(1000, 1100)]
    assert await c.copy_records_to_table("apg", records=records, columns=["id", "t", "d"]) == "COPY 100"
    received = []

    async def take(data):
        received.append(data)

    await c.copy_from_query("SELECT id, t FROM apg WHERE id >= 1000 ORDER BY id", output=take, format="csv")
    assert b"".join(received).startswith(b"1000,r1000\n")


async def listening(c):
    """What another site commits is heard once, in order, and what it rolls back is not."""
    heard = asyncio.Queue()
    await c.add_listener("channel", lambda _connection, _process, channel, payload: heard.put_nowait((channel, payload)))
    other = await asyncpg.connect(ELSEWHERE)
    await other.execute("NOTIFY channel, 'first'")
    async with other.transaction():
        await other.execute("SELECT pg_notify('channel', 'second')")
        await other.execute("NOTIFY channel, 'second'")
        await other.execute("NOTIFY unheard, 'nobody'")
    try:
        async with other.transaction():
            await other.execute("NOTIFY channel, 'undone'")
            raise KeyError
    except KeyError:
        pass
    await other.execute("NOTIFY channel")
    await other.close()
    told = [await asyncio.wait_for(heard.get(), 20) for _ in range(3)]
    assert told == [("channel", "first"), ("channel", "second"), ("channel", "")], told
    assert heard.empty()


async def timeouts(c):
    try:
        await c.fetch("SELECT count(*) FROM generate_series(1, 3000) a, generate_series(1, 3000) b, generate_series(1, 3000) d", timeout=0.3)
        raise AssertionError("no time-out")
    except asyncio.TimeoutError:
        pass
    assert await c.fetchval("SELECT 1") == 1


async def pool(_):
    async with asyncpg.create_pool(DSN, min_size=2, max_size=4) as connections:
        values = await asyncio.gather(*(connections.fetchval("SELECT $1::int * 2", i) for i in range(20)))
        assert values == [i * 2 for i in range(20)]


async def schema_change(c):
    assert await c.fetchrow("SELECT * FROM apg WHERE id = $1", 1) is not None
    other = await asyncpg.connect(DSN)
    await other.execute("ALTER TABLE apg ADD COLUMN extra int")
    await other.close()
    assert "extra" in dict(await c.fetchrow("SELECT * FROM apg WHERE id = $1", 1))


async def introspection(c):
    statement = await c.prepare("SELECT id, t, n FROM apg WHERE id = $1 AND t = $2")
    assert [p.name for p in statement.get_parameters()] == ["int4", "text"]
    assert [a.name for a in statement.get_attributes()] == ["id", "t", "n"]
    assert c.get_server_version().major == 15
    await c.reset()


async def main():
    global failed
    for step in (types, many, portals, transactions, arrays, copying, listening, timeouts, pool, schema_change, introspection, arrays_of_other_types):
        connection = await asyncpg.connect(DSN)
        try:
            await step(connection)
        except Exception:
            failed += 1
            print(f"FAILED {step.__name__}\n{traceback.format_exc(limit=-2)}")
        await connection.close()


asyncio.run(main())
sys.exit(1 if failed else 0)
