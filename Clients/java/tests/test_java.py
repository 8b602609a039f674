"""Makes the package, and runs the tests in Java and the README's code with it and the real server."""

import collections
import contextlib
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
import urllib.error
import urllib.request
import xml.dom.minidom
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[3]
CLIENT = ROOT / "Clients/java"
sys.path += [str(ROOT / "scripts"), str(ROOT / "Clients/python")]

from sealpost import end_to_end
from sealpost_e2e import api, listening, processes, receiver, rig, tls

PROGRAM = pathlib.Path(os.environ.get("SEALPOST_PROGRAM", ROOT / ".build/debug/sealpost"))
# The number of notifications that are sent in batches through the proxy.
MANY = int(os.environ.get("SEALPOST_TEST_MANY", 1200))
# The JVM's second compiler would cost a short run more than it gains.
JAVAC = ["javac", "-J-XX:TieredStopAtLevel=1", "-J-XX:+UseSerialGC", "-encoding", "UTF-8"]
OPTIONS = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Dfile.encoding=UTF-8"]
# Another JVM than the compiler's, with its options.
JAVA = [*shlex.split(os.environ.get("SEALPOST_JAVA", "java")), *OPTIONS]


def build():
    """The folder with the package and the compiled tests. Each state of the files and of the compiler is built once."""
    sources = [path for folder in (CLIENT, ROOT / "Clients/android") for path in sorted(folder.rglob("*.java"))]
    sources += [ROOT / name for name in ("LICENSE", "scripts/make-maven", "Sources/PushApplication/Version.swift")]
    compiler = pathlib.Path(shutil.which("javac")).resolve()
    state = hashlib.sha256(f"{compiler} {compiler.stat().st_mtime}\n".encode())
    for path in sources:
        state.update(f"{path.relative_to(ROOT)} {hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    built = ROOT / ".build-java" / state.hexdigest()[:16]
    if not built.exists():
        built.parent.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=built.parent) as name:
            made = pathlib.Path(name) / "made"
            subprocess.run([ROOT / "scripts/make-maven", "backend", made, "--group", "org.example"], check=True, capture_output=True)
            jar = next(made.rglob("*[0-9].jar"))
            tests = (CLIENT / "tests").rglob("*.java")
            subprocess.run([*JAVAC, "--release", "11", "-Xlint:all", "-Werror", "-cp", jar, "-d", made / "tests", *tests], check=True)
            # Another process may have been faster.
            with contextlib.suppress(OSError):
                made.rename(built)
    os.utime(built)
    # Keeps the five states that were used last.
    with contextlib.suppress(FileNotFoundError):
        for old in sorted(built.parent.glob("[0-9a-f]" * 16), key=os.path.getmtime)[:-5]:
            shutil.rmtree(old)
    return built


class JavaTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        holder = tempfile.TemporaryDirectory(prefix="sealpost-java-")
        cls.addClassCleanup(holder.cleanup)
        cls.folder, built = pathlib.Path(holder.name), build()
        cls.tests, cls.jar = built / "tests", next(built.rglob("*[0-9].jar"))
        cls.package = cls.jar.parent

    def run_tests(self, *classes, **environment):
        ended = subprocess.run(
            [*JAVA, "-cp", f"{self.jar}:{self.tests}", "sealpost.backend.Tests", *classes],
            env=os.environ | environment, capture_output=True, text=True,
        )
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("passed", ended.stdout)

    def serve(self, **settings):
        """A server with the devices' users bob and carol, and the publisher paul. Returns it and paul's token."""
        server = rig.Rig(PROGRAM, "publisher", **settings)
        self.addCleanup(server.__exit__)
        for name in ("bob", "carol"):
            server.add_user(name)
        server.add_user("paul", "publisher")
        server.add_user("root", "admin")
        server.serve()
        connection = server.connect()
        token = api.ask(connection, "POST", "/api/sessions", {"Scopes": ["send", "fetch", "manage"]}, api.basic("paul"))["Token"]
        for _ in range(3):
            device = api.ask(connection, "POST", "/api/register", credentials=api.basic("carol"))
            api.ask(connection, "PUT", f"/api/register/{device}", {"Platform": "stream", "Tags": ["three"]}, api.basic("carol"))
        # The last one has keys for end-to-end encryption.
        account = api.ask(connection, "GET", "/api/sessions/current", credentials=api.basic("carol"))["Account"]
        self.agreement = end_to_end.SenderKey.generate()._private
        text = end_to_end.device_key(account, end_to_end.SenderKey.generate()._private, self.agreement, 1_700_000_000)
        api.ask(connection, "PUT", f"/api/devices/{device}/key", {"Key": text}, api.basic("carol"))
        self.device_key = end_to_end.DeviceKey(text)
        self.key = api.ask(connection, "GET", "/.well-known/sealpost-keys")["keys"][0]["x"]
        connection.close()
        return server, token

    def received(self, server, name, key=""):
        """The payloads in a user's list, with their numbers."""
        connection, payloads, cursor = server.connect(), collections.Counter(), ""
        while True:
            page = api.ask(connection, "GET", f"/api/notifications?limit=500{key}{cursor}", credentials=api.basic(name))
            payloads.update(item["Payload"] for item in page["Notifications"])
            cursor = f"&cursor={page['Cursor']}"
            if not page["More"]:
                connection.close()
                return payloads

    def test_the_package_has_the_library_for_java_11_and_nothing_else(self):
        text = (ROOT / "Sources/PushApplication/Version.swift").read_text()
        version = re.search(r'current = "([0-9.]+)"', text)[1]
        stem = f"sealpost-backend-{version}"
        pom = xml.dom.minidom.parse(str(self.package / f"{stem}.pom"))
        texts = [pom.getElementsByTagName(name)[0].firstChild.data for name in ("groupId", "artifactId", "version", "packaging")]
        self.assertEqual(texts, ["org.example", "sealpost-backend", version, "jar"])
        scopes = {scope.firstChild.data for scope in pom.getElementsByTagName("artifactId")}
        self.assertEqual(scopes, {"sealpost-backend", "jspecify"})
        with zipfile.ZipFile(self.jar) as jar:
            names = jar.namelist()
            # The version of the classes' form is in bytes 4 to 7 (JVMS 4.1).
            self.assertEqual({jar.read(name)[7] for name in names if name.endswith(".class")}, {55})
        others = [name for name in names if not re.fullmatch(r"sealpost/backend/[A-Za-z$0-9-]+\.class", name)]
        self.assertEqual(others, ["META-INF/MANIFEST.MF", "META-INF/LICENSE"])
        for kind, name in (("sources", "sealpost/backend/Json.java"), ("javadoc", "sealpost/backend/Client.html")):
            with zipfile.ZipFile(self.package / f"{stem}-{kind}.jar") as archive:
                self.assertIn(name, archive.namelist())

    def test_the_example_prints_its_usage_without_arguments(self):
        # A JVM without a compiler cannot run a source file.
        ended = subprocess.run(["java", *OPTIONS, "-cp", self.jar, ROOT / "examples/Publish.java"], capture_output=True, text=True)
        self.assertEqual((ended.returncode, ended.stderr), (64, "usage: Publish.java SERVER USER TEXT...\n"))

    def test_calls_vectors_and_webhooks(self):
        slow = ["ThousandDevicesTests"] if MANY > 1200 else []
        self.run_tests("CallTests", "EndToEndTests", "VectorTests", "WebhookTests", *slow, SEALPOST_VECTORS=str(ROOT / "docs/evidence/vectors"))

    def test_the_real_server_gets_each_notification_once(self):
        server, token = self.serve(EVENTS_KEEP="7d")
        proxy, sender = listening.LossyProxy(server.port), end_to_end.SenderKey.generate()
        self.addCleanup(proxy.close)
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = tls.make_certificate(pathlib.Path(folder))
            with rig.Rig(PROGRAM, "publisher", SERVER_TLS_CERTIFICATE=certificate, SERVER_TLS_PRIVATEKEY=key) as secure:
                secure.serve()
                self.run_tests(
                    "ServerTests", SEALPOST_SERVER=f"http://127.0.0.1:{server.port}", SEALPOST_PROXY=f"http://127.0.0.1:{proxy.port}",
                    SEALPOST_MANY=str(MANY), SEALPOST_TOKEN=token, SEALPOST_KEY=self.key, SEALPOST_TLS_SERVER=f"https://localhost:{secure.port}",
                    SEALPOST_CERTIFICATE=str(certificate), SEALPOST_PASSWORD=api.PASSWORD,
                    SEALPOST_SENDER=sender.pem().decode(),
                )
        self.assertGreater(proxy.cuts, 40)
        expected = [f"single {number}" for number in range(200)] + [f"many {number}" for number in range(MANY)]
        self.assertEqual(self.received(server, "bob"), collections.Counter(expected))
        self.assertEqual(self.received(server, "carol")["once"], 1)
        payloads = [text for text in self.received(server, "carol", f"&key={self.device_key.id}") if text.startswith("sealpost-e2e.")]
        opened = [end_to_end.open_payload(text, self.device_key, self.agreement, [sender.text])[0] for text in payloads]
        self.assertEqual(sorted(opened), ['"only for carol \u00fc"', '"repeated"'])

    def test_messages_of_a_real_server_are_verified(self):
        server = rig.Rig(PROGRAM, "publisher")
        self.addCleanup(server.__exit__)
        certificate, key = tls.make_certificate(server.folder)
        hook = receiver.Receiver(certificate, key, receiver.accept)
        self.addCleanup(hook.close)
        secret = receiver.write_secret(server.folder / "hook.secret")
        own = f"url: 'https://localhost:{hook.port}/', secretFile: {secret}, caFile: {certificate}"
        (server.folder / "sealpost.yaml").write_text(f"senders: {{hook: {{type: webhook, {own}}}}}\nevents: {{webhook: {{{own}}}}}\n")
        server.serve()
        connection = server.connect()
        device = api.ask(connection, "POST", "/api/register")
        api.ask(connection, "PUT", f"/api/register/{device}", {"Platform": "hook", "Handle": "room-7"})
        code = hook.code("room-7")
        api.ask(connection, "POST", f"/api/register/{device}/confirmation", code)
        id = api.post(connection, {"Payload": "x"})
        connection.close()
        lines = [f"confirmation {code}", f"push {id} room-7", f"accepted {id}"]
        processes.wait_until(lambda: any(f'"Notification":{id}'.encode() in request for request in list(hook.requests)), 60, "the event")
        names = [self.folder / f"{number}.request" for number in range(len(hook.requests))]
        for name, request in zip(names, hook.requests):
            name.write_bytes(request)
        printed = processes.run(*JAVA, "-cp", f"{self.jar}:{self.tests}", "sealpost.backend.Received", secret, *names)
        self.assertLessEqual(set(lines), set(printed.splitlines()))

    def test_the_code_of_the_readme_runs(self):
        server, token = self.serve(EVENTS_KEEP="7d")
        blocks = re.findall(r"```java\n(.*?)```", (CLIENT / "README.md").read_text(), re.DOTALL)
        self.assertLessEqual(len(blocks[0].split("\n")), 6, "a first message has at most five lines")
        code = "".join([*blocks, 'System.out.println("port " + receiver.getAddress().getPort());'])
        line = re.compile(r"^import .*;\n", re.MULTILINE)
        imports, body = "".join(line.findall(code)), line.sub("", code)
        # Carol has a device with keys.
        body = body.replace('user("alice")', 'user("carol")')
        body = body.replace("https://push.example.com", f"http://127.0.0.1:{server.port}").replace('"127.0.0.1", 8000', '"127.0.0.1", 0')
        folder = self.folder / "guide"
        folder.mkdir()
        (folder / "hook.secret").write_text("whsec_" + "A" * 32)
        (folder / "Guide.java").write_text(
            f"{imports}class Guide {{ public static void main(String[] arguments) throws Exception {{\n{body}\n}} }}"
        )
        subprocess.run([*JAVAC, "--release", "11", "-Xlint:all,-try", "-Werror", "-cp", self.jar, "Guide.java"], cwd=folder, check=True)
        process = server.start(
            [*JAVA, "-cp", f"{self.jar}:.", "Guide"], cwd=folder, env=os.environ | {"SEALPOST_TOKEN": token}, stdout=subprocess.PIPE,
        )
        text = ""
        while "port " not in text and (line := process.stdout.readline()):
            text += line
        self.assertIn("port ", text, text or process.stderr.read())
        self.assertEqual((folder / "sender.pem").stat().st_mode & 0o777, 0o600)
        self.assertEqual(list(end_to_end.Pins(json.loads((folder / "pins.json").read_text())).values), ["carol"])
        self.assertRegex(text, r"notification \d+ reaches 1 users on 3 devices\n")
        self.assertRegex(text, r"sent \d+\nrefused: unknown-user\n")
        self.assertRegex(text, r"\[carol: first \S{22} \([0-9 ]{35}\)\]\nthe app trusts \S{87}\n")
        request = urllib.request.Request(f"http://127.0.0.1:{text.split()[-1]}/", b"{}", {"webhook-id": "m"})
        with self.assertRaises(urllib.error.HTTPError) as caught:
            urllib.request.urlopen(request)
        self.assertEqual(caught.exception.code, 401)


if __name__ == "__main__":
    unittest.main()
