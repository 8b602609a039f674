"""Addresses that an insider registers, and what stands there."""

import time

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


@move("Channels that WNS does not know", "25 at the right host, posts to itself", "200, 201")
def unknown_channels(insider):
    host = insider.site.devices["wns"][0][2].split("/w/")[0].split("?")[0]
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
    "200, 201",
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
    "Handles that would be more than a handle", "quotes and braces in a webhook's handle; receivers that "
    "answer 404, 410, 429 and 418 for it", "200, 201, 400 invalid-member, 429 too-many-confirmations?",
)
def forged_webhooks(insider):
    handles = [f'x","handle":"x"}}{word()}', f'{word()}","secureId":"1', f"x\\u0022,x{word()}"]
    handles += [f"{kind}-{word()}" for kind in ("invented", "gone", "busy", "odd")]
    for handle in handles:
        insider.register("webhook", handle=handle)
    for handle in ("a b", "", "ä", "x" * 5000, "x\r\nX-Injected: 1"):
        insider.register("webhook", handle=handle or " ")
    for _ in range(8):
        insider.post()
    time.sleep(2)
