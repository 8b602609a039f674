#!/usr/bin/env python3
"""Sends a notification to one user and prints its path. Needs only Python.

    SEALPOST_TOKEN=spt_… examples/publish.py https://push.example.com alice "Your test result is in."

The token is a publisher's, with the scope `send`: sealpost token create NAME --scope send
"""

import json
import os
import random
import sys
import time
import urllib.error
import urllib.request
import uuid

ATTEMPTS = 5
# Statuses to retry: a timeout, a rate limit, or a server that is overloaded, out of space or restarting.
TRANSIENT = {408, 429, 500, 502, 503, 504, 507}


def publish(server, token, user, payload):
    """Sends the payload, any JSON, and returns the path of the notification.

    Raises the last error after five attempts.
    """
    request = urllib.request.Request(
        f"{server}/api/notifications",
        data=json.dumps({"Payload": payload, "To": [f"username:{user}"]}).encode(),
        headers={
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            # The key is the same on every attempt, so that the server stores a request once if its answer was lost.
            "Idempotency-Key": str(uuid.uuid4()),
        },
    )
    for attempt in range(ATTEMPTS):
        pause = 2**attempt * random.uniform(0.5, 1)
        try:
            with urllib.request.urlopen(request, timeout=20) as response:
                return response.headers["Location"]
        except urllib.error.HTTPError as error:
            if error.code not in TRANSIENT or attempt == ATTEMPTS - 1:
                raise
            pause = max(pause, int(error.headers.get("Retry-After", 0)))
        except OSError:
            if attempt == ATTEMPTS - 1:
                raise
        time.sleep(pause)


def main():
    if len(sys.argv) != 4:
        raise SystemExit(f"usage: {sys.argv[0]} SERVER USER TEXT")
    server, user, text = sys.argv[1:]
    try:
        print(publish(server, os.environ["SEALPOST_TOKEN"], user, text))
    except urllib.error.HTTPError as error:
        # problem+json: `type` is the stable code, see docs/errors.md.
        raise SystemExit(f"{error.code}: {error.read().decode()}")
    except OSError as error:
        raise SystemExit(f"{server} cannot be reached: {error}")


if __name__ == "__main__":
    main()
