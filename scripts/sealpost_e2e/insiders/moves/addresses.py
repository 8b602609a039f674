"""Addresses that an insider registers: what stands there, and whose they are."""

import json
import re
import time

from sealpost_e2e import api
from sealpost_e2e.insiders import network
from sealpost_e2e.insiders.insider import SECONDS, move, word
from sealpost_e2e.insiders.site import GONE, INVENTED

# A push without an answer is given up after 15 seconds: long enough that what follows is seen.
LONG = 24


def post_for(insider, seconds=SECONDS, pause=0.25, count=1):
    """Posts to itself now and then."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for _ in range(count):
            insider.post()
        time.sleep(pause)


def invented(lane, number):
    return f"{INVENTED}{number:08x}{word()}".ljust(64, "7") if lane == "apns" else f"{INVENTED}-{number}-{word()}"


@move(
    "25 invented APNs tokens", "registers them and posts to itself, four times a second", "200, 201",
    before="seen: the lane stopped for everybody, `/readyz` 503",
)
def invented_tokens(insider):
    insider.each(lambda number: insider.register("apns", handle=invented("apns", number)), range(25))
    post_for(insider)


@move("1,000 invented FCM tokens", "a publisher registers them and posts to itself", "200, 201", role="publisher")
def a_thousand_invented_tokens(insider):
    insider.each(lambda number: insider.register("fcm", handle=invented("fcm", number)), range(1000))
    post_for(insider, seconds=2, pause=0.5)


@move("Invented tokens of six accomplices", "25 each at APNs and FCM, posts of all at once", "200, 201", accomplices=5)
def accomplices(insider):
    everybody = [insider, *insider.accomplices]

    def act(one):
        for number in range(25):
            one.register("apns" if number % 2 else "fcm", handle=invented("apns" if number % 2 else "fcm", number))
        post_for(one)

    insider.together([lambda one=one: act(one) for one in everybody])


@move(
    "Tokens that are gone, registered again", "APNs and FCM answer 410 and `UNREGISTERED`; a new token in the same "
    "registration, and a new registration, over and over", "200, 201, 410 registration-gone?, 429 rate-limited?",
)
def gone_tokens(insider):
    def again(number):
        lane = "apns" if number % 2 else "fcm"
        handle = f"{GONE}{number:08x}{word()}".ljust(64, "7")
        id, _ = insider.register(lane, handle=handle)
        insider.post()
        time.sleep(0.1)
        insider.register(lane, handle=f"{GONE}{number:08x}{word()}".ljust(64, "7"), id=id)

    insider.keep_on(again, threads=4)


@move("More devices than anybody has", "registers 150", "200, 409 too-many-devices, 410 registration-gone?")
def too_many_devices(insider):
    insider.each(lambda number: insider.register("fcm"), range(150))


@move("Channels that WNS does not know", "25 at the right host, posts to itself", "200, 201")
def unknown_channels(insider):
    host = insider.site.vera.devices["wns"][1].split("/w/")[0].split("?")[0]
    insider.each(lambda number: insider.register("wns", handle=f"{host}/?token={word()}"), range(25))
    post_for(insider)


@move(
    "Hosts of WNS that hang", "25 channels under the star of `allowedHosts`, at hosts that never answer, or say nothing "
    "in TLS; posts to itself", "200, 201, 429 rate-limited?",
)
def hanging_channels(insider):
    hosts = ("hangs", "silent")
    insider.each(lambda number: insider.register("wns", host=hosts[number % 2]), range(25))
    post_for(insider, seconds=LONG, pause=2)


@move(
    "Hosts of WNS that ask for an hour's rest", "503 and 429 with `Retry-After: 3600`, 500, a redirect, a reset", "200, 201",
)
def resting_channels(insider):
    hosts = ("overloaded", "throttles", "fails", "redirects", "resets")
    insider.each(lambda number: insider.register("wns", host=hosts[number % 5]), range(25))
    post_for(insider)


@move("Hosts of WNS that refuse our credentials", "401 to every token, and 410 with words about a blocked sender", "200, 201")
def refusing_channels(insider):
    hosts = ("refuses", "blocks")
    insider.each(lambda number: insider.register("wns", host=hosts[number % 2]), range(24))
    post_for(insider)


@move(
    "Hosts of WNS that say much", "30 KB and 15 KB of `X-WNS-Error-Description`, 20,000 header lines, a header without an end",
    "200, 201", before="seen: one answer of 30 KB stopped all pushes of everybody for 48 s",
)
def talking_channels(insider):
    insider.each(lambda number: insider.register("wns", host="talks"), range(24))
    post_for(insider)


@move(
    "Push services that hang", "25 browsers under the star of `allowedHosts`, at hosts that never answer, say nothing in "
    "TLS, or send an answer without an end", "200, 201, 429 rate-limited?",
)
def hanging_services(insider):
    hosts = ("hangs", "silent", "endless")
    insider.each(lambda number: insider.register("webpush", host=hosts[number % 3]), range(25))
    post_for(insider, seconds=LONG, pause=2)


@move("Push services that ask for an hour's rest", "429 and 503 with `Retry-After: 3600`", "200, 201")
def resting_services(insider):
    hosts = ("overloaded", "throttles")
    insider.each(lambda number: insider.register("webpush", host=hosts[number % 2]), range(24))
    post_for(insider)


@move("Push services that refuse our key", "401 with Mozilla's number for a wrong key", "200, 201")
def refusing_services(insider):
    insider.each(lambda number: insider.register("webpush", host="refuses"), range(24))
    post_for(insider)


@move("Push services that fail", "500, resets, redirects, paths that are gone, unknown or busy", "200, 201")
def failing_services(insider):
    hosts = ("fails", "resets", "redirects")
    insider.each(lambda number: insider.register("webpush", host=hosts[number % 3]), range(12))
    insider.each(lambda number: insider.register("webpush", ("gone", "invented", "busy", "odd")[number % 4]), range(12))
    post_for(insider)


@move(
    "Push services inside", "a name that leads to 127.0.0.1, one that leads nowhere, an address in place of a name, another "
    "port, no TLS, a user in the address", "200, 201, 400 invalid-member",
)
def services_inside(insider):
    keys = json.loads(insider.site.handle("webpush"))["keys"]
    for host in ("inside", "nowhere"):
        insider.register("webpush", host=host)
    for start in ("https://127.0.0.1/", "https://[::1]/", f"http://honest.{network.PUSH}/", f"https://honest.{network.PUSH}:22/",
            f"https://honest.{network.PUSH}@127.0.0.1/", f"https://user@honest.{network.PUSH}/", f"https://{network.PUSH}./"):
        insider.register("webpush", handle=json.dumps({"endpoint": start + word(), "keys": keys}))
    post_for(insider)


@move(
    "Handles that would be more than a handle", "quotes, braces and another's handle in a webhook's handle; receivers that "
    "answer 404, 410, 429 and 418 for it", "200, 201, 400 invalid-member, 429 too-many-confirmations?",
)
def forged_webhooks(insider):
    theirs, id = insider.site.vera.devices["webhook"][1], insider.site.vera.id
    handles = [f'x","handle":"{theirs}"}}{word()}', f'{word()}","secureId":"{id}', f"x\\u0022,{theirs}{word()}"]
    handles += [f"{kind}-{word()}" for kind in ("invented", "gone", "busy", "odd")]
    for handle in handles:
        insider.register("webhook", handle=handle)
    for handle in ("a b", "", "ä", "x" * 5000, "x\r\nX-Injected: 1"):
        insider.register("webhook", handle=handle or " ")
    posted = {json.loads(insider.post().text)["Id"] for _ in range(8)}
    time.sleep(2)
    for line in insider.site.arrivals.read_text().splitlines():
        _, platform, key, *handle = line.split(" ")
        if platform == "webhook" and key in map(str, posted) and " ".join(handle) == theirs:
            insider.harm("a push of its own went to another's webhook")


# MARK: Addresses of others


@move(
    "Another's address", "registers handles that are free, its own and another's, under issued ids, for each platform, and guesses "
    "the code that confirms a webhook's", "200, 404 not-found?, 409 confirmation-refused?",
    before="seen: 410 told that a handle was another's, whose device went; an oracle",
)
def anothers_address(insider):
    site, victor = insider.site, insider.site.victor
    for lane in ("apns", "fcm", "wns", "webpush", "webhook"):
        free = insider.register(lane)[1]
        theirs = insider.register(lane, handle=victor.devices[lane][1])[1]
        id, again = insider.register(lane, handle=victor.devices[lane][1])
        if not (shape(free) == shape(theirs) == shape(again)):
            insider.harm(f"{lane}: the answer tells a free handle from another's")
    for _ in range(20):
        insider.ask("POST", f"/api/register/{id}/confirmation", word())
    # What can be guessed stays where it is until the receiver has said that it is meant.
    id = site.send("victor", {"Payload": "for victor"})
    end = time.monotonic() + 3
    while time.monotonic() < end:
        lines = [line.split(" ") for line in site.arrivals.read_text().splitlines()]
        if any(fields[1] == "webhook" and fields[2] == str(id) for fields in lines):
            return
        time.sleep(0.1)
    insider.harm("webhook: a handle that can be guessed was taken from its owner")


@move(
    "Another's registration", "PUT and DELETE with a registration id of another's, and with one that nobody has",
    "200?, 404 not-found?, 410 registration-gone?",
    before="seen: told apart",
)
def anothers_registration(insider):
    theirs, nobodys = insider.site.vera.devices["fcm"][0], f"nobody-{word()}"
    put = [insider.register("fcm", id=id)[1] for id in (theirs, nobodys)]
    stream = [insider.register("stream", id=id)[1] for id in (insider.site.vera.devices["stream"][0], f"no-{word()}")]
    gone = [insider.ask("DELETE", f"/api/register/{id}") for id in (theirs, f"nobody-{word()}")]
    for name, (first, second) in (("PUT", put), ("PUT of a stream", stream), ("DELETE", gone)):
        if shape(first) != shape(second):
            insider.harm(f"{name} tells another's id ({first.status}) from nobody's ({second.status})")


@move("Tags that the server gives", "`username:` of another, `from:`, in any case", "400 invalid-member")
def reserved_tags(insider):
    for tag in ("username:vera", "Username:Vera", "from:alice", "FROM:alice", "username:", f"username:{insider.name}"):
        insider.register("fcm", tags=[tag])


@move(
    "Tags that administrators give", "a device gives itself `role:nurse`, joins it as a topic, and asks for what is sent there",
    "400 invalid-member, 400 invalid-parameter, 200",
    before="seen: a device joined `board` and collected what was sent there",
)
def given_tags(insider):
    site = insider.site
    insider.register("fcm", tags=["role:nurse"])
    device, _ = insider.register("fcm", tags=["a-topic-for-all"])
    insider.ask("PUT", f"/api/devices/{device}/topics/role:nurse")
    connection = site.connect()
    id = api.post(connection, {"Payload": "for nurses", "To": ["role:nurse"]}, credentials=site.publisher)
    connection.close()
    if insider.ask("GET", f"/api/notifications/{id}", counts=False).status == 200:
        insider.harm("a device has given itself a tag of a role, and reads what is sent there")


def shape(answer):
    """An answer without what differs by itself."""
    return answer.status, answer.code, re.sub(rb'"instance":"[^"]*"', b"", answer.text)
