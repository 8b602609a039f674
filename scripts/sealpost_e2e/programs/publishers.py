"""Runs the examples in Go, C# and Java through a proxy that cuts three of ten answers: each text arrives once."""

import collections
import os
import pathlib
import subprocess
import tempfile

from sealpost_e2e import api, listening, processes, require, rig

EXAMPLES = rig.ROOT / "examples"
TEXTS = 100


def run(options):
    with tempfile.TemporaryDirectory(prefix="sealpost-publishers-") as name:
        commands = compiled(pathlib.Path(name))
        with rig.Rig(options.sealpost, "publisher") as server:
            for language in commands:
                server.add_user(language)
            server.add_user("paul", "publisher")
            server.serve()
            connection = server.connect()
            token = api.ask(connection, "POST", "/api/sessions", {"Scopes": ["send"]}, api.basic("paul"))["Token"]
            for language, command in commands.items():
                proxy = listening.LossyProxy(server.port)
                address = f"http://127.0.0.1:{proxy.port}"
                texts = [f'{language} "{number}" é' for number in range(TEXTS)]
                sent = publish(command, address, token, language, *texts)
                require(sent.returncode == 0 and len(set(sent.stdout.split())) == TEXTS, f"{language}: {sent.stdout}{sent.stderr}")
                page = api.ask(connection, "GET", "/api/notifications?limit=500", credentials=api.basic(language))
                received = collections.Counter(item["Payload"] for item in page["Notifications"])
                require(received == collections.Counter(texts), f"{language}: received {received}")
                require(proxy.cuts >= TEXTS / 10, f"{language}: the proxy has cut only {proxy.cuts} answers")
                refused = publish(command, address, token, "nobody", "x")
                if refused.returncode == 0 or "urn:sealpost:problem:unknown-user" not in refused.stderr:
                    raise SystemExit(f"{language}: {refused.stdout}{refused.stderr}")
                require("repeat" not in refused.stderr, f"{language}: {refused.stderr}")
                expression = publish(command, address, token, f"{language} || username:paul", "x")
                require(expression.returncode != 0 and "not the name of a user" in expression.stderr, f"{language}: {expression.stdout}{expression.stderr}")
                clear = publish(command, "http://192.0.2.1", token, language, "x")
                require(clear.returncode != 0 and "http sends the token in clear" in clear.stderr, f"{language}: {clear.stdout}{clear.stderr}")
                proxy.close()
                print(f"{language}: {TEXTS} texts arrived once, {proxy.cuts} answers were cut", flush=True)


def compiled(folder):
    """The command of each example, by language."""
    environment = os.environ | {"GOCACHE": str(folder / "cache"), "GO111MODULE": "off"}
    subprocess.run(["go", "vet", EXAMPLES / "publish.go"], env=environment, check=True)
    subprocess.run(["go", "build", "-o", folder / "publish", EXAMPLES / "publish.go"], env=environment, check=True)
    references = "-r:System.Net.Http,System.Runtime.Serialization"
    subprocess.run(["mcs", "-warnaserror", references, f"-out:{folder}/Publish.exe", EXAMPLES / "Publish.cs"], check=True)
    package = processes.run(rig.ROOT / "scripts/make-maven", "backend", folder).strip()
    library = next(pathlib.Path(package).glob("*[0-9].jar"))
    return {
        "go": [folder / "publish"], "csharp": ["mono", folder / "Publish.exe"], "java": ["java", "-cp", library, EXAMPLES / "Publish.java"],
    }


def publish(command, server, token, *arguments):
    return subprocess.run([*command, server, *arguments], env=os.environ | {"SEALPOST_TOKEN": token}, capture_output=True, text=True)
