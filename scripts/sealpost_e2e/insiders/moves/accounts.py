"""Passwords and tokens: the cost for others of checking them."""

import random
import time

from sealpost_e2e import api
from sealpost_e2e.insiders.insider import move, word

HOME = "127.0.20.1"
SIGN_IN = 5  # Seconds for a sign-in of the owner during the guesses.


def spelled(name):
    """The right credentials in an uncached spelling: the server compares names without case."""
    return api.basic("".join(random.choice((letter, letter.upper())) for letter in name))


def sign_in_as_owner(insider, *sources):
    """victor's sign-in from each address, which the guesses try to block."""
    for source in sources:
        start = time.monotonic()
        answer = insider.ask("GET", "/api/register", authorization=spelled("victor"), source=source, counts=False)
        seconds = time.monotonic() - start
        if answer.status != 200 or seconds > SIGN_IN:
            insider.harm(f"the owner was answered {answer.status} from {source} after {seconds:.1f} s")


@move(
    "Sign-ins without an end", "wrong passwords to its own account, an owner's and a thousand names, 32 at a time, from 32 addresses; "
    "the owner signs in meanwhile, from where it has been and from elsewhere", "401 unauthorized, 429 too-many-attempts?, 503 busy?",
)
def sign_in_storm(insider):
    sign_in_as_owner(insider, HOME)

    def guess(number):
        name = (f"nobody-{random.randrange(1000)}", insider.name, "victor")[number % 3]
        insider.ask("GET", "/api/register", authorization=api.basic(name, word()), source=f"127.2.0.{number % 32 + 1}")

    def owner():
        time.sleep(3)
        sign_in_as_owner(insider, HOME, "127.0.20.2")

    insider.together([lambda: insider.repeat(guess, threads=32, seconds=6), owner])


@move(
    "Changes of the own password without an end", "16 at a time; the server must not hash the passwords of cached users again",
    "204, 403 forbidden?, 401 unauthorized?, 429 too-many-attempts?, 429 rate-limited?, 503 busy?",
)
def password_storm(insider):
    remembered = api.basic("victor")
    ask = lambda: insider.ask("GET", "/api/register", authorization=remembered, source=HOME, counts=False)
    ask()
    times = []

    def owner():
        end = time.monotonic() + 6
        while time.monotonic() < end:
            start = time.monotonic()
            if ask().status != 200:
                insider.harm("the remembered owner was not answered")
            times.append(time.monotonic() - start)
            time.sleep(0.05)

    change = lambda number: insider.ask("PUT", "/api/users/current/password",
        {"Current": api.PASSWORD, "New": api.PASSWORD}, authorization=insider.password)
    insider.together([lambda: insider.repeat(change, threads=16, seconds=6), owner])
    if sum(time > 1 for time in times):
        insider.harm(f"a remembered owner waited for {max(times):.1f} s")
