"""Passwords, tokens, roles: what an insider may not be, and what checking it costs the others."""

import json
import random
import re
import time

from sealpost_e2e import api, rig
from sealpost_e2e.insiders.insider import move, word

HOME = "127.0.20.1"
# Within which an owner who signs in beside the guesses must be in.
SIGN_IN = 5


def spelled(name, password=api.PASSWORD):
    """The right credentials in a spelling that is not remembered: names are compared without case."""
    return api.basic("".join(random.choice((letter, letter.upper())) for letter in name), password)


def sign_in_as_owner(insider, source, place):
    """victor's sign-in, which the guesses are to keep out."""
    start = time.monotonic()
    answer = insider.ask("GET", "/api/register", authorization=spelled("victor"), source=source, counts=False)
    seconds = time.monotonic() - start
    if answer.status != 200 or seconds > SIGN_IN:
        insider.harm(f"the owner was answered {answer.status} from {place} after {seconds:.1f} s")


@move(
    "Another's password by guessing", "wrong passwords from the owner's own address; then the owner signs in there and elsewhere",
    "401 unauthorized, 429 too-many-attempts",
    before="seen: nine guesses of a neighbour, then 429 for the right password",
)
def guessed_password(insider):
    sign_in_as_owner(insider, HOME, "home")
    guess = lambda number: insider.ask("GET", "/api/register", authorization=api.basic("victor", f"guess {number}"), source=HOME)
    for number in range(40):
        guess(number)
    sign_in_as_owner(insider, HOME, "home")
    sign_in_as_owner(insider, "127.0.20.2", "a new address")


@move(
    "Guesses that claim to come from elsewhere", "another `X-Forwarded-For` and `Forwarded` with each, and `X-Remote-User`",
    "401 unauthorized, 429 too-many-attempts",
)
def claimed_addresses(insider):
    for number in range(60):
        fields = {"X-Forwarded-For": f"198.51.100.{number}", "Forwarded": f"for=198.51.100.{number}", "X-Remote-User": "root"}
        insider.ask("GET", "/api/register", fields=fields, authorization=api.basic("victor", f"guess {number}"))
    insider.ask("GET", "/api/users", fields={"X-Remote-User": "root"}, authorization="")


@move(
    "Sign-ins without an end", "wrong passwords to its own account and to a thousand names, 32 at a time, from 32 addresses; an "
    "owner signs in meanwhile", "401 unauthorized, 429 too-many-attempts?, 503 busy?",
)
def sign_in_storm(insider):
    sign_in_as_owner(insider, HOME, "home")

    def guess(number):
        name = insider.name if number % 3 else f"nobody-{random.randrange(1000)}"
        insider.ask("GET", "/api/register", authorization=api.basic(name, word()), source=f"127.2.0.{number % 32 + 1}")

    def owner():
        time.sleep(3)
        sign_in_as_owner(insider, HOME, "home")

    insider.together([lambda: insider.keep_on(guess, threads=32, seconds=6), owner])


