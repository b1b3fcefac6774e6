#!/usr/bin/env python3
"""Runs a client's own test suite on Raid and on a PostgreSQL beside it, and tells where Raid differs.

    python3 tests/clients/run.py sqlalchemy --raid 127.0.0.1:5433 --postgres 127.0.0.1:5432

Both servers have to let a superuser called `raid` in without a password, and are given databases of their own that are dropped at
the beginning. The suites come from the Python package index as source distributions of the pinned versions; everything is kept in
the work folder. The exit code is 0 if every test that passes on PostgreSQL passes on Raid, or stands in expected/SUITE.txt.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import venv
import xml.etree.ElementTree as ElementTree

HERE = pathlib.Path(__file__).resolve().parent

# What each suite needs: its source distribution, and what is installed to run it.
SOURCES = {
    "sqlalchemy": "sqlalchemy==2.1.9",
    "django": "django==5.2.19",
    "asyncpg": "asyncpg==0.32.0",
    "pg8000": "pg8000==1.31.6",
}
PACKAGES = [
    "pytest", "pytest-timeout", "psycopg[binary]==3.3.9", "psycopg2-binary==2.9.13", "sqlalchemy==2.1.9",
    "django==5.2.19", "asyncpg==0.32.0", "pg8000==1.31.6", "setuptools", "cython", "hatchling", "versioningit", "wheel",
]
DJANGO_MODULES = (HERE / "django_modules.txt")


class Server:
    """A server to run a suite on."""

    def __init__(self, name, address):
        self.name = name
        self.host, _, self.port = address.rpartition(":")

    def environment(self, database):
        return dict(os.environ, PGHOST=self.host, PGPORT=self.port, PGUSER="raid", PGDATABASE=database, PGPASSWORD="")

    def psql(self, database, *statements):
        command = ["psql", "-X", "-q", "-d", database]
        for statement in statements:
            command += ["-c", statement]
        subprocess.run(command, env=self.environment(database), check=False, stderr=subprocess.DEVNULL)

    def fresh(self, database, *statements):
        """A new database of this name."""
        first = "raid" if self.name == "raid" else "postgres"
        self.psql(first, f"DROP DATABASE IF EXISTS {database}", f"CREATE DATABASE {database}")
        for statement in statements:
            self.psql(database, statement)


class Runner:
    def __init__(self, work):
        self.work = work
        self.python = work / "venv" / "bin" / "python"

    def prepare(self, suite):
        """The environment and the sources, if they are not there yet."""
        if not self.python.exists():
            print("making the environment ...", flush=True)
            venv.create(self.work / "venv", with_pip=True)
        done = self.work / "venv" / "installed"
        if not done.exists() or done.read_text() != "\n".join(PACKAGES):
            self.pip("install", *PACKAGES)
            done.write_text("\n".join(PACKAGES))
        name, version = SOURCES[suite].split("==")
        sources = self.work / f"{name}-{version}"
        if not sources.exists():
            print(f"fetching {SOURCES[suite]} ...", flush=True)
            self.pip("download", "--no-deps", "--no-binary", ":all:", "--no-build-isolation", "-d", str(self.work / "sdist"),
                     SOURCES[suite])
            archive = next(
                path for path in (self.work / "sdist").iterdir() if path.name.lower() == f"{name}-{version}.tar.gz")
            with tarfile.open(archive) as opened:
                opened.extractall(self.work, filter="data")
        return sources

    def pip(self, *arguments):
        subprocess.run([self.python, "-m", "pip", "-q", "--disable-pip-version-check", *arguments], check=True)

    def pytest(self, folder, server, suite, database, arguments, environment=None):
        report = self.work / "reports" / f"{suite}-{server.name}.xml"
        report.parent.mkdir(exist_ok=True)
        command = [
            self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--maxfail=100000", f"--junitxml={report}",
            *arguments,
        ]
        with open(report.with_suffix(".log"), "w") as log:
            environment = dict(server.environment(database), **(environment or {}))
            subprocess.run(command, cwd=folder, env=environment, stdout=log, stderr=subprocess.STDOUT, check=False)
        return from_junit(report)


def sqlalchemy(runner, server):
    """The suite by which SQLAlchemy tests dialects, with psycopg2."""
    sources = runner.prepare("sqlalchemy")
    # The suite makes two extensions that it does not use.
    provision = sources / "lib/sqlalchemy/dialects/postgresql/provision.py"
    text = provision.read_text()
    provision.write_text(text.replace('    ("citext", (13,)),\n', "").replace('    ("hstore", (13,)),\n', ""))
    server.fresh("sqla", "CREATE SCHEMA test_schema", "CREATE SCHEMA test_schema_2")
    url = f"postgresql+psycopg2://raid@{server.host}:{server.port}/sqla"
    arguments = ["test/dialect/test_suite.py", "-p", "no:randomly", "--timeout", "60", "--dburi", url]
    return runner.pytest(sources, server, "sqlalchemy", "sqla", arguments, {"PYTHONPATH": str(sources / "lib")})


def asyncpg(runner, server):
    sources = runner.prepare("asyncpg")
    tests = isolated(runner, sources / "tests", f"asyncpg-{server.name}", "tests")
    server.fresh("asyn")
    arguments = ["tests", "--timeout", "30", "--deselect", "tests/test__sourcecode.py"]
    return runner.pytest(tests, server, "asyncpg", "asyn", arguments)


def pg8000(runner, server):
    sources = runner.prepare("pg8000")
    tests = isolated(runner, sources / "test", f"pg8000-{server.name}", "test")
    for settings in tests.glob("test/*/conftest.py"):
        connect = '"user": "raid", "host": environ["PGHOST"], "database": environ["PGDATABASE"]'
        settings.write_text(settings.read_text().replace('"user": "postgres", "password": "pw"', connect))
    server.fresh("pg8k")
    arguments = ["test", "--timeout", "30", "--ignore", "test/test_readme.py"]
    for style in ("native", "dbapi", "legacy"):
        arguments += ["--ignore", f"test/{style}/auth"]
    return runner.pytest(tests, server, "pg8000", "pg8k", arguments)


def isolated(runner, folder, name, inner):
    """The tests alone: beside their sources they would not test what is installed."""
    target = runner.work / "isolated" / name
    subprocess.run(["rm", "-rf", str(target)], check=True)
    target.mkdir(parents=True)
    subprocess.run(["cp", "-r", str(folder), str(target / inner)], check=True)
    return target


def django(runner, server):
    """The modules of Django's suite that speak to the database, with its own backend."""
    sources = runner.prepare("django")
    settings = runner.work / "django_settings.py"
    settings.write_text(f"""
base = {{"ENGINE": "django.db.backends.postgresql", "HOST": "{server.host}", "PORT": "{server.port}", "USER": "raid"}}
base["NAME"] = "{'raid' if server.name == 'raid' else 'postgres'}"
DATABASES = {{"default": dict(base, TEST={{"NAME": "djtest"}}), "other": dict(base, TEST={{"NAME": "djtest_other"}})}}
SECRET_KEY, USE_TZ = "x", False
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
""")
    # Raid has no collation but C.
    features = sources / "django/db/backends/postgresql/features.py"
    features.write_text(features.read_text().replace('"sv-x-icu"', '"C"'))
    modules = [name for name in DJANGO_MODULES.read_text().split() if (sources / "tests" / name).is_dir()]
    log = runner.work / "reports" / f"django-{server.name}.log"
    log.parent.mkdir(exist_ok=True)
    environment = dict(os.environ, PYTHONPATH=f"{runner.work}:{sources}")
    command = [runner.python, "runtests.py", "--settings", "django_settings", "--noinput", "--parallel", "1", "-v", "2"]
    with open(log, "w") as output:
        subprocess.run(command + modules, cwd=sources / "tests", env=environment, stdout=output,
                       stderr=subprocess.STDOUT, check=False)
    return from_django(log)


