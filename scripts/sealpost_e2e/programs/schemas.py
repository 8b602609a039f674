"""Upgrades a filled PostgreSQL database from each of its migrations, and serves it.

A daemon of this version fills a database, whose rows the program copies into the tables of the first migrations. `sealpost migrate`
must keep each row and a whole audit, and a daemon must serve them: users sign in, a token works, devices exist, payloads are fetched,
and queued pushes go out. The comparison must also find a changed row.
"""

import secrets
import time

from sealpost_e2e import api, outbox, postgresql, processes, require, rig, sealing

FOLDER = rig.ROOT / "Migrations/postgresql"
# Excluded from the comparison: the servers' own state, and the list of the migrations.
OWN = {"migration", "schema_state", "node", "day_chain", "day_key_holder"}
KEPT, LATER = "what was kept", "what waited"


class Filled(outbox.Outbox):
    """Users, tags, a token, devices, a sent notification and a scheduled one."""

    def __init__(self, program, cluster):
        super().__init__(program, DATABASE=cluster.url)
        self.cluster = cluster

    def fill(self):
        for name, role in (("boss", "admin"), ("anna", "device")):
            self.add_user(name, role)
        self.simulate()
        daemon, _ = self.serve()
        connection, boss = self.connect(), api.basic("boss")
        api.ask(connection, "PUT", "/api/users/anna/tags", {"Tags": ["role:nurse"]}, credentials=boss)
        order = {"User": "anna", "Scopes": ["fetch", "register"]}
        self.token = "Bearer " + api.ask(connection, "POST", "/api/tokens", order, credentials=boss)["Token"]
        for name in ("anna", "anna", "alice"):
            api.register(connection, api.basic(name), Platform="apns", Handle=secrets.token_hex(32), Tags=["news"])
        self.kept = api.post(connection, {"Payload": KEPT, "To": ["news"]}, credentials=boss)
        api.fetch(connection, self.kept)
        later = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 20 * 60))
        self.later = api.post(connection, {"Payload": LATER, "To": ["role:nurse"], "SendAt": later}, credentials=boss)
        processes.wait_until(lambda: self.accepted() == 3, 60, "three pushes", daemon)
        processes.terminate(daemon)

    def accepted(self, database=postgresql.NAME):
        return int(self.cluster.query("select count(*) from push_end where state = 'accepted'", database)[0][0])

    def make_past(self, database, schema):
        """A database of the first migrations, with the filled one's rows in their columns."""
        self.cluster.query(f"create database {database}", database="postgres")
        for _, sql in schema:
            self.cluster.run_script(sql, database)
        self.cluster.run_script(
            """
            create table schema_state (id bigint primary key check (id = 1));
            create table migration (
                name text collate "C" primary key, applied_at bigint not null, hash bytea not null, oldest_known text collate "C" not null);
            """,
            database,
        )
        if "day_chain" not in self.tables(database):
            self.seal_with_the_keyring()
        for table, columns in self.tables(database).items():
            names = ", ".join(columns)
            rows = self.copy_out(f"select {names} from {table}" + (f" where name <= '{schema[-1][0]}'" if table == "migration" else ""))
            self.cluster.run_script(f"truncate {table};\ncopy {table} ({names}) from stdin;\n{rows}\\.\n", database)
        for table, column in (("account", "id"), ("device", "number"), ("node", "number")):
            self.cluster.query(f"select setval(pg_get_serial_sequence('{table}', '{column}'), max({column})) from {table}", database)

    def seal_with_the_keyring(self):
        """Encrypts the payloads as versions without day keys did."""
        key = sealing.DataKey(self.folder / "var/keyring")
        for id, sender in self.cluster.query("select id, sender_id from notification where payload is not null"):
            text = f'"{KEPT if id == str(self.kept) else LATER}"'
            payload = key.seal(sealing.PAYLOAD, int(id), text, int(sender)).hex()
            self.cluster.query(f"update notification set payload = '\\x{payload}' where id = {id}")

    def tables(self, database):
        """The tables, and the columns of each."""
        found = {}
        for table, column in self.cluster.query(
            "select table_name, column_name from information_schema.columns where table_schema = 'public' order by table_name, ordinal_position",
            database,
        ):
            found.setdefault(table, []).append(column)
        return found

    def copy_out(self, query, database=postgresql.NAME):
        return processes.run("psql", *self.cluster.address, "-v", "ON_ERROR_STOP=1", "-qAt", "-c", f"copy ({query}) to stdout", database)

    def rows(self, tables, database):
        return {
            table: sorted(self.copy_out(f"select {', '.join(columns)} from {table}", database).splitlines())
            for table, columns in tables.items() if table not in OWN
        }

    def use(self, database):
        """Serves the database by a daemon."""
        daemon, _ = self.serve()
        connection, boss = self.connect(), api.basic("boss")
        for name in ("boss", "anna", "alice"):
            api.sign_in(connection, name)
        require(api.fetch(connection, self.kept, credentials=self.token) == KEPT, "a payload is another one")
        require((count := len(api.ask(connection, "GET", "/api/devices", credentials=boss)["Devices"])) == 3, f"{count} devices of 3")
        require(api.ask(connection, "GET", "/api/users/anna/tags", credentials=boss)["Tags"] == ["role:nurse"], "the tags are gone")
        # The scheduled notification is due now.
        self.cluster.query("update scheduled set due_at = 0", database)
        processes.terminate(daemon)
        daemon, _ = self.serve()
        processes.wait_until(lambda: self.accepted(database) == 5, 60, "the pushes of what waited", daemon)
        require(api.fetch(self.connect(), self.later, credentials=self.token) == LATER, "the payload of what waited is another one")
        id = api.post(self.connect(), {"Payload": "new", "To": ["news"]}, credentials=boss)
        processes.wait_until(lambda: self.accepted(database) == 8, 60, "the pushes of a new notification", daemon)
        api.fetch(self.connect(), id, credentials=self.token)
        processes.terminate(daemon)


def run(options):
    migrations = [(file.stem, file.read_text()) for file in sorted(FOLDER.glob("*.sql"))]
    with postgresql.Cluster() as cluster, Filled(options.sealpost, cluster) as site:
        site.fill()
        # The newest schemas first: those before day keys have other payloads.
        for number in range(len(migrations), 0, -1):
            compared = upgrade_one(site, migrations[:number], f"past{number}")
            print(f"filled PostgreSQL of {migrations[number - 1][0]}: {compared} rows are as they were after the upgrade, and are served")


def upgrade_one(site, schema, database):
    """The number of compared rows."""
    site.make_past(database, schema)
    tables = site.tables(database)
    before = site.rows(tables, database)
    site.environment["SEALPOST_DATABASE"] = site.cluster.url.replace(f"/{postgresql.NAME}?", f"/{database}?")
    site.call("migrate", "--config", site.configuration)
    changed = differences(before, site.rows(tables, database))
    require(not changed, f"the upgrade from {schema[-1][0]} has changed {changed}")
    require("is intact and up to date" in (found := site.call("doctor", "--config", site.configuration)), f"migrated, but: {found}")
    site.call("audit", "verify", "--config", site.configuration)
    # The comparison must find a changed value.
    site.cluster.query("update recipient set change = change + 1000 where fetched_at is not null", database)
    require(differences(before, site.rows(tables, database)) == ["recipient"], "a row that was changed is not found")
    site.cluster.query("update recipient set change = change - 1000 where fetched_at is not null", database)
    site.use(database)
    return sum(map(len, before.values()))


def differences(before, after):
    """The tables whose rows differ."""
    return [table for table in before if before[table] != after.get(table)]
