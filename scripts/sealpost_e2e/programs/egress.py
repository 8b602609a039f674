"""Tests sending through a real Squid that requires a password and allows only the providers' ports.

Simulators stand in for APNs, FCM and WNS. With `proxy.deviceHosts`, all pushes go through Squid; without it, the server calls the
channels of WNS directly, as devices name them. While Squid is down, or the password is wrong, pushes wait, and then all arrive,
once. `sealpost doctor --online` reaches each endpoint through Squid, and reports a refusal by Squid.
"""

import contextlib
import pathlib
import re
import subprocess
import tempfile
import time

from sealpost_e2e import outbox, processes, require

DEVICES = 200
NAME, PASSWORD = "sealpost", "per%cent:colon"
HELPER = "/usr/lib/squid/basic_ncsa_auth"


def run(options):
    with outbox.Outbox(options.sealpost) as site, Squid(site) as squid:
        site.simulate(channels=DEVICES)
        base = site.configuration.read_text()
        entry = lambda platform: re.search(rf"^  {platform}: .*?\}}\n", base, re.M | re.S)[0]
        ports = {platform: int(re.search(r"localhost:(\d+)", entry(platform))[1]) for platform in ("apns", "fcm", "wns")}
        squid.start(ports.values())
        with site.database() as database:
            for platform in ports:
                outbox.add_devices(database, platform, DEVICES, channels=site.channels())
        secret = site.folder / "proxy.secret"
        secret.write_text(f"{NAME}:{PASSWORD}\n")
        secret.chmod(0o600)

        def configure(**proxy):
            settings = {"url": f'"http://127.0.0.1:{squid.port}"', "credentialsFile": secret} | proxy
            text = ", ".join(f"{key}: {value}" for key, value in settings.items())
            site.configuration.write_text(f"{base}proxy: {{{text}}}\n")

        configure(deviceHosts="true")
        send(site, 1)
        report("all through the proxy", arrived(site), squid.take(), ports)

        configure()
        # The operator names the host of WNS's tokens: that of its port in the simulation.
        send(site, 2)
        report("devices' hosts directly", arrived(site), squid.take(), ports, tunnels_of_wns=1)

        squid.stop()
        daemon, _ = site.serve()
        post(site)
        await_tries(site, daemon)
        expect(site, 2)
        squid.start(ports.values())
        site.wait_until_settled(180, "the pushes after the proxy's return", daemon)
        processes.terminate(daemon)
        expect(site, 3)
        report("after the proxy was down", arrived(site), squid.take(), ports, tunnels_of_wns=1)

        secret.write_text(f"{NAME}:wrong\n")
        daemon, _ = site.serve()
        post(site)
        processes.wait_until(squid.refusals, 60, "a refusal", daemon)
        await_tries(site, daemon)
        expect(site, 3)
        findings = doctor(site)
        require("the proxy refuses the tunnel with 407" in findings, f"doctor does not tell of the wrong password:\n{findings}")
        secret.write_text(f"{NAME}:{PASSWORD}\n")
        processes.terminate(daemon)
        daemon, _ = site.serve()
        site.wait_until_settled(180, "the pushes after the password was mended", daemon)
        processes.terminate(daemon)
        expect(site, 4)
        report("after the wrong password", arrived(site), squid.take(), ports, tunnels_of_wns=1)

        findings = doctor(site)
        reached = [line for line in findings.splitlines() if "answers with" in line]
        require(len(reached) >= 4, f"doctor does not reach the providers through the proxy:\n{findings}")
        print(f"doctor: {len(reached)} endpoints reached through the proxy; a wrong password is told")


def send(site, times):
    """Posts to all devices, waits until their pushes end, and expects this number at each device."""
    daemon, _ = site.serve()
    post(site)
    site.wait_until_settled(120, "the pushes", daemon)
    processes.terminate(daemon)
    expect(site, times)


