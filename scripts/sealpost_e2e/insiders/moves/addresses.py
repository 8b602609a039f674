"""Addresses that an insider registers, and their hosts."""

import time

from sealpost_e2e.insiders.insider import move, word
from sealpost_e2e.insiders.site import GONE, INVENTED

LONG = 24  # A push times out after 15 seconds; the move lasts longer to show what follows.


def post_for(insider, seconds, pause):
    """Posts to itself now and then."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        insider.post()
        time.sleep(pause)


def invented(lane, number):
    return f"{INVENTED}{number:08x}{word()}".ljust(64, "7") if lane == "apns" else f"{INVENTED}-{number}-{word()}"


@move("1,000 invented FCM tokens", "a publisher registers them and posts to itself", "200, 201", role="publisher")
def a_thousand_invented_tokens(insider):
    insider.each(lambda number: insider.register("fcm", handle=invented("fcm", number)), range(1000))
    post_for(insider, seconds=2, pause=0.5)


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

    insider.repeat(again, threads=4)


@move(
    "Hosts of WNS that hang", "25 channels under the star of `allowedHosts`, at hosts that never answer, or say nothing "
    "in TLS; posts to itself", "200, 201, 429 rate-limited?",
)
def hanging_channels(insider):
    hosts = ("hangs", "silent")
    insider.each(lambda number: insider.register("wns", host=hosts[number % 2]), range(25))
    post_for(insider, seconds=LONG, pause=2)


@move(
    "Push services that hang", "25 browsers under the star of `allowedHosts`, at hosts that never answer, say nothing in "
    "TLS, or send an answer without an end", "200, 201, 429 rate-limited?",
)
def hanging_services(insider):
    hosts = ("hangs", "silent", "endless")
    insider.each(lambda number: insider.register("webpush", host=hosts[number % 3]), range(25))
    post_for(insider, seconds=LONG, pause=2)


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
