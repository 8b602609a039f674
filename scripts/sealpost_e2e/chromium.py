"""A headless Chromium, controlled over the DevTools protocol through a pipe."""

import json
import os
import subprocess
import threading

from sealpost_e2e import listening, processes

# All names resolve to this machine; no request reaches the Internet. Certificates are made for the run.
FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-default-apps",
    "--host-resolver-rules=MAP * 127.0.0.1", "--ignore-certificate-errors", "--remote-debugging-pipe",
    "--disable-features=HttpsUpgrades,HttpsFirstBalancedModeAutoEnable",
]
# The policy GloballyScopeHTTPAuthCacheEnabled lets pages of all sites use a cached password, as other browsers do.
# A foreign page can have no stronger credentials.
PREFERENCES = {"auth": {"globally_scoped_http_auth_cache_enabled": True}, "profile": {"cookie_controls_mode": 0}}


class Failure(Exception):
    """The browser has refused a command, or a script in it has thrown."""


class Chromium:
    """A browser with its own folder, `profile`; used with `with`."""

    def __init__(self, executable="chromium"):
        self.holder, self.profile = processes.make_profile()
        (self.profile / "Default").mkdir()
        (self.profile / "Default/Preferences").write_text(json.dumps(PREFERENCES))
        self.command = [executable, *FLAGS, f"--user-data-dir={self.profile}", "about:blank"]
        self.lock, self.arrived = threading.Lock(), threading.Condition()
        self.number, self.answers, self.events = 0, {}, []
        self.watchers = []  # The listening thread calls these with session, method and parameters of each event.
        self.ended = False

    def __enter__(self):
        read, self.output = os.pipe()
        self.input, write = os.pipe()
        # The browser reads commands at descriptor 3 and writes answers at 4.
        shell = f'exec "$0" "$@" 3<&{read} 4>&{write}'
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", shell, *self.command], pass_fds=[read, write],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )
        os.close(read)
        os.close(write)
        threading.Thread(target=self.listen, daemon=True).start()
        return self

    def __exit__(self, *_):
        processes.end(self.process)
        self.holder.cleanup()

    def listen(self):
        """Reads messages, which end with a zero byte."""
        rest = b""
        while more := os.read(self.input, 65536):
            *messages, rest = (rest + more).split(b"\0")
            with self.arrived:
                for message in map(json.loads, messages):
                    if "id" in message:
                        self.answers[message["id"]] = message
                    else:
                        self.events.append((message.get("sessionId"), message["method"]))
                        for watcher in self.watchers:
                            watcher(message.get("sessionId"), message["method"], message["params"])
                self.arrived.notify_all()
        with self.arrived:
            self.ended = True
            self.arrived.notify_all()

    def wait(self, condition, seconds, what):
        """Waits until messages have made a condition true."""
        with self.arrived:
            if not self.arrived.wait_for(lambda: condition() or self.ended, seconds) or not condition():
                raise Failure(f"{what}: Chromium has {'ended' if self.ended else 'not answered'}")

    def call(self, method, session=None, **parameters):
        """Sends a command of the protocol. Returns the response."""
        with self.lock:
            self.number += 1
            number = self.number
            message = {"id": number, "method": method, "params": parameters}
            if session:
                message["sessionId"] = session
            os.write(self.output, json.dumps(message).encode() + b"\0")
        self.wait(lambda: number in self.answers, 90, method)
        answer = self.answers.pop(number)
        if "error" in answer:
            raise Failure(f"{method}: {answer['error']['message']}")
        return answer["result"]

    def open(self, url):
        """A loaded page."""
        page = Page(self)
        page.navigate(url)
        return page


class Page:
    def __init__(self, browser):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        self.call("Page.enable")

    def call(self, method, **parameters):
        return self.browser.call(method, self.session, **parameters)

    def loads(self):
        return self.browser.events.count((self.session, "Page.loadEventFired"))

    def navigate(self, url):
        """Navigates as by the address bar, and waits for the page to load."""
        before = self.loads()
        result = self.call("Page.navigate", url=url)
        if "errorText" in result:
            raise Failure(f"{url}: {result['errorText']}")
        self.wait_for_load(before, url)

    def wait_for_load(self, before, what):
        self.browser.wait(lambda: self.loads() > before, 60, what)

    def evaluate(self, script):
        """The value of an expression, or of its promise."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True, userGesture=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise Failure(f"{details.get('exception', {}).get('description', details['text'])} in {script[:300]}")
        return answer["result"].get("value")

    def close(self):
        self.browser.call("Target.closeTarget", targetId=self.target)


class Pages(listening.WebServer):
    """An empty page at each path of each name, with TLS if there is a context."""

    def __init__(self, context=None):
        super().__init__(self.page, context)

    def page(self, path, *_):
        policy = {"Content-Security-Policy": "sandbox allow-scripts allow-forms"} if path == "/sandboxed" else {}
        return 200, {"Content-Type": "text/html; charset=utf-8"} | policy, b"<!doctype html><title>page</title><body></body>"