def from_junit(report):
    """What became of each test, with the last line of what it said."""
    outcomes = {}
    for case in ElementTree.parse(report).getroot().iter("testcase"):
        name = re.sub(r"_postgresql\+\w+_\d+_\d+", "", f"{case.get('classname')}::{case.get('name')}")
        outcome = ("passed", "")
        for part in case:
            if part.tag in ("failure", "error"):
                outcome = ("failed", reason(f"{part.get('message')}\n{part.text}"))
            elif part.tag == "skipped" and outcome[0] == "passed":
                outcome = ("skipped", "")
        if outcomes.get(name, ("", ""))[0] != "failed":
            outcomes[name] = outcome
    return outcomes


def from_django(log):
    text = log.read_text()
    outcomes = {}
    for name, outcome in re.findall(r"^\w+ \(([\w.]+)\)[^\n]*?(?:\n[^\n]+?)?? \.\.\. (ok|FAIL|ERROR|skipped)", text, re.M):
        outcomes[name] = ({"ok": "passed", "skipped": "skipped"}.get(outcome, "failed"), "")
    for block in re.split(r"\n={70}\n", text)[1:]:
        head = re.match(r"(?:ERROR|FAIL): \w+ \(([\w.]+)\)", block)
        if head:
            outcomes[head.group(1)] = ("failed", reason(block.split("\n" + "-" * 70 + "\nRan ")[0]))
    return outcomes


