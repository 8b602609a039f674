"""Tests the client for browsers in Firefox: the server encrypts a Web Push, the browser decrypts it and fetches.

The push service is simulated, with Mozilla's protocol. Pages, worker and flows are those of `web-client`: pushes, two tabs with
one stream, a database that the browser has closed, another VAPID key, a permission that was taken back, and the sign-out.
"""

import json
import time

from sealpost_e2e import api, firefox, processes, require
from sealpost_e2e.programs import web_client

SHOWN = "navigator.serviceWorker.ready.then(ready => ready.getNotifications()).then(all => all.map(({title, body}) => `${title}: ${body}`))"
CREATED, GONE = (b"HTTP/1.1 %b\r\nContent-Length: 0\r\n\r\n" % status for status in (b"201 Created", b"410 Gone"))
OPTIONS = {"--firefox": ("firefox-esr", "the browser")}


def run(options):
    with web_client.Site(options.sealpost) as site:
        service = firefox.PushService(f"https://localhost:{site.service.port}/push/")
        site.service.answer = lambda request, _: CREATED if service.deliver(request) else GONE
        site.serve()
        with firefox.Firefox(service, options.firefox) as browser:
            times = go_through(browser, site)
        processes.terminate(site.daemon)
    print(f"{len(times)} pushes were shown {min(times):.2f} to {max(times):.2f} s after their posts; another key and a permission were noticed")


def go_through(browser, site):
    ask, origin, times = browser.evaluate, site.tabs, []

    def receive(text):
        start = time.monotonic()
        site.post({"Payload": text}, credentials=api.basic("anna"))
        processes.wait_until(lambda: f"Clinic: {text}" in ask(SHOWN), 20, f"the notification {text!r}")
        times.append(time.monotonic() - start)

    def permit(is_allowed):
        principal = f"Services.scriptSecurityManager.createContentPrincipalFromOrigin({json.dumps(origin)})"
        ask(f"Services.perms.addFromPrincipal({principal}, 'desktop-notification', Ci.nsIPermissionManager.{'ALLOW' if is_allowed else 'DENY'}_ACTION)", "chrome")

    first = browser.open(origin + "/plain.html")
    permit(True)
    web_client.change_key_and_permission(ask, site, "", permit, receive)
    require(not (left := ask(SHOWN)), f"after signing out, these notifications are shown: {left}")
    web_client.try_store(ask, site)
    ask(site.script(web_client.RENEWING))
    tabs = first, browser.open(origin + "/plain.html")
    for tab in tabs:
        browser.switch(tab)
        ask(site.script(web_client.LISTENING))
    processes.wait_until(lambda: "/api/stream" in site.page.asked, 20, "a stream")
    site.post({"Payload": "to both tabs"})
    for tab in tabs:
        browser.switch(tab)
        processes.wait_until(lambda: ask("heard.includes('to both tabs')"), 20, "an event in each tab")
    require((count := site.page.asked.count("/api/stream")) == 1, f"two tabs have opened {count} streams")
    return times