def expect(site, times):
    found = arrived(site)
    require(set(found.values()) == {times * DEVICES}, f"expected {times} pushes to each of {DEVICES} devices: {found}")


def await_tries(site, daemon):
    """Waits until the daemon has tried a push of each platform."""
    query = "select count(distinct lane) from push where settled_at is null and attempts > 0"
    processes.wait_until(lambda: site.read(query) == 3, 60, "a try of each platform", daemon)


def post(site):
    site.post({"Payload": "news", "To": ["news"]})


def arrived(site):
    """The pushes that the simulators have accepted, by platform."""
    # They write their log each second.
    time.sleep(1.2)
    counts = dict.fromkeys(("apns", "fcm", "wns"), 0)
    for _, platform, _, outcome, _ in site.received():
        counts[platform] += outcome == "200"
    return counts


def doctor(site):
    command = [site.sealpost, "doctor", "--online", "--config", site.configuration]
    done = subprocess.run(command, cwd=site.folder, env=site.environment, capture_output=True, text=True)
    return done.stdout + done.stderr


def report(what, counts, tunnels, ports, tunnels_of_wns=None):
    by_platform = {platform: tunnels.count(port) for platform, port in ports.items()}
    require(all(by_platform.values()), f"{what}: tunnels {by_platform}, expected some of each platform")
    require(tunnels_of_wns is None or by_platform["wns"] <= tunnels_of_wns, f"{what}: channels were called through the proxy: {by_platform}")
    print(f"{what}: {sum(counts.values())} pushes so far, tunnels opened: {by_platform}")


class Squid:
    """A Squid that requires a password, and tunnels only to listed ports."""

    def __init__(self, site):
        self.site = site
        self.port = processes.free_port()
        self.process = None
        self.read = 0

    def __enter__(self):
        # Squid drops its privileges at the start, and then cannot enter the site's folder.
        self.holder = tempfile.TemporaryDirectory(prefix="sealpost-squid-")
        self.folder = pathlib.Path(self.holder.name)
        self.folder.chmod(0o777)
        self.log = self.folder / "access.log"
        digest = processes.run("openssl", "passwd", "-apr1", PASSWORD).strip()
        (self.folder / "passwords").write_text(f"{NAME}:{digest}\n")
        return self

    def __exit__(self, *_):
        self.stop()
        self.holder.cleanup()

    def start(self, ports):
        configuration = self.folder / "squid.conf"
        configuration.write_text(f"""
http_port 127.0.0.1:{self.port}
auth_param basic program {HELPER} {self.folder}/passwords
auth_param basic credentialsttl 1 minute
acl known proxy_auth REQUIRED
acl providers port {" ".join(map(str, ports))}
acl tunnels method CONNECT
http_access deny !tunnels
http_access deny !providers
http_access allow known
http_access deny all
visible_hostname localhost
pid_filename none
cache_log /dev/null
access_log stdio:{self.log}
buffered_logs off
netdb_filename none
coredump_dir none
shutdown_lifetime 0 seconds
memory_cache_shared off
""")
        self.process = self.site.start(["squid", "-N", "-d", "1", "-f", configuration])
        processes.wait_for_line(self.process, "Accepting")

    def stop(self):
        processes.kill(self.process)

    def lines(self):
        return self.log.read_text().splitlines() if self.log.exists() else []

    def refusals(self):
        """The number of refused passwords since the last `take`."""
        return sum("/407 " in line for line in self.lines()[self.read:])

    def take(self):
        """The ports of the tunnels that have ended since the last call; Squid logs a tunnel at its end."""
        with contextlib.suppress(SystemExit):
            processes.wait_until(lambda: len(self.lines()) > self.read, 10, "a tunnel's end")
        time.sleep(1)
        lines = self.lines()
        new, self.read = lines[self.read:], len(lines)
        return [int(found[1]) for line in new if "/200 " in line and (found := re.search(r"CONNECT localhost:(\d+)", line))]