def reason(text):
    lines = re.findall(r"(?:[\w.]*errors\.\w+|[\w.]+(?:Error|Exception|Failure))\b[^\n]*", text)
    databases = [line for line in lines if "psycopg" in line or "asyncpg" in line]
    chosen = (databases or lines[-1:] or text.strip().split("\n")[-1:])[0]
    return re.sub(r"\d{3,}", "N", chosen)[:200]


def expected(suite):
    """Tests that are known to differ, with why; a name may end in `*`."""
    path = HERE / "expected" / f"{suite}.txt"
    lines = path.read_text().splitlines() if path.exists() else []
    pairs = [line.split(None, 1) for line in lines if line.strip() and not line.startswith("#")]
    return {pair[0]: (pair[1] if len(pair) > 1 else "") for pair in pairs}


def is_expected(name, known):
    return name in known or any(own.endswith("*") and name.startswith(own[:-1]) for own in known)


SUITES = {"sqlalchemy": sqlalchemy, "django": django, "asyncpg": asyncpg, "pg8000": pg8000}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("suite", choices=sorted(SUITES))
    parser.add_argument("--raid", required=True, metavar="HOST:PORT", help="where Raid is")
    parser.add_argument("--postgres", metavar="HOST:PORT", help="where PostgreSQL 15 is; without it every failure counts")
    parser.add_argument("--work", default="clients-work", type=pathlib.Path, help="where packages and reports are kept")
    given = parser.parse_args()
    given.work.mkdir(parents=True, exist_ok=True)
    runner = Runner(given.work.resolve())
    run = SUITES[given.suite]
    reference = run(runner, Server("postgres", given.postgres)) if given.postgres else None
    outcomes = run(runner, Server("raid", given.raid))
    known = expected(given.suite)
    counts = lambda all: ", ".join(f"{count} {what}" for what, count in sorted(
        collections.Counter(outcome for outcome, _ in all.values()).items()))
    if reference is not None:
        print(f"PostgreSQL: {counts(reference)}")
    print(f"Raid: {counts(outcomes)}")
    wanted = [name for name, (outcome, _) in (reference or outcomes).items() if reference is None or outcome == "passed"]
    wrong = {name: outcomes.get(name, ("missing", "it did not run")) for name in wanted}
    wrong = {name: outcome for name, outcome in wrong.items() if outcome[0] in ("failed", "missing")}
    news = {name: outcome for name, outcome in wrong.items() if not is_expected(name, known)}
    by_reason = collections.defaultdict(list)
    for name, (_, why) in news.items():
        by_reason[why].append(name)
    for why, names in sorted(by_reason.items(), key=lambda item: -len(item[1])):
        print(f"{len(names):5} | {why} | {names[0]}")
    print(f"{len(wanted)} tests pass beside, {len(wrong)} of them not here, {len(wrong) - len(news)} of these are expected")
    return 1 if news or not outcomes else 0


if __name__ == "__main__":
    sys.exit(main())
