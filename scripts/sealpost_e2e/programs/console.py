"""Tests the operators' console in Chromium with keyboard and mouse, in two sizes and both themes.

A daemon sends to simulators; Apple's refuses the credentials, and Microsoft's demands a long pause. In each size and theme the
program goes through every flow, and judges all views by the rules of `screen`. Once the server freezes during a view. A second
daemon without users prints a link for the first one, who finds all views empty. The program also fails at an error in the browser's
console, a violation of the Content-Security-Policy, a request to another host, a password dialogue, an invisible or backward
focus, a payload in the page or in an answer, and a view whose answers take longer than `SLOWEST` seconds.
"""

import base64
import contextlib
import json
import pathlib
import queue
import re
import signal
import threading
import time

from sealpost_e2e import api, chromium, crew, outbox, processes, require
from sealpost_e2e.screen import THEMES, Screen

SIZES = {"phone": (390, 844), "desk": (1280, 900)}
SLOWEST = 1.0  # Seconds for the slowest answer of a view, on a busy machine.
SEARCHED = 5_000  # Entries of the audit that one request searches: Sources/PushServer/Operations/ListScan.swift.
SECRET = "biopsy-4711"
ADMINISTRATOR = "boss"
VIEWER = "vera"
VIEWS = ("overview", "notifications", "failures", "users", "devices", "tokens", "audit")
FAULTS = (
    'apns always: status 403 body {"reason":"InvalidProviderToken"}',
    "wns next 1: status 503 retry-after 900",
    'fcm device dead: status 404 body {"error":{"code":404,"status":"NOT_FOUND","details":[{"@type":"type.googleapis.com/'
    'google.firebase.fcm.v1.FcmError","errorCode":"UNREGISTERED"}]}}',
)
# A server with only its first administrator.
EMPTY = {
    "overview": "The last hour", "notifications": "Nothing was sent lately", "failures": "No push has failed", "users": ADMINISTRATOR, "devices": "There are no devices",
    "tokens": ADMINISTRATOR, "audit": "added the user",
}
KEYS = {
    "Tab": (9, "Tab", ""), "Enter": (13, "Enter", "\r"), "Escape": (27, "Escape", ""), " ": (32, "Space", " "),
    "ArrowDown": (40, "ArrowDown", ""),
}

# The focused element: its name, its position, and whether its focus is visible.
FOCUS = r"""(() => {
    const element = document.activeElement, style = getComputedStyle(element), box = element.getBoundingClientRect();
    const outline = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
    return {name: `<${element.localName}> ${(element.getAttribute('aria-label') || element.textContent || element.labels?.[0]?.textContent || '').slice(0, 40)}`,
        isBody: element === document.body, outline, x: box.x, y: box.y + scrollY, height: box.height,
        inView: box.bottom > 0 && box.top < innerHeight && box.right > 0 && box.left < innerWidth,
        place: [...document.querySelectorAll('*')].indexOf(element)};
})()"""
OPTIONS = {"--screenshots": {"metavar": "FOLDER", "type": pathlib.Path, "help": "write pictures of the console into this folder"}}


class Asked(outbox.Outbox):
    """A daemon; the administrator also sends requests without the console."""

    def ask(self, method, path, body=None, credentials=api.basic(ADMINISTRATOR), **rest):
        return super().ask(method, path, body, credentials=credentials, **rest)


