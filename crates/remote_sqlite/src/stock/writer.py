"""Commits numbered transactions through the extension and says each number once the commit has returned.

Arguments: EXTENSION URI JOURNAL [memory]. With the last word it begins once commits are durable by memory. Lines on standard input say how many commits may be made, or ask for the `status`; at its end the database is closed.
"""

import sqlite3
import sys

extension, uri, journal = sys.argv[1:4]
loader = sqlite3.connect(":memory:")
loader.enable_load_extension(True)
loader.load_extension(extension)
connection = sqlite3.connect(uri, uri=True, isolation_level=None)
connection.execute("PRAGMA synchronous = FULL")
mode = connection.execute(f"PRAGMA journal_mode = {journal}").fetchone()[0]
connection.execute("CREATE TABLE IF NOT EXISTS entry(number INTEGER PRIMARY KEY, filler TEXT)")
connection.execute("CREATE TABLE IF NOT EXISTS account(number INTEGER PRIMARY KEY, balance INTEGER, filler BLOB)")
number = connection.execute("SELECT coalesce(max(number), 0) FROM entry").fetchone()[0]
while sys.argv[4:] == ["memory"] and "memory" not in connection.execute("PRAGMA raid_status").fetchone()[0]:
    # Each returns with a receipt: that of the disk, until the servers hold the log.
    connection.execute(f"PRAGMA user_version = {(connection.execute('PRAGMA user_version').fetchone()[0] + 1) % 1000}")
print("open", mode, flush=True)
for line in sys.stdin:
    if line.strip() == "status":
        print(connection.execute("PRAGMA raid_status").fetchone()[0], flush=True)
        continue
    for _ in range(int(line)):
        number += 1
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO entry VALUES(?, ?)", (number, "x" * (number * 37 % 400)))
        for account in (number * 7 % 20, number * 11 % 20 + 20):
            # Amounts of two accounts sum up to nothing; fillers of changing length move pages about.
            connection.execute(
                "INSERT INTO account VALUES(?1, ?2, zeroblob(?3)) ON CONFLICT DO UPDATE SET balance = balance + ?2, filler = zeroblob(?3)",
                (account, number if account < 20 else -number, number * 911 % 9000),
            )
        if number % 50 == 0:
            connection.execute("DELETE FROM account WHERE balance = 0")
        connection.execute("COMMIT")
        print(number, flush=True)
connection.close()
loader.close()
