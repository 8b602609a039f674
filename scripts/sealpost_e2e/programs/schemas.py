"""Opens a database of every schema that was ever committed: it is migrated, or refused with what to do.

The migrations of each commit are read from the repository's history, and a database is made of them, as the version of
that commit recorded it: with the hash of each migration, or without in the time before there were hashes. `sealpost migrate`
must then succeed and `sealpost doctor` find the database up to date, or `migrate` must end with an error that names the
migration and says which version to use, and must leave the file as it was.

A filled database of PostgreSQL is upgraded from each of its migrations: a daemon of this version fills one, whose rows are copied
into the tables that the first so many migrations make. After `sealpost migrate` each of these rows must be as it was, the audit be
whole, and a daemon serve them: users sign in, a token works, devices are there, payloads are fetched, and what waited goes out. The
comparison is tried with a row that was changed, which it must find.
"""

import base64
import hashlib
import os
import pathlib
import sqlite3
import subprocess
import tempfile

from sealpost_e2e import filled, processes, rig

FOLDER = "Migrations/sql"
# Of a database whose migrations have changed since, and of one with a migration that this version does not know.
ADVICE = ("use the version that made it", "use that version")


def run(options):
    program = pathlib.Path(options.sealpost).resolve()
    counts = {"migrated": 0, "refused": 0}
    for schema in find_schemas():
        for has_hashes in (True, False):
            with tempfile.TemporaryDirectory() as folder:
                counts[open_schema(program, pathlib.Path(folder), schema, has_hashes)] += 1
    print(f"schemas of {sum(counts.values()) // 2} versions, with hashes and without: {counts['migrated']} migrated, "
        f"{counts['refused']} refused with what to do")
    if not counts["migrated"]:
        raise SystemExit("not even the schema of this commit was opened")
    filled.upgrade(program)


def find_schemas():
    """The lists of migrations, each with name and SQL, that commits have had."""
    schemas = []
    for commit in git("log", "--format=%H", "--", FOLDER).split():
        files = sorted(git("ls-tree", "--name-only", commit, f"{FOLDER}/").split())
        schema = [(pathlib.Path(file).stem, git("show", f"{commit}:{file}")) for file in files]
        if schema not in schemas:
            schemas.append(schema)
    if not schemas:
        raise SystemExit("the repository has no history")
    return schemas


def git(*arguments):
    return processes.run("git", "-C", rig.ROOT, *arguments)


def open_schema(program, folder, schema, has_hashes):
    """Whether the database of a schema is `migrated` or `refused`; ends the program if it is neither as it should be."""
    path = folder / "var/sealpost.db"
    path.parent.mkdir(mode=0o700)
    keyring = path.parent / "keyring"
    keyring.touch(mode=0o600)
    keyring.write_text(f"1 {base64.b64encode(os.urandom(32)).decode()}\n")
    make_database(path, schema, has_hashes)
    before = dump(path)
    done = call(program, folder, "migrate")
    if done.returncode == 0:
        found = call(program, folder, "doctor").stdout
        if "is intact and up to date" not in found:
            raise SystemExit(f"migrated, but: {found}")
        return "migrated"
    names = [name for name, _ in schema]
    if not any(name in done.stderr for name in names) or not any(advice in done.stderr for advice in ADVICE):
        raise SystemExit(f"refused without saying what to do: {done.stderr}")
    if dump(path) != before:
        raise SystemExit("a refused database was changed")
    return "refused"


def make_database(path, schema, has_hashes):
    database = sqlite3.connect(path, isolation_level=None)
    # Byte for byte as the program writes it, which compares the text.
    hash_column = ", hash blob not null" if has_hashes else ""
    database.execute(
        f"create table migration (\n    name text primary key, applied_at integer not null{hash_column}\n) strict"
    )
    for name, sql in schema:
        database.executescript(sql)
        values = [name, 0] + ([hashlib.sha256(sql.encode()).digest()] if has_hashes else [])
        database.execute(f"insert into migration values ({', '.join('?' * len(values))})", values)
    database.close()


def dump(path):
    with sqlite3.connect(path) as database:
        return list(database.iterdump())


def call(program, folder, command):
    return subprocess.run([program, command], cwd=folder, capture_output=True, text=True, timeout=60)