class Site(Asked):
    """A daemon with an administrator, users, devices of each kind, and notifications with a secret."""

    def __init__(self, sealpost):
        super().__init__(sealpost)
        self.simulate(*FAULTS, channels=4)
        self.add_senders()
        self.add_user(ADMINISTRATOR, "admin")

    def fill(self):
        """Creates users, devices and notifications by the API."""
        for name in ("anna", "bob.miller@clinic", "dr-frank", "greta"):
            self.ask("POST", "/api/users", {"Name": name, "Password": api.PASSWORD})
        self.ask("POST", "/api/users", {"Name": VIEWER, "Password": api.PASSWORD, "Role": "viewer"})
        for name, registration in (
            ("anna", {"Platform": "apns", "Handle": "a1" * 32}),
            ("anna", {"Platform": "fcm", "Handle": "token-anna-000000000000", "Tags": ["news"]}),
            ("bob.miller@clinic", {"Platform": "wns", "Handle": self.channels()[0]}),
            ("dr-frank", {"Platform": "fcm", "Handle": "token-dead-000000000000", "Tags": ["news"]}), (ADMINISTRATOR, {"Platform": "stream"}),
        ):
            self.register(name, registration)
        self.ids = [self.send(to) for to in ("username:anna", "news", "username:bob.miller@clinic", f"username:{ADMINISTRATOR}")]
        batch = {"Notifications": [{"Payload": f"{SECRET} {n}", "To": ["username:anna"]} for n in range(5)]}
        self.ask("POST", "/api/notifications/batch", batch)
        self.send("news", SendAt=time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 3600)))
        processes.wait_until(lambda: self.log.read_text().count("lane paused") >= 2, 30, "the pauses of two lanes")

    def grow_audit(self):
        """Writes more entries about sending than one request searches, newer than those about users."""
        def send(part):
            connection = self.connect()
            for _ in range(part, SEARCHED + 500, 8):
                api.post(connection, {"Payload": SECRET, "To": ["nobody-has-it"]}, credentials=credentials)

        credentials = api.sign_in(self.connect(), ADMINISTRATOR)
        crew.together(send, range(8))

    def register(self, name, registration):
        api.register(self.connect(), api.basic(name), **registration)

    def send(self, to, **rest):
        return self.ask("POST", "/api/notifications", {"Payload": SECRET, "To": [to]} | rest)["Id"]


class EmptySite(Asked):
    """A daemon without users, which prints the link for the first administrator."""

    def add_user(self, *_):
        """Creates no users: the console does."""

    def start_blindly(self):
        self.configuration.write_text("senders: {stream: {type: stream}}\n")
        with open(self.log, "a") as log, open(self.folder / "printed", "w") as printed:
            return self.start_daemon(stdout=printed, stderr=log)

    def link(self):
        return re.search(r"http://\S+/console/#/setup/\S+", (self.folder / "printed").read_text())[0]


class Watch:
    """The requests, answers and errors of a page."""

    def __init__(self, browser, base):
        self.browser, self.base = browser, base
        self.requests, self.answers, self.wrong, self.paused = {}, {}, [], queue.Queue()
        self.clock = 0  # The time of the last event, by the browser's clock.
        browser.watchers.append(self.take)
        threading.Thread(target=self.go_on, daemon=True).start()

    def take(self, session, method, parameters):
        self.clock = max(self.clock, parameters.get("timestamp", 0) if method.startswith("Network.") else 0)
        if method == "Network.requestWillBeSent":
            request = parameters["request"]
            self.requests[parameters["requestId"]] = (request["method"], request["url"], parameters["timestamp"])
            if not request["url"].startswith((self.base + "/", "about:")):
                self.wrong.append(f"a request to {request['url']}")
            if re.search(r"/api/notifications(/\d+)?(\?|$)", request["url"]) and request["method"] in ("GET", "HEAD"):
                self.wrong.append(f"the page asks for payloads: {request['url']}")
        elif method == "Network.loadingFinished" and parameters["requestId"] in self.requests:
            self.answers[parameters["requestId"]] = parameters["timestamp"]
        elif method == "Runtime.exceptionThrown":
            self.wrong.append(f"an exception: {json.dumps(parameters['exceptionDetails'])[:600]}")
        elif method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning", "assert"):
            self.wrong.append(f"the console says {parameters['args']}")
        elif method == "Log.entryAdded" and parameters["entry"]["source"] != "network":
            # The network domain reports answers with errors; the flows expect some of them.
            self.wrong.append(f"the browser says {parameters['entry']['text']}")
        elif method == "Audits.issueAdded" and parameters["issue"]["code"] == "ContentSecurityPolicyIssue":
            self.wrong.append(f"the policy is violated: {json.dumps(parameters['issue']['details'])[:600]}")
        elif method in ("Fetch.requestPaused", "Fetch.authRequired"):
            self.paused.put((session, method, parameters))

    def go_on(self):
        """Continues requests, and cancels password dialogues, which are a fault."""
        while True:
            session, method, parameters = self.paused.get()
            with contextlib.suppress(chromium.Failure):  # The page and its request have ended.
                if method == "Fetch.authRequired":
                    self.wrong.append("the browser asks for a password by a dialogue of its own")
                    answer = {"response": "CancelAuth"}
                    self.browser.call("Fetch.continueWithAuth", session, requestId=parameters["requestId"], authChallengeResponse=answer)
                else:
                    self.browser.call("Fetch.continueRequest", session, requestId=parameters["requestId"])

    def check(self, what):
        require(not self.wrong, f"{what}: {'; '.join(self.wrong[:5])}")

    def times(self, since):
        """Seconds of each API response since then, by path."""
        found = {}
        for id, (method, url, start) in list(self.requests.items()):
            path = url.removeprefix(self.base)
            if start >= since and path.startswith("/api/") and id in self.answers:
                kind = re.sub(r"/[^/]*\d[^/]*|(?<=/users/)[^/?]+", "/…", path.split("?")[0])
                found[f"{method} {kind}"] = max(found.get(f"{method} {kind}", 0), self.answers[id] - start)
        return found


