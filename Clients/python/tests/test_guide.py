"""The code of docs/backends.md and of the README runs against the real server, from top to bottom."""

import contextlib
import io
import json
import os
import pathlib
import re
import sys
import tempfile
import threading
import time
import unittest
from unittest import mock

import sealpost
from sealpost import end_to_end
from test_server import PROGRAM, ROOT, api, rig
from test_webhooks import OLD, PUSH, signed


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


PRINTED = {
    "docs/backends.md": "reaches 1 users on 1 devices", "Clients/python/README.md": r"^\d+ 1\n", "docs/end-to-end.md": r"(?s)kind='first'.*bob: skipped\nSent\(id=",
}


def with_device(server):
    """A device of alice with keys for end-to-end encryption."""
    connection = server.connect()
    ask = lambda method, path, value=None: api.ask(connection, method, path, value, api.basic("alice"))
    session = ask("GET", "/api/sessions/current")
    id = ask("POST", "/api/register")
    ask("PUT", f"/api/register/{id}", {"Platform": "stream"})
    ask("PUT", f"/api/devices/{id}/key", {"Key": api.device_key(session["Account"])})
    connection.close()


class GuideTests(unittest.TestCase):
    def test_the_version_is_that_of_the_server(self):
        self.assertIn(f'"{sealpost.__version__}"', (ROOT / "Sources/PushApplication/Version.swift").read_text())

    @unittest.skipUnless(PROGRAM.exists(), f"there is no server in {PROGRAM}")
    def test_each_block_runs(self):
        with rig.Rig(PROGRAM, "publisher", EVENTS_KEEP="7d") as server:
            server.add_user("paul", "publisher")
            server.add_user("bob")
            server.serve()
            connection = server.connect()
            token = api.ask(connection, "POST", "/api/sessions", {"Scopes": ["send", "fetch"]}, api.basic("paul"))["Token"]
            connection.close()
            folder = tempfile.mkdtemp(dir=server.folder)
            secret = pathlib.Path(folder, "hook.secret")
            secret.write_text(OLD)
            with_device(server)
            sender = pathlib.Path(folder, "sender.pem")
            for page in ("docs/backends.md", "Clients/python/README.md", "docs/end-to-end.md"):
                names, output = {}, io.StringIO()
                for block in blocks(page):
                    code = block.replace("https://push.example.com", f"http://127.0.0.1:{server.port}").replace("hook.secret", str(secret))
                    code = code.replace("sender.pem", str(sender)).replace("pins.json", str(pins := pathlib.Path(folder, f"{page.split('/')[1]}.json")))
                    with mock.patch.dict(os.environ, SEALPOST_TOKEN=token, DEVICE_TOKEN=token), contextlib.redirect_stdout(output):
                        exec(code, names)
                for thread in threading.enumerate():
                    if "(prepare)" in thread.name:
                        thread.join()
                names["client"].close()
                if page == "Clients/python/README.md":
                    self.assertEqual(sender.stat().st_mode & 0o777, 0o600)
                if "encryption" in names:
                    self.assertEqual(list(json.loads(pins.read_text())), ["alice"])
                self.assertRegex(output.getvalue(), PRINTED[page])
                if "read" in names:
                    payload = names["encryption"].encrypt("x", [end_to_end.DeviceRecipient("alice", names["key"])])
                    self.assertEqual(names["read"](payload, seen := set()), "x")
                    self.assertRaisesRegex(end_to_end.Unreadable, "replayed", names["read"], payload, seen)
                if "receive" in names:
                    with contextlib.redirect_stdout(output):
                        headers = signed(OLD, at=int(time.time()))
                        self.assertEqual((names["receive"](headers, PUSH), names["receive"](headers, b"{}")), (204, 401))
                    self.assertIn("wake abcd for 7", output.getvalue())


if __name__ == "__main__":
    unittest.main()
