"""The code of docs/backends.md and of the README runs against the real server, from top to bottom."""

import contextlib
import io
import os
import pathlib
import re
import sys
import tempfile
import time
import unittest
from unittest import mock

import sealpost
from test_server import PROGRAM, ROOT, api, rig
from test_webhooks import OLD, PUSH, signed


def blocks(page):
    return re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)


class GuideTests(unittest.TestCase):
    def test_the_version_is_that_of_the_server(self):
        self.assertIn(f'"{sealpost.__version__}"', (ROOT / "Sources/PushApplication/Version.swift").read_text())

    @unittest.skipUnless(PROGRAM.exists(), f"there is no server in {PROGRAM}")
    def test_each_block_runs(self):
        with rig.Rig(PROGRAM, "publisher", EVENTS_KEEP="7d") as server:
            server.add_user("paul", "publisher")
            server.serve()
            connection = server.connect()
            token = api.ask(connection, "POST", "/api/sessions", {"Scopes": ["send", "fetch"]}, api.basic("paul"))["Token"]
            connection.close()
            folder = tempfile.mkdtemp(dir=server.folder)
            secret = pathlib.Path(folder, "hook.secret")
            secret.write_text(OLD)
            for page in ("docs/backends.md", "Clients/python/README.md"):
                names, output = {"token": token}, io.StringIO()
                for block in blocks(page):
                    code = block.replace("https://push.example.com", f"http://127.0.0.1:{server.port}").replace("hook.secret", str(secret))
                    with mock.patch.dict(os.environ, SEALPOST_TOKEN=token), contextlib.redirect_stdout(output):
                        exec(code, names)
                names["client"].close()
                self.assertRegex(output.getvalue(), "reaches 1 users on 0 devices" if page.startswith("docs") else r"^\d+ 1\n$")
                if "receive" in names:
                    with contextlib.redirect_stdout(output):
                        headers = signed(OLD, at=int(time.time()))
                        self.assertEqual((names["receive"](headers, PUSH), names["receive"](headers, b"{}")), (204, 401))
                    self.assertIn("wake abcd for 7", output.getvalue())


if __name__ == "__main__":
    unittest.main()