class Operator(Screen):
    """A user of one page, with a keyboard, a mouse, a size and a theme."""

    def __init__(self, browser, watch, base, size, theme):
        self.watch, self.base = watch, base
        # Without motion, so that each judgement sees a still page.
        media = {"color-scheme": theme, "reduced-motion": "reduce"}
        super().__init__(browser, SIZES[size], "Runtime", "Log", "Network", "Audits", mobile=size == "phone", **media)
        self.call("Fetch.enable", handleAuthRequests=True)
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def until(self, script, what, seconds=15):
        super().until(script, what, seconds)
        self.watch.check(what)

    def shown_text(self):
        """The text of the dialog or page, and its pending requests."""
        waiting = [request[:2] for id, request in self.watch.requests.items() if id not in self.watch.answers]
        return f"{self.ask('(document.querySelector(`dialog[open]`) ?? document.querySelector(`main`)).innerText')}; unanswered: {waiting[-3:]}"

    def lacks(self, text):
        self.until(f"!document.body.innerText.includes({json.dumps(text)})", f"the end of “{text}”")

    def told(self, text):
        """Waits for an outcome in the live region, and dismisses it."""
        self.until(f"document.getElementById('outcome').innerText.includes({json.dumps(text)})", f"the outcome “{text}”")
        self.click(r"#outcome button")

    def go(self, view):
        """Opens a view by its address, and waits until it is drawn."""
        self.ask(f"location.hash = {json.dumps('#/' + view)}")
        self.drawn()

    def reload(self):
        before = self.loads()
        self.call("Page.reload")
        self.wait_for_load(before, "the page, loaded again")

    def drawn(self):
        time.sleep(0.05)
        self.until("document.querySelector('h1') && !document.querySelector('.loading')", "the view")

    def key(self, name, shift=False):
        code, key, text = KEYS[name]
        rest = {"modifiers": 8 if shift else 0, "windowsVirtualKeyCode": code, "key": name, "code": key}
        self.call("Input.dispatchKeyEvent", type="keyDown", **rest, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **rest)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def find(self, which):
        """JavaScript for an element: a selector, or the name of a button, link or field, in an open dialog if any."""
        if which.startswith(("#", ".", "[")):
            return f"document.querySelector({json.dumps(which)})"
        return f"""(() => {{
            const root = document.querySelector('dialog[open]') ?? document;
            const name = element => (element.getAttribute('aria-label') ?? element.labels?.[0]?.textContent ?? element.textContent).trim();
            const all = [...root.querySelectorAll('button, a, summary, input, select')].filter(element => element.checkVisibility());
            return all.find(element => name(element) === {json.dumps(which)}) ?? all.find(element => name(element).startsWith({json.dumps(which)}));
        }})()"""

    def click(self, which):
        self.until(f"Boolean({self.find(which)})", which)
        box = self.ask(
            f"(() => {{ const element = {self.find(which)}; element.scrollIntoView({{block: 'center', inline: 'center'}});"
            " const {x, y, width, height} = element.getBoundingClientRect(); return [x + width / 2, y + height / 2] })()"
        )
        for type in ("mouseMoved", "mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=type, x=box[0], y=box[1], button="left", clickCount=1)

    def fill(self, which, text):
        self.click(which)
        self.ask(f"{self.find(which)}.select?.()")
        self.type(text)

    def tab_to(self, which, limit=80):
        """Moves the focus to an element with the tabulator alone."""
        for _ in range(limit):
            if self.ask(f"document.activeElement === {self.find(which)}"):
                return
            self.key("Tab")
        raise SystemExit(f"the tabulator does not reach {which}")

    def enter(self, which, text):
        self.fill(which, text)
        self.key("Enter")

    def retype(self, text):
        """Replaces the text of the focused field."""
        self.ask("document.activeElement.select()")
        self.type(text)

    def press(self, which):
        self.tab_to(which)
        self.key("Enter")

    def finds(self, selector):
        self.until(f"Boolean(document.querySelector({json.dumps(selector)}))", selector)

    def titled(self, text):
        self.until(f"document.querySelector('h1')?.innerText === {json.dumps(text)}", f"the view “{text}”")
        self.drawn()

    def lost(self, secret):
        """Fails if the page contains a secret whose dialog was closed."""
        require(secret not in self.ask("document.documentElement.outerHTML"), "what is shown once is in the page after its dialog was closed")

    def judge(self, what):
        super().judge(what)
        require(SECRET not in self.ask("document.documentElement.outerHTML"), f"{what}: the page has a payload")
        self.watch.check(what)

    def judge_focus(self, what):
        """Walks the page with the tabulator: the focus must always be visible, in the order of the document."""
        self.ask("document.activeElement.blur(); scrollTo(0, 0)")
        last, visited = -1, 0
        for _ in range(400):
            self.key("Tab")
            focus = self.ask(FOCUS)
            if focus["isBody"] or focus["place"] < last and visited:
                break
            require(focus["outline"] and focus["inView"], f"{what}: the focus does not show at {focus['name']}")
            last, visited = focus["place"], visited + 1
        require(focus["isBody"] or visited >= 3, f"{what}: the focus runs backwards, to {focus['name']}")
        return visited

    def focused_heading(self, what):
        if not self.ask("document.activeElement?.localName === 'h1'"):
            raise SystemExit(f"{what}: the focus is not at the heading but at {self.ask(FOCUS)['name']}")

    def shoot(self, path):
        """The page as a PNG, up to 1800 pixels high."""
        self.ask("document.activeElement.blur(); scrollTo(0, 0)")
        clip = {"x": 0, "y": 0, "width": self.size[0], "height": min(1800, self.ask("document.documentElement.scrollHeight")), "scale": 1}
        data = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        path.write_bytes(base64.b64decode(data))


def sign_in(operator):
    """Signs in by the keyboard: wrong, then right."""
    operator.navigate(operator.base + "/console/")
    operator.do(
        "has Sign in as an administrator", "judge sign in", "tab_to Name", f"type {ADMINISTRATOR}", "key Tab", "type wrong password",
        "key Enter", "has The name or the password is wrong", "judge a wrong password", f"retype {api.PASSWORD}", "key Enter",
        "titled Overview", "focused_heading after the sign-in",
    )


def try_views(operator, site):
    """Opens every view by its link, judges it, and measures its requests."""
    times = {}
    for view in (*VIEWS, "users/anna", f"notifications/{site.ids[1]}", "devices?user=anna", "nowhere"):
        start = operator.watch.clock
        if view in VIEWS:
            operator.click(view.capitalize())
            operator.drawn()
        else:
            operator.go(view)
        operator.do(f"focused_heading {view}", f"judge {view}", f"judge_focus {view}")
        times[view] = operator.watch.times(start)
    operator.ask("document.querySelector('#skip').focus()")
    operator.key("Enter")
    operator.until("document.activeElement.id === 'main'", "the skip link's end")
    operator.go("users")
    operator.reload()
    operator.has("bob.miller@clinic")
    return times


def follow_overview(operator, is_first):
    """Reads the troubles, and resumes the paused lane; the provider must then accept its push."""
    operator.do(
        "go overview", "has The lane apns is paused: its provider refuses the credentials.", "has InvalidProviderToken",
        "click These figures as a table", "judge the figures as a table",
    )
    if is_first:
        operator.do(
            "has The lane wns is paused: its provider asks for a pause.", "press Try the lane wns again now", "told The lane wns tries again now.",
            "lacks The lane wns is paused",
        )
    # An opened table must stay open when the figures change.
    time.sleep(6)
    require(operator.ask("document.querySelector('details').open"), "the refresh has closed what was open")
    operator.judge("the overview after a refresh")


def follow_notifications(operator, site):
    id = site.send(f"username:{ADMINISTRATOR}")
    operator.do(
        "go notifications", f"has {id}", f"enter Number of a notification: {id}", "has 1 push", "click Recall",
        "judge the question before a recall", "key Escape",
    )
    operator.until("!document.querySelector('dialog')", "the end of the dialog")
    operator.until("document.activeElement.textContent === 'Recall'", "the focus where it was")
    operator.do("key Enter", "press Recall", "told is recalled", "has There is no such notification")
    if "Counts" in site.ask("GET", f"/api/notifications/{id}/deliveries", expected=(200, 404)):
        raise SystemExit(f"{id} was said to be recalled, and is there")
    operator.do("go notifications", "has Recalled", "go notifications/1", "has There is no such notification")
    follow_single_push(operator, site)


def follow_single_push(operator, site):
    """Retries a push of the paused lane, and cancels it; the other device's push remains."""
    id = site.send("username:anna")
    operator.do(
        f"go notifications/{id}", "has 2 pushes", "press [aria-label^='Try now: push to anna']", "told The push is due now.",
        "judge a notification with a push that waits", "click [aria-label^='Cancel: push to anna']",
        "judge the question before a push is cancelled", "click Cancel the push", "told The push is cancelled.",
        "has cancelled by an operator",
    )
    counts = site.ask("GET", f"/api/notifications/{id}/deliveries")["Counts"]
    require(counts["cancelled"] == 1 and not counts["queued"], f"a push was said to be cancelled: {counts}")


def follow_failures(operator):
    """Filters the failed pushes, and has one explained."""
    operator.do(
        "go failures", "has UNREGISTERED", "has dr-frank", "enter User: anna", "has No push has failed", "judge no failed push",
        "enter User: dr-frank", "has UNREGISTERED", "press [aria-label^='Explain what became of the push']", "has failed for good at",
        "judge an explanation", "click Done", "go users/anna", "press [aria-label='Explain what became of the pushes to anna']",
        "has What became of the pushes to anna", "judge the explanation of a user", "key Escape",
    )


def follow_users(operator, site, number):
    name = f"new.user{number}"
    operator.do(
        "go users", "click Add a user", "judge adding a user", f"type {name}", "fill Password: 12345678", "click Add",
        "finds dialog .problem", "judge a bad password", f"enter Password: a good password {number}", f"told {name} is added.",
        f"titled {name}", "enter Another tag: role:nurse", "told The tag role:nurse is added.", "click Remove the tag role:nurse",
        "told The tag role:nurse is removed.",
    )
    operator.ask(f"(() => {{ const role = {operator.find('Role')}; role.value = 'publisher'; {operator.find('Apps')}.value = ''; }})()")
    operator.do(
        "click Save", f"told Role and apps of {name} are saved.", "has Publisher", "click Make one", "click Set the password",
        f"told The password of {name} is set", "click Disable this user", "click Disable", f"told {name} is disabled.",
    )
    site.ask("POST", "/api/sessions", credentials=api.basic(name, f"a good password {number}"), expected=(401,))
    operator.do(
        "click Enable this user", f"told {name} is enabled.", "click Delete this user", "judge the question before a user is deleted",
        "type somebody else", "key Enter", "has The text is not the same", f"retype {name}", "key Enter", f"told {name} is deleted.",
        f"enter Name: {name}", "finds .problem",
    )


def follow_codes(operator, site, number):
    """Creates a user without a password, whose device signs in with a code."""
    name = f"no.password{number}"
    operator.do(
        "go users", "click Add a user", f"type {name}", "tab_to Without a password", "key  ", "judge adding a user without a password",
        "click Add", f"told {name} is added.", f"titled {name}", "judge a user without a password",
    )
    require(not site.ask("GET", f"/api/users/{name}")["HasPassword"], "the user has a password")
    operator.do("press Make a one-time code", "has The one-time code", "judge the one-time code")
    code = operator.ask("document.querySelector('output').textContent")
    operator.do("click Done", f"told A one-time code for {name} is made.")
    operator.lost(code)
    signed_in = site.ask("POST", "/api/enrolment", {"Code": code})
    require(signed_in["Name"] == name, f"the code is {signed_in['Name']}'s")
    site.ask("POST", "/api/enrolment", {"Code": code}, expected=(401, 403))


def follow_silence(operator, daemon):
    """Freezes the server: the page marks the figures as old until it resumes."""
    operator.do("go overview", "has Updated at")
    daemon.send_signal(signal.SIGSTOP)
    try:
        operator.has("Old figures, of", seconds=60)
        operator.judge("figures of a server that is silent")
    finally:
        daemon.send_signal(signal.SIGCONT)
    operator.has("Updated at", seconds=60)


def begin_empty(operator, site):
    """Opens the link of a server without users; then every view is empty."""
    link = site.link()
    operator.navigate(link)
    operator.do("has Make the first administrator", "judge the first administrator", "judge_focus the first administrator")
    operator.ask("document.querySelector('input').focus()")
    operator.do(
        f"type {ADMINISTRATOR}", "key Tab", "type 12345678", "key Enter", "finds .problem",
        "judge a bad password for the first administrator", f"enter Password: {api.PASSWORD}", "titled Overview",
    )
    for view, words in EMPTY.items():
        operator.click(view.capitalize())
        operator.drawn()
        operator.do(f"has {words}", f"focused_heading {view}, empty", f"judge {view}, empty", f"judge_focus {view}, empty")
    operator.do(
        f"go users/{ADMINISTRATOR}", f"has {ADMINISTRATOR} has no devices", "judge the only user", "go overview", "click Sign out",
        "has You are signed out.",
    )
    # The link works once.
    operator.navigate("about:blank")
    operator.navigate(link)
    operator.do(
        "has Make the first administrator", "fill Name: second", f"enter Password: {api.PASSWORD}", "finds .problem",
        "judge a link that was used",
    )
    site.ask("GET", "/api/users/second", expected=(404,))


def follow_devices(operator, site, number):
    site.register("greta", {"Platform": "stream"})
    gone = ("click Unregister", "told The device of greta is unregistered.")
    operator.do(
        "go devices", "enter User: greta", "lacks bob.miller@clinic", "has Event stream", "click [aria-label^='Unregister the device']",
        "judge the question before a device is unregistered", *gone, "lacks Event stream",
    )
    follow_test(operator, site, f"token-greta-{number:012}", "was accepted by its provider")
    operator.do("click [aria-label^='Unregister the device']", *gone)
    follow_test(operator, site, f"token-dead-{number + 1:012}", "has failed: ")


def follow_test(operator, site, handle, outcome):
    """Sends a test push to a new device, by the keyboard."""
    site.register("greta", {"Platform": "fcm", "Handle": handle})
    operator.do("go devices", "go devices?user=greta", "press [aria-label^='Send a test push to the device']")
    operator.until("document.getElementById('outcome').innerText.includes('The test push to the device of greta')", "an outcome", 40)
    operator.judge("the outcome of a test push")
    operator.told(outcome)


def follow_tokens(operator, site):
    operator.do(
        "go tokens?user=anna", "click Make a token", "judge making a token", "click send", "click Make it", "has The new token",
        "judge the new token",
    )
    token = operator.ask("document.querySelector('output').textContent")
    site.ask("GET", "/api/tokens", credentials=f"Bearer {token}", expected=(403,))
    operator.do("click Done", "told is made.")
    operator.lost(token)
    operator.do(f"click Revoke the token {token[:12]}", "click Revoke", "told is revoked.")
    site.ask("GET", "/api/tokens", credentials=f"Bearer {token}", expected=(401,))


def follow_audit(operator):
    operator.do(
        "go audit", "has signed in", f"fill With the words: GRETA {ADMINISTRATOR}", "has found among", "has added the user",
        "lacks changed the user new.user", "judge the audit, searched", "fill With the words: nobody-at-all", "has No entry fits",
        "has , which are all", "judge a search that finds nothing",
    )


def search_grown_audit(operator):
    """Searches for entries beyond the range of one request, and for many pages of results."""
    operator.do("go audit", "fill With the words: greta")
    show_kind(operator, "user")
    operator.do(
        f"has 0 entries found among {SEARCHED:,}; there are older ones", "judge a search that has come as far as one request goes",
        "press Go on searching", "has added the user", "has , which are all", "judge a search that went on",
    )
    show_kind(operator, "notification")
    operator.do(f"fill With the words: {ADMINISTRATOR} notification.send", "has 200 entries found among")
    for pages in (2, 3):
        operator.do("click Go on searching", f"has {pages * 200} entries found among")
    require(operator.ask("document.querySelectorAll('tbody tr').length") == 600, "three pages of the audit have other than 600 rows")


def show_kind(operator, kind):
    operator.ask(f"(() => {{ const select = {operator.find('Show')}; select.value = {json.dumps(kind)}; select.dispatchEvent(new Event('change')) }})()")


def see_only(operator, site):
    """The console of a viewer has no button that the server would refuse."""
    for view in ("overview", "users", "users/anna", "devices", "notifications", f"notifications/{site.ids[1]}", "audit"):
        operator.do(f"go {view}", f"judge {view} of a viewer")
        require(not operator.ask("document.querySelector('main .problem') !== null"), f"{view} of a viewer shows a problem")
        found = operator.ask("[...document.querySelectorAll('main button')].map(button => button.classList.contains('danger') ? 'danger' : button.textContent)")
        if refused := {"danger", "Add a user", "Save", "Test", "Try now", "Try again now", "Add the tag"} & set(found):
            raise SystemExit(f"{view} of a viewer has the buttons {refused}")
    require(not operator.ask("document.querySelector('nav').innerText.includes('Tokens')"), "a viewer is led to the tokens")


def sign_out(operator, site):
    """Signs out by the button, and by the server, which ends the session while the page is open."""
    operator.do("click Sign out", "has You are signed out.", "focused_heading after the sign-out")
    operator.reload()
    operator.has("Sign in as an administrator")
    for name, words in (("anna", "The console needs an administrator"), (VIEWER, "Overview"), (ADMINISTRATOR, "Overview")):
        operator.do(f"fill Name: {name}", f"enter Password: {api.PASSWORD}", f"has {words}", f"judge {words}")
        if name == VIEWER:
            see_only(operator, site)
        if name != ADMINISTRATOR:
            operator.do("click Sign out", "has You are signed out.")
    operator.do("go overview", "has The last hour")
    for token in site.ask("GET", f"/api/tokens?user={ADMINISTRATOR}")["Tokens"]:
        site.ask("DELETE", f"/api/tokens/{token['Prefix']}")
    operator.has("Your session has ended.", seconds=20)
    operator.judge("a session that has ended")


def run(options):
    with Site(options.sealpost) as site:
        daemon, _ = site.serve()
        site.fill()
        go_through(site, f"http://127.0.0.1:{site.port}", daemon, options)
        processes.terminate(daemon)


def go_through(site, base, daemon, options):
    """Runs all flows at the server at `base`."""
    times, least, judged = {}, 21, 0
    with chromium.Chromium() as browser:
        combinations = [(size, theme) for size in SIZES for theme in THEMES]
        for number, (size, theme) in enumerate(combinations):
            is_last = number == len(combinations) - 1
            with operating(browser, base, size, theme) as operator:
                sign_in(operator)
                if options.screenshots and (size, theme) != ("phone", "dark"):
                    take_pictures(operator, site, options.screenshots, size, theme)
                for view, found in try_views(operator, site).items():
                    for path, seconds in found.items():
                        times.setdefault(view, {})[path] = max(times.get(view, {}).get(path, 0), seconds)
                follow_overview(operator, number == 0)
                follow_notifications(operator, site)
                follow_failures(operator)
                follow_users(operator, site, number)
                follow_codes(operator, site, number)
                follow_devices(operator, site, number)
                follow_tokens(operator, site)
                follow_audit(operator)
                if is_last:
                    site.grow_audit()
                    search_grown_audit(operator)
                    follow_silence(operator, daemon)
                sign_out(operator, site)
                search_answers(operator)
            least, judged = min(least, operator.least), judged + operator.judged
        for size, theme in (("phone", "dark"), ("desk", "light")):
            empty = try_empty(browser, options, size, theme)
            least, judged = min(least, empty.least), judged + empty.judged
    report(times, least, judged, len(combinations))


@contextlib.contextmanager
def operating(browser, base, size, theme):
    """An operator during the `with`, whose errors get the size and the theme."""
    operator = Operator(browser, Watch(browser, base), base, size, theme)
    try:
        yield operator
    except SystemExit as wrong:
        raise SystemExit(f"{size}, {theme}: {wrong}") from None
    operator.close()
    browser.watchers.remove(operator.watch.take)


def try_empty(browser, options, size, theme):
    """The console of a new server."""
    with EmptySite(options.sealpost) as site:
        daemon, _ = site.serve()
        with operating(browser, f"http://127.0.0.1:{site.port}", size, theme) as operator:
            begin_empty(operator, site)
        processes.terminate(daemon)
        return operator


def report(times, least, judged, combinations):
    for view, found in times.items():
        print(f"{view}: " + ", ".join(f"{path} {seconds * 1000:.0f} ms" for path, seconds in sorted(found.items())))
    slow = {path: seconds for found in times.values() for path, seconds in found.items() if seconds > SLOWEST}
    print(
        f"{combinations} sizes and themes: every flow done, {judged} pages judged, the least contrast {least:.2f}; "
        "no error, no violation of the policy, no payload"
    )
    require(not slow, f"slower than {SLOWEST:g} s: {slow}")


def take_pictures(operator, site, folder, size, theme):
    folder.mkdir(parents=True, exist_ok=True)
    operator.shoot(folder / f"overview-{size}-{theme}.png")
    if (size, theme) == ("desk", "light"):
        operator.go(f"notifications/{site.ids[1]}")
        operator.has("UNREGISTERED")
        operator.shoot(folder / "notification.png")
        operator.go("users")
        operator.shoot(folder / "users.png")
        operator.go("overview")


def search_answers(operator):
    """Searches all answers to the page for payloads."""
    for id, (_, url, _) in list(operator.watch.requests.items()):
        try:
            body = operator.call("Network.getResponseBody", requestId=id)["body"]
        except chromium.Failure:
            continue  # It had no body, or the browser has dropped it.
        require(SECRET not in body, f"{url} was answered with a payload")
