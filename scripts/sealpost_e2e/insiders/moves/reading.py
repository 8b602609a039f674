"""Reads of an insider: long lists and streams, read slowly."""

import json
import time

from sealpost_e2e.insiders.insider import move

NOTICES = 400


def fill(insider):
    insider.each(lambda number: insider.post({"Payload": {"Text": f"{number} " + "x" * 3000}}, counts=False), range(NOTICES))


@move(
    "Long lists without an end", "pages of 1 MiB, compressed and not, on 16 connections, and `since` in a loop",
    "200, 304, 429 rate-limited?, 503 busy?",
)
def long_lists(insider):
    fill(insider)
    cursor = json.loads(insider.ask("GET", "/api/notifications?limit=500").text)["Cursor"]

    def ask(number):
        if number % 3:
            insider.ask("GET", "/api/notifications?limit=500", fields={"Accept-Encoding": "gzip"} if number % 2 else {})
        else:
            insider.ask("GET", f"/api/notifications?since={cursor}", fields={"If-None-Match": f'"{cursor}"'})

    insider.ask("GET", "/api/notifications?limit=1")
    quiet = json.loads(insider.ask("GET", "/api/notifications?limit=500").text)
    while quiet["More"]:
        quiet = json.loads(insider.ask("GET", f"/api/notifications?limit=500&since={quiet['Cursor']}").text)
    insider.ask("GET", f"/api/notifications?since={quiet['Cursor']}", fields={"If-None-Match": f"\"{quiet['Cursor']}\""})
    insider.repeat(ask, threads=16, seconds=5)


@move("Hundreds of event streams", "300 at once", "200, 429 too-many-streams")
def many_streams(insider):
    insider.register("stream")
    insider.answers.clear()
    connections = insider.each(lambda _: insider.open(insider.head("GET /api/stream")), range(300))
    insider.each(insider.receive, connections)
    time.sleep(2)
    for connection in connections:
        connection.close()


@move(
    "Event streams that are not read", "20 streams of 20 devices that take nothing, a thousand posts to them, opened anew",
    "200, 201, 429 rate-limited?",
)
def unread_streams(insider):
    ids = [insider.register("stream")[0] for _ in range(20)]
    connections = [insider.open(insider.head(f"GET /api/stream?device={id}"), receive=1024) for id in ids]
    insider.each(lambda _: insider.post(), range(1000), threads=16)
    for connection in connections:
        connection.close()
    connections = [insider.open(insider.head(f"GET /api/stream?device={id}", Last_Event_ID="1"), receive=1024) for id in ids]
    time.sleep(4)
    for connection in connections:
        connection.close()


@move(
    "Searches without an end", "the audit for a word that no entry has, all users, devices and failed pushes, and explanations, on 16 "
    "connections", "200, 429 rate-limited?, 503 busy?", role="viewer",
)
def searches(insider):
    paths = ["audit?words=nothing", "users?limit=500", "devices?limit=500", "deliveries?limit=500", f"why/{insider.name}"]
    ask = lambda number: insider.ask("GET", f"/api/{paths[number % len(paths)]}", authorization=insider.password)
    insider.repeat(ask, threads=16, seconds=5)
