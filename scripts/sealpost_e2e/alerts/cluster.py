"""Faults of two daemons with PostgreSQL: of a server, a replica, the database and the day keys."""

import contextlib
import datetime
import functools
import signal
import threading
import time

from sealpost_e2e import api, crew, postgresql, processes, several
from sealpost_e2e.alerts import stand_in
from sealpost_e2e.alerts import watch as watching

# Clients that write while the database confirms nothing, each on its own connection; and clients that fetch.
WRITERS, FETCHERS = 300, 4
LOCKED = 1.2  # Seconds of a table's lock: shorter than the daemon's timeout.


def run(options, left_out):
    with postgresql.Cluster() as cluster, several.Site(options.sealpost, cluster, 2) as site:
        site.add_user("ada", "admin")
        site.simulate()
        with watching.Watch(site, site.ports, left_out) as watch:
            site.begin_all()
            watching.watch_quiet_daemons(site, watch)
            lose_server(site, watch)
            lose_database(cluster, watch)
            lose_standby(cluster, watch)
            lock_table(site, cluster, watch)
            confirm_nothing(site, cluster, watch)
            leave_late_report(cluster, watch)
            keep_old_day_key(site, watch)
        return watch.fired


def lose_server(site, watch):
    site.kill(1)
    watch.await_firing("SealpostServersMissing")
    watch.await_firing("SealpostDown", instance=watch.targets[1])
    site.begin(1)
    watch.await_clear("SealpostServersMissing", "SealpostDown")


def lose_database(cluster, watch):
    cluster.stop(signal.SIGINT)
    cluster.start()
    watch.await_both("SealpostDatabaseConnectionsLost")


def lose_standby(cluster, watch):
    """A replica freezes during many writes, resumes, and dies."""
    with postgresql.Standby(cluster) as standby:
        processes.wait_until(lambda: watch.value("max(sealpost_database_standbys)") == 1, 60, "the standby", standby.server)
        standby.freeze()
        for _ in range(10):
            cluster.query("select pg_logical_emit_message(false, 'e2e', repeat('x', 30000000))")
        watch.await_firing("SealpostStandbyBehind")
        standby.thaw()
        watch.await_clear("SealpostStandbyBehind")
        standby.kill()
        watch.await_firing("SealpostNoStandby")
        standby.start()
        watch.await_clear("SealpostNoStandby")
        standby.stop(signal.SIGINT)


def lock_table(site, cluster, watch):
    """Another program locks a table again and again, so that each fetch waits."""
    connection = api.connect(site.ports[0])
    id = api.post(connection, {"Payload": "x", "To": ["username:alice"]})
    ends = threading.Event()

    def fetch(number):
        connection = api.connect(site.ports[number % 2])
        credentials = api.sign_in(connection, "alice")
        while not ends.is_set():
            with contextlib.suppress(api.UnexpectedAnswer):  # A fetch may time out on a busy machine.
                api.fetch(connection, id, credentials=credentials)

    def lock():
        with postgresql.Session(cluster) as session:
            while not ends.is_set():
                session.query("begin; lock table recipient in access exclusive mode")
                time.sleep(LOCKED)
                session.query("commit")

    with crew.Crew(*(functools.partial(fetch, number) for number in range(FETCHERS)), lock, ends=ends):
        watch.await_firing("SealpostFetchesSlow")
    watch.await_clear("SealpostFetchesSlow")


def confirm_nothing(site, cluster, watch):
    """A missing synchronous replica stops all commits while many clients write."""
    ends = threading.Event()
    credentials = api.sign_in(api.connect(site.ports[0]), "alice")

    def write():
        connection = api.connect(site.ports[0])
        while not ends.is_set():
            try:
                api.ask(connection, "POST", "/api/register", credentials=credentials, expected=[200, 201, 409, 503])
            except (OSError, api.UnexpectedAnswer):
                connection.close()

    cluster.query("alter system set synchronous_standby_names = 'missing'")
    cluster.query("select pg_reload_conf()")
    with crew.Crew(*[write] * WRITERS, ends=ends):
        try:
            watch.await_firing("SealpostDatabaseStalled")
            watch.await_firing("SealpostDatabaseSlow")
        finally:
            ends.set()
            cluster.query("alter system reset synchronous_standby_names")
            cluster.query("select pg_reload_conf()")
    watch.await_clear("SealpostDatabaseStalled", "SealpostDatabaseSlow")


def leave_late_report(cluster, watch):
    """A stopped server has left the report of its day keys in the database."""
    day = (datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(days=5)).timestamp() // 86400
    cluster.query(f"insert into day_key_holder (place, day, at) values ('off:/var/lib/sealpost/day-keys', {day:.0f}, {time.time() * 1000:.0f})")
    watch.await_firing("SealpostDayKeysLate")
    cluster.query("delete from day_key_holder where place like 'off:%'")
    watch.await_clear("SealpostDayKeysLate")


def keep_old_day_key(site, watch):
    """A day passes without a new key; the stand-in reports it."""
    with contextlib.closing(stand_in.StandIn(site.ports[0])) as target:
        watch.configure([f"127.0.0.1:{target.port}"])
        day = (int(time.time()) // 86400 - 2) * 86400
        stand_in.fire(watch, target, "SealpostDayKeysKept", "sealpost_day_keys_oldest_timestamp_seconds", day)
    watch.configure(watch.targets)
