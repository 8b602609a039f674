#!/usr/bin/env python3
"""Sends a notification to one user and prints its path, with the library in Clients/python (docs/backends.md).

    SEALPOST_TOKEN=spt_… examples/publish.py https://push.example.com alice "Your test result is in."

The token is a publisher's, with the scope `send`: sealpost token create NAME --scope send
"""

import os
import pathlib
import sys

# Without this line, the library would have to be installed; in a clone it is in this folder.
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "Clients/python"))

from sealpost import Client, Notification, SealpostError, user


def main():
    if len(sys.argv) != 4:
        raise SystemExit(f"usage: {sys.argv[0]} SERVER USER TEXT")
    server, name, text = sys.argv[1:]
    try:
        sent = Client(server, os.environ["SEALPOST_TOKEN"]).send(Notification(text, to=user(name)))
    except (SealpostError, ValueError) as error:
        raise SystemExit(str(error))
    print(f"/api/notifications/{sent.id}")


if __name__ == "__main__":
    main()
