"""A fresh Debian in a folder, from the archives of this machine's apt, to test the package in."""

import os
import shutil

from sealpost_e2e import processes, rig

TIMEOUT = 600  # Timeouts in seconds of an apt-get step and of a build.
# Runs a command in a namespace, so that all processes that it starts end with it.
CAGE = ("unshare", "--mount", "--mount-proc", "--pid", "--fork", "--kill-child")


def make_root(path, *packages):
    """The smallest Debian that has apt, and these packages."""
    options = [f"--include={','.join(packages)}"] if packages else []
    processes.run(*CAGE, "mmdebstrap", "--quiet", "--variant=minbase", *options, "", path, *sources(), timeout=TIMEOUT)
    shutil.copy("/etc/resolv.conf", path / "etc/resolv.conf")


def sources():
    """Debian's archives, as this machine's apt has them."""
    form = "deb $(REPO_URI) $(RELEASE) $(COMPONENT)"
    lines = processes.run("apt-get", "indextargets", "--format", form, "Created-By: Packages", "Origin: Debian").split("\n")
    return list(dict.fromkeys(filter(None, lines)))


def environment():
    """An environment with only this machine's settings for the archives."""
    kept = {name: os.environ[name] for name in ("http_proxy", "https_proxy", "no_proxy") if name in os.environ}
    return kept | {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root",
        "LC_ALL": "C.UTF-8", "DEBIAN_FRONTEND": "noninteractive"}


def build_package(program, folder, version, prefix=(), **options):
    """Makes the package of an existing executable. Returns its file."""
    processes.run(
        *CAGE, *prefix, "make", "-C", rig.ROOT, "deb", f"PROGRAM={program}", f"DEB_FOLDER={folder}", f"VERSION={version}",
        timeout=TIMEOUT, **options,
    )
    [package] = folder.glob(f"sealpost_{version}_*.deb")
    return package