@move(
    "Changes of the own password without an end", "16 at a time; users who are remembered must not be hashed again",
    "204, 403 forbidden?, 401 unauthorized?, 429 too-many-attempts?, 429 rate-limited?, 503 busy?",
    before="seen: each emptied everybody's remembered credentials: 49–73 ms for others in place of 1",
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
    insider.together([lambda: insider.keep_on(change, threads=16, seconds=6), owner])
    if sum(time > 1 for time in times):
        insider.harm(f"a remembered owner waited for {max(times):.1f} s")


@move(
    "Sessions without an end", "600 of them; of more than a hundred the oldest ends", "201, 401 invalid-token, 429 rate-limited?"
)
def session_storm(insider):
    first = insider.ask("POST", "/api/sessions", authorization=insider.password)
    insider.each(lambda _: insider.ask("POST", "/api/sessions", authorization=insider.password), range(600))
    insider.ask("GET", "/api/register", authorization="Bearer " + json.loads(first.text)["Token"])


@move(
    "Tokens that may do more than it may", "scopes beyond the role, a session from a token, a token for itself, and use of a "
    "token beyond its scopes", "201, 400 invalid-member, 403 forbidden, 403 insufficient-scope",
)
def wider_tokens(insider):
    def session(body, authorization=insider.password):
        return insider.ask("POST", "/api/sessions", body, authorization=authorization)

    for scopes in (["manage"], ["fetch", "manage"], ["admin"], [""], ["fetch", 7]):
        session({"Scopes": scopes})
    session({"Scopes": ["fetch"]}, insider.authorization)
    for body in ({"User": insider.name}, {"User": "root", "Scopes": ["manage"]}):
        insider.ask("POST", "/api/tokens", body)
    fetching = "Bearer " + json.loads(session({"Scopes": ["fetch"]}).text)["Token"]
    insider.post(authorization=fetching)
    insider.ask("POST", "/api/register", authorization=fetching)
    passwords = {"Current": "a guess of it", "New": "something else 1"}
    insider.ask("PUT", "/api/users/current/password", passwords, authorization=fetching)


@move(
    "Another's enrolment", "asks for codes of users with a password, of itself and of an administrator, and uses "
    "made-up codes", "403 enrolment-refused, 403 forbidden, 403 insufficient-scope, 404 not-found, 429 too-many-attempts?",
    role="publisher",
)
def anothers_enrolment(insider):
    for name in (insider.site.vera.name, insider.site.victor.name, "root", insider.name):
        path = f"/api/users/{name}/enrolment"
        if insider.ask("POST", path, {"Scopes": ["fetch"]}, authorization=insider.password).status == 201:
            insider.harm(f"it has got a code of {name}")
    insider.ask("POST", "/api/users/nobody-at-all/enrolment", authorization=insider.password)
    insider.ask("POST", f"/api/users/{insider.site.vera.name}/enrolment")
    for number in range(40):
        insider.ask("POST", "/api/enrolment", {"Code": f"{number:025d}"}, authorization="")


@move(
    "Routes of administrators", "each operation that `openapi.json` has for administrators, with another's, root's and no name, and its "
    "own account with another role", "403 forbidden", role="publisher",
)
def managing(insider):
    for method, path in administrators_operations():
        for name in ("vera", "root", "nobody-at-all"):
            insider.ask(method, path.replace("{id}", name), None if method == "GET" else {})
    for method, path, body in (
        ("POST", "/api/users", {"Name": "x", "Password": "long enough 1"}),
        ("PATCH", "/api/users/" + insider.name, {"Role": "admin"}),
        ("PATCH", "/api/users/vera", {"Password": "long enough 1"}),
        ("PATCH", "/api/users/root", {"Disabled": True}), ("GET", "/api/tokens?user=vera", None),
        ("POST", "/api/tokens", {"User": "vera"}), ("DELETE", "/api/tokens/spt_00000000", None),
        ("POST", "/api/lanes/retry", {"Lane": "apns"}),
    ):
        insider.ask(method, path, body)


def administrators_operations():
    """What the document says is for administrators: method and path."""
    document = json.loads((rig.ROOT / "Sources/PushServer/openapi.json").read_text())
    found = [
        (method.upper(), path) for path, item in document["paths"].items() for method, operation in item.items()
        if "For users with the role `admin`" in operation["description"]
    ]
    if len(found) < 10:
        raise SystemExit("openapi.json no longer says what is for administrators")
    return found


@move(
    "Paths of the local socket", "`/local/…`, which only the administrators' socket on the machine has, by all methods",
    # To HEAD there is no content, and so no code.
    "404 not-found, 404",
)
def local_paths(insider):
    names = re.findall(r'"(/local/\w+)"', (rig.ROOT / "Sources/PushServer/Local/LocalPaths.swift").read_text())
    if not names:
        raise SystemExit("LocalPaths.swift names no paths")
    for path in (*names, "/local", "/local/", *(f"{name}/" for name in names)):
        for method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"):
            insider.ask(method, path, None if method in ("GET", "HEAD") else {})


@move(
    "Dead and made-up credentials", "an ended session, tokens of the right form, other schemes, as fast as it can",
    "204, 401 invalid-token, 401 unauthorized, 429 too-many-attempts",
)
def dead_credentials(insider):
    session = insider.ask("POST", "/api/sessions", authorization=insider.password, counts=False)
    token = "Bearer " + json.loads(session.text)["Token"]
    insider.ask("DELETE", "/api/sessions/current", authorization=token)
    insider.ask("GET", "/api/register", authorization="")
    # The console's session, without the value that goes with its cookie and with a made-up one.
    cookie = insider.ask(
        "POST", "/api/sessions", {"Cookie": True}, authorization=insider.password, counts=False
    ).fields["Set-Cookie"].split(";")[0]
    for fields in ({}, {"Page-Token": "0" * 32}):
        insider.ask("GET", "/api/register", authorization="", fields={"Cookie": cookie, **fields})
    made_up = [token, f"Bearer spt_{'0' * 39}", "Bearer x", "Bearer " + "x" * 4000, "Basic !", "Negotiate abc", "Digest username=root"]
    insider.keep_on(lambda number: insider.ask("GET", "/api/register", authorization=made_up[number % len(made_up)]), seconds=3)
