"""A private network with honest push services and hostile hosts, each at its own address."""

import os
import pathlib
import sys

from sealpost_e2e import processes, rig

# The host at each address: see `receivers`. The daemon requires public addresses.
BEHAVIOURS = ("honest", "hangs", "silent", "endless")
ADDRESSES = {name: f"93.184.216.{34 + number}" for number, name in enumerate(BEHAVIOURS)}
# Each behaviour is a push service, and a host of channels for Windows.
PUSH, WNS, HOOKS = "push.example", "wns.example", "hooks.example"
NAMES = {f"{name}.{domain}": address for domain in (PUSH, WNS) for name, address in ADDRESSES.items()}


def enter(program, arguments, addresses=ADDRESSES.values()):
    """Restarts the program in a network namespace, and there adds these addresses."""
    if "--inside" in arguments:
        return make(addresses)
    command = ["unshare", "--user", "--map-root-user", "--mount", "--net", sys.executable, rig.ROOT / "scripts/e2e"]
    os.execvp("unshare", [str(word) for word in [*command, "run", program, *arguments, "--inside"]])


def make(addresses):
    processes.run("ip", "link", "set", "lo", "up")
    for address in addresses:
        length, options = ("128", ["nodad"]) if ":" in address else ("32", [])
        processes.run("ip", "address", "add", f"{address}/{length}", "dev", "lo", *options)


def name_hosts(folder):
    hosts = {"localhost": "127.0.0.1", HOOKS: ADDRESSES["honest"]} | NAMES
    lay_over(folder, {"hosts": "".join(f"{address} {name}\n" for name, address in hosts.items()), "nsswitch.conf": "hosts: files\n"})


def lay_over(folder, files):
    """Mounts files over those of /etc, in this namespace only."""
    for name, text in files.items():
        (pathlib.Path(folder) / name).write_text(text)
        processes.run("mount", "--bind", pathlib.Path(folder) / name, f"/etc/{name}")
