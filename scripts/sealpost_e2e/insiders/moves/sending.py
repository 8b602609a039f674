"""Posts, registrations and test pushes of an insider: too many or too expensive."""

import json
import threading
import time

from sealpost_e2e.insiders.insider import move, word
from sealpost_e2e.insiders.moves.addresses import invented
from sealpost_e2e.insiders.site import CROWD


@move("Posts at the quota's edge", "to a device of its own, as fast as it can, on 16 connections", "200, 201, 409 too-much-stored, 429 rate-limited")
def posts_at_the_edge(insider):
    insider.register("fcm")
    insider.each(lambda _: insider.post(), range(2000), threads=16)


@move(
    "Batches without an end", "500 notifications each to itself, on 16 connections, and bodies that are too long",
    "200, 413 payload-too-large, 429 rate-limited?, 503 busy",
)
def batches(insider):
    insider.register("fcm")
    orders = {"Notifications": [{"Payload": number, "ExpiresIn": 60} for number in range(500)]}
    insider.each(lambda _: insider.ask("POST", "/api/notifications/batch", orders), range(64), threads=16)
    insider.ask("POST", "/api/notifications/batch", {"Notifications": [{"Payload": "x" * 60_000}] * 3})


@move(
    "Ten thousand scheduled for one instant", "by batches of 500, to itself, as far as the quota goes; the pushes all leave at once",
    "200, 429 rate-limited?",
)
def scheduled_at_once(insider):
    insider.register("fcm")
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + 6))
    orders = {"Notifications": [{"Payload": number, "SendAt": at, "ExpiresIn": 60} for number in range(500)]}
    insider.each(lambda _: insider.ask("POST", "/api/notifications/batch", orders), range(20), threads=4)
    time.sleep(10)


@move("60 tags on each of 25 devices", "registered anew over and over", "200, 400 invalid-member, 429 rate-limited?")
def many_tags(insider):
    insider.register("fcm", tags=[f"tag-{number}" for number in range(61)])
    ids = insider.each(lambda _: insider.register("fcm", tags=[f"{word()}-{number}" for number in range(60)])[0], range(25))
    insider.repeat(lambda number: insider.register("fcm", id=ids[number % 25], tags=[f"{word()}-{tag}" for tag in range(60)]), seconds=5)


def recall(insider, answers):
    for answer in answers:
        if answer.status == 201:
            insider.ask("DELETE", f"/api/notifications/{json.loads(answer.text)['Id']}")


@move(
    "The dearest tag expressions", f"20 expressions of 20 tags, nested, over {CROWD:,} devices, three times; more tags and levels "
    "than there may be", "201, 204, 400 invalid-member", role="publisher",
)
def dear_expressions(insider):
    def expression(number):
        return f"crowd && !(" + " || ".join(f"(none-{number} && !t{tag})" for tag in range(9)) + ")"

    answers = [insider.post({"To": [expression(number) for number in range(20)], "ExpiresIn": 60}) for _ in range(3)]
    for text in ("(" * 21 + "a" + ")" * 21, "!" * 30 + "a", " && ".join(["a"] * 21), "a ||", ""):
        insider.post({"To": [text]})
    insider.post({"To": ["crowd"] * 21})
    time.sleep(4)
    recall(insider, answers)


@move("Broadcasts without an end", f"five to {CROWD:,} devices at once; then they are recalled", "201, 204", role="publisher")
def broadcasts(insider):
    answers = insider.each(lambda _: insider.post({"To": ["crowd"], "ExpiresIn": 60}), range(5))
    time.sleep(8)
    recall(insider, answers)


@move(
    "Clear payloads to a user who requires encryption", "by name, alone and in batches of 500, on 16 connections",
    "200, 400 encryption-required, 429 rate-limited?, 503 busy?", role="publisher",
)
def refused_payloads(insider):
    insider.ask("PATCH", f"/api/users/{insider.name}", {"RequiresEncryption": True}, authorization=insider.site.admin, counts=False)
    batch = {"Notifications": [{"Payload": "x", "To": [f"username:{insider.name}"]}] * 500}
    insider.repeat(lambda number: insider.ask("POST", "/api/notifications/batch", batch) if number % 8 == 0 else insider.post(), threads=16)


@move(
    "Reports about a broadcast without an end", "all pages of its deliveries, 500 at a time, on eight connections", "200, 201, 204",
    role="publisher",
)
def reports(insider):
    answer = insider.post({"To": ["crowd"], "ExpiresIn": 60})
    path, cursors = f"/api/notifications/{json.loads(answer.text)['Id']}/deliveries?limit=500&cursor=", threading.local()

    def page(_):
        got = insider.ask("GET", path + getattr(cursors, "value", "0"))
        cursors.value = json.loads(got.text)["Cursor"] if got.status == 200 and json.loads(got.text)["More"] else "0"

    insider.repeat(page, seconds=6)
    recall(insider, [answer])


@move(
    "Test pushes without an end", "40 at a time, to devices whose provider never answers, knows them not, or is a stream that "
    "nobody reads", "200, 404 not-found?, 429 rate-limited?, 503 busy?",
)
def test_pushes(insider):
    ids = [insider.register("webpush", host="hangs")[0], insider.register("stream")[0], insider.register("fcm")[0]]
    for number in range(22):
        ids.append(insider.register("apns", handle=invented("apns", number))[0])
    # Each without an answer holds its request for 20 seconds.
    insider.repeat(lambda number: insider.ask("POST", f"/api/devices/{ids[number % len(ids)]}/test"), threads=40, seconds=4)


@move(
    "Registering and unregistering without an end", "each is an entry of the audit, which an administrator then reads",
    "200, 429 rate-limited?",
)
def audit_flood(insider):
    def again(_):
        id, _ = insider.register("fcm")
        if id:
            insider.ask("DELETE", f"/api/register/{id}")

    insider.repeat(again, threads=8, seconds=5)
    if insider.ask("GET", "/api/audit?limit=100", authorization=insider.site.admin, counts=False).status != 200:
        insider.harm("the audit cannot be read")
