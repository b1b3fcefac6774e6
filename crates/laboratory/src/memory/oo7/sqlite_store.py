"""Builds an OO7 database in SQLite and runs traversals on it, each of which is one transaction.

Arguments: DESIGN URI [EXTENSION]. DESIGN is a file with the parts as JSON. Each line on standard input names a traversal, or asks for the `status`; each
answer is a line of JSON. Ends when its standard input does.
"""

import json
import sqlite3
import sys
import time

SCHEMA = """
CREATE TABLE assembly(id INTEGER PRIMARY KEY, parent INTEGER);
CREATE INDEX assembly_parent ON assembly(parent);
CREATE TABLE component(assembly INTEGER, number INTEGER, composite INTEGER, PRIMARY KEY(assembly, number)) WITHOUT ROWID;
CREATE TABLE composite(id INTEGER PRIMARY KEY, root INTEGER);
CREATE TABLE document(composite INTEGER PRIMARY KEY, text TEXT);
CREATE TABLE atomic(id INTEGER PRIMARY KEY, x INTEGER, y INTEGER, build_date INTEGER);
CREATE TABLE link(source INTEGER, number INTEGER, target INTEGER, length INTEGER, PRIMARY KEY(source, number)) WITHOUT ROWID;
CREATE TABLE manual(text TEXT);
"""
# How often a traversal changes the first atomic part of a composite part, and each other one.
CHANGES = {"T2a": (1, 0), "T2b": (1, 1), "T2c": (4, 4)}
WORDS = {"T5do": ("I am", "This is"), "T5undo": ("This is", "I am")}


def say(kind, value):
    print(json.dumps({kind: value}), flush=True)


def build(database, design):
    database.executescript(SCHEMA)
    many = database.executemany
    database.execute("BEGIN")
    database.execute("INSERT INTO assembly VALUES(0, NULL)")
    for number, assembly in enumerate(design["assemblies"]):
        many("INSERT INTO assembly VALUES(?, ?)", [(child, number) for child in assembly["children"]])
        components = enumerate(assembly["components"])
        many("INSERT INTO component VALUES(?, ?, ?)", [(number, place, composite) for place, composite in components])
    for number, composite in enumerate(design["composites"]):
        database.execute("INSERT INTO composite VALUES(?, ?)", (number, composite["root"]))
        database.execute("INSERT INTO document VALUES(?, ?)", (number, composite["document"]))
    for number, atomic in enumerate(design["atomics"]):
        row = (number, atomic["x"], atomic["y"], atomic["build_date"])
        database.execute("INSERT INTO atomic VALUES(?, ?, ?, ?)", row)
        links = enumerate(atomic["connections"])
        many("INSERT INTO link VALUES(?, ?, ?, ?)", [(number, place, *link) for place, link in links])
    database.execute("INSERT INTO manual VALUES(?)", (design["manual"],))
    database.execute("COMMIT")


def atomics(database, name, root):
    """Goes through the atomic parts of a composite part, depth first."""
    of_root, of_others = CHANGES.get(name, (0, 0))
    seen, path = set(), [root]
    while path:
        part = path.pop()
        if part in seen:
            continue
        seen.add(part)
        database.execute("SELECT x, y FROM atomic WHERE id = ?", (part,)).fetchone()
        for _ in range(of_root if part == root else of_others):
            database.execute("UPDATE atomic SET x = y, y = x WHERE id = ?", (part,))
        if name == "T6":
            break
        links = database.execute("SELECT target FROM link WHERE source = ? ORDER BY number DESC", (part,))
        path.extend(target for (target,) in links)
    return len(seen)


def document(database, name, composite):
    old, new = WORDS[name]
    (text,) = database.execute("SELECT text FROM document WHERE composite = ?", (composite,)).fetchone()
    if not text.startswith(old):
        return 0
    database.execute("UPDATE document SET text = ? WHERE composite = ?", (new + text[len(old) :], composite))
    return 1


def assembly(database, name, number):
    count = 0
    for (child,) in database.execute("SELECT id FROM assembly WHERE parent = ?", (number,)).fetchall():
        count += assembly(database, name, child)
    components = database.execute("SELECT composite FROM component WHERE assembly = ? ORDER BY number", (number,))
    for (composite,) in components.fetchall():
        (root,) = database.execute("SELECT root FROM composite WHERE id = ?", (composite,)).fetchone()
        count += document(database, name, composite) if name in WORDS else atomics(database, name, root)
    return count


def traverse(database, name):
    begun = time.perf_counter_ns()
    database.execute("BEGIN")
    count = assembly(database, name, 0)
    database.execute("COMMIT")
    say("Traversed", {"nanoseconds": time.perf_counter_ns() - begun, "count": count})


def status(database, is_remote):
    words = [f"SQLite {sqlite3.sqlite_version}"]
    if is_remote:
        words.append(database.execute("PRAGMA raid_status").fetchone()[0])
    return ", ".join(words)


def main():
    path, uri = sys.argv[1:3]
    is_remote = len(sys.argv) > 3
    if is_remote:
        loader = sqlite3.connect(":memory:")
        loader.enable_load_extension(True)
        loader.load_extension(sys.argv[3])
    database = sqlite3.connect(uri, uri=True, isolation_level=None)
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = FULL")
    # All of it stays in memory, as in redb.
    database.execute("PRAGMA cache_size = -65536")
    with open(path, encoding="utf-8") as design:
        build(database, json.load(design))
    while is_remote and "by: memory" not in status(database, is_remote):
        # Each returns with a receipt: that of the disk, until the servers hold the log.
        version = database.execute("PRAGMA user_version").fetchone()[0]
        database.execute(f"PRAGMA user_version = {(version + 1) % 1000}")
    say("Ready", status(database, is_remote))
    for line in sys.stdin:
        if line.strip() == "status":
            say("Ready", status(database, is_remote))
        else:
            traverse(database, line.strip())
    database.close()


try:
    main()
except sqlite3.Error as error:
    say("Failed", str(error))
