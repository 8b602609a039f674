"""Calls to a server that follows a script."""

import contextlib
import dataclasses
import itertools
import json
import pathlib
import socket
import sys
import threading
import unittest
from datetime import datetime, timedelta
from unittest import mock

sys.path.append(str(pathlib.Path(__file__).resolve().parents[3] / "scripts"))

from sealpost import Client, Interference, Notification, Overloaded, Problem, Refused, Sent, Unreachable, Webhook, user
from sealpost_e2e import listening, receiver

SENT = {
    "Id": 7, "CreatedAt": "2026-11-28T10:00:00Z", "SendAt": None, "ExpiresAt": "2026-12-28T10:00:00Z",
    "Recipients": 1, "Pushes": 1, "More": False, "Another": "member",
}


def fields(request):
    lines = request.partition(b"\r\n\r\n")[0].decode().split("\r\n")[1:]
    return {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}


def answer(request, status, value, *lines, echo=True):
    """The bytes of an answer with the right echo."""
    body = json.dumps(value).encode()
    token = [f"MyToken: {int(fields(request)['mytoken']) * 17 + 3}"] * echo
    head = [f"HTTP/1.1 {status} Word", f"Content-Length: {len(body)}", *token, *lines, "", ""]
    return "\r\n".join(head).encode() + body


def refusal(request, status, code, *lines):
    return answer(request, status, {"type": f"urn:sealpost:problem:{code}", "title": "T", "status": status, "instance": "i"}, *lines)


def sent(request):
    return answer(request, 201, SENT)


class Script(listening.Listener):
    """Answers each request with the next step.

    A step is a function of the request that makes the pieces to send; None hangs up.
    """

    def __init__(self, *steps):
        self.steps, self.requests, self.connections = list(steps), [], 0
        self.pause = threading.Event()
        super().__init__()

    def serve(self, connection):
        self.connections += 1
        content = b""
        with connection, contextlib.suppress(OSError):
            while True:
                while (request := receiver.split(content)) is None:
                    if not (more := connection.recv(65_536)):
                        return
                    content += more
                content = content[len(request):]
                self.requests.append(request)
                pieces = self.steps.pop(0)(request)
                for piece in [pieces] if isinstance(pieces, bytes) else pieces:
                    if piece is None:
                        return
                    connection.sendall(piece)
                    if not isinstance(pieces, (bytes, list)):
                        self.pause.wait(0.02)


class CallTests(unittest.TestCase):
    def setUp(self):
        self.delays = []
        pause = mock.patch("sealpost.client.time.sleep", self.delays.append)
        pause.start()
        self.addCleanup(pause.stop)

    def client(self, *steps, **options):
        self.script = Script(*steps)
        self.addCleanup(self.script.close)
        client = Client(f"http://127.0.0.1:{self.script.port}", "spt_x", **options)
        self.addCleanup(client.close)
        return client

    def test_no_keys_are_not_the_same_as_an_empty_list(self):
        Client("https://push.example.com", "x", signing_keys=None)
        for keys in ([], (), iter(())):
            with self.subTest(keys), self.assertRaisesRegex(ValueError, "there is no key"):
                Client("https://push.example.com", "x", signing_keys=keys)

    def test_an_answer_that_is_cut_anywhere_is_requested_again(self):
        whole = sent(b"POST / HTTP/1.1\r\nMyToken: 126322567\r\n\r\n")
        # The length of an answer depends on the random `MyToken`.
        cut = [lambda request, length=length: [sent(request)[:-1][:length], None] for length in range(0, len(whole), 7)]
        client = self.client(*[step for one in cut for step in (one, sent)], deadline=1e9)
        for _ in cut:
            self.assertEqual(client.send(Notification("x")).id, 7)
        self.assertEqual(self.script.steps, [])

    def test_a_path_a_method_or_a_body_that_no_request_can_have_is_refused_before_a_request(self):
        client = self.client()
        for path in ("", "api/users", "@127.0.0.1:2/", "/a b", "/x\r\nA: b", "/é", "/x#y", "/%zz", "/x\n", "/a\\b"):
            with self.subTest(path), self.assertRaisesRegex(ValueError, "^(a path begins|path: percent-encode)"):
                client.call("GET", path)
        for method, body, expected in (
            ("GET ", None, "method: 'GET ' is not one of GET, HEAD, POST"), ("TRACE", None, "method: 'TRACE' is"), ("get", None, "method: 'get' is"), (None, None, "method: None is"),
            ("GET", {}, "body: a request with GET has no body"), ("HEAD", 0, "body: "),
        ):
            with self.subTest(expected), self.assertRaisesRegex(ValueError, f"^{expected}"):
                client.call(method, "/api/users", body)
        self.assertEqual(self.script.requests, [])

    def test_keys_are_those_of_the_named_user_only(self):
        keys = lambda name: lambda request: answer(request, 200, {"Users": [{"Name": name, "Account": "a", "Devices": [{"Id": "d", "Key": None}]}]})
        spellings = ["username:alice", "USERNAME:Alice", " username:alice ", "( (Username:ALICE ))"]
        others = ["news", "!username:alice", "username:alice || news", "(username:alice) || (news)", "username:alice:b", "u\u017fername:alice"]
        client = self.client(keys("Alice"), *[keys("mallory")] * (len(spellings) + len(others)))
        self.assertEqual([found.keys for found in client.device_keys(user("alice"), app="clinic")], [[None]])
        self.assertIn(b"GET /api/keys?to=username%3Aalice&app=clinic ", self.script.requests[0])
        for expression in spellings:
            with self.subTest(expression), self.assertRaises(Interference):
                client.device_keys(expression)
        for expression in others:
            self.assertEqual(client.device_keys(expression)[0].name, "mallory")  # The server decides who has a tag.

    def test_a_list_that_names_a_user_twice_is_refused(self):
        users = [{"Name": name, "Account": "a", "Devices": []} for name in ("alice", "bob", "ALICE")]
        client = self.client(*[lambda request, found=found: answer(request, 200, {"Users": found}) for found in (users[:2], users, users[::2])])
        self.assertEqual(len(client.device_keys("news")), 2)
        for expression in ("news", "username:alice"):
            with self.subTest(expression), self.assertRaisesRegex(Interference, "unexpectedBody"):
                client.device_keys(expression)

    def test_retries_have_one_key_and_one_body_and_end_with_the_answer(self):
        hang_up = lambda request: [None]
        half = lambda request: [sent(request)[:-5], None]
        busy = lambda request: refusal(request, 503, "busy", "Retry-After: 7")
        proxy = lambda request: answer(request, 502, "Bad gateway", echo=False)
        in_use = lambda request: refusal(request, 409, "idempotency-key-in-use")
        client = self.client(hang_up, half, busy, proxy, in_use, sent)
        self.assertEqual(client.send(Notification("é", to=user("alice"))).id, 7)
        self.assertEqual(len({fields(request)["idempotency-key"] for request in self.script.requests}), 1)
        self.assertEqual({request.partition(b"\r\n\r\n")[2].decode() for request in self.script.requests}, {'{"Payload":"é","To":["username:alice"]}'})
        self.assertEqual(len({fields(request)["mytoken"] for request in self.script.requests}), 6)
        self.assertEqual(len(self.delays), 5)
        self.assertTrue(7 < self.delays[2] < 8.01, self.delays)
        self.assertTrue(all(delay < 4.01 for number, delay in enumerate(self.delays) if number != 2), self.delays)

    def test_a_delay_beyond_the_deadline_is_not_waited_for(self):
        client = self.client(lambda request: refusal(request, 429, "rate-limited", "Retry-After: 60"))
        with self.assertRaises(Overloaded) as caught:
            client.send(Notification("x"), key="order-1", deadline=60)
        self.assertEqual((caught.exception.retry_after, caught.exception.code, caught.exception.idempotency_key), (60, "rate-limited", "order-1"))
        self.assertEqual(self.delays, [])

    def test_final_answers_are_not_repeated(self):
        for step, error in (
            (lambda request: refusal(request, 400, "unknown-user"), Refused),
            (lambda request: answer(request, 200, "Welcome to the hotel", echo=False), Interference),
            (lambda request: answer(request, 302, None, "Location: /login"), Interference),
            (lambda request: answer(request, 201, {"Id": 7}), Interference),
            *[(lambda request, other=other: answer(request, 201, {**SENT, **other}), Interference) for other in (
                {"Id": None}, {"Id": "7"}, {"Id": 7.5}, {"Id": True}, {"More": None}, {"More": 0}, {"Recipients": "1"}, {"CreatedAt": None},
                {"CreatedAt": 5}, {"CreatedAt": "x"},
            )],
            (lambda request: answer(request, 404, {"status": 404}), Interference),
        ):
            with self.subTest(error=error), self.assertRaises(error):
                self.client(step).send(Notification("x"))
            self.assertEqual(len(self.script.requests), 1)
        self.assertEqual(self.delays, [])

    def test_an_answer_whose_body_is_cut_is_none(self):
        with self.assertRaisesRegex(Unreachable, "the answer with status 201 was cut off") as caught:
            self.client(lambda request: [sent(request)[:-5], None]).call("POST", "/api/notifications", {"Payload": "x"})
        self.assertTrue(caught.exception.is_transient)

    def test_an_answer_that_drips_ends_with_the_deadline(self):
        drip = lambda request: itertools.chain([b"HTTP/1.1 200 OK\r\nX: "], itertools.repeat(b"x"))
        with self.assertRaisesRegex(Unreachable, "timed out"):
            self.client(drip, deadline=0.2).counts(7)

    def test_a_time_limit_may_be_longer_than_the_system_can_wait(self):
        for limit in (1e8, 1e10, 1e300, 10**300):
            with self.subTest(limit):
                self.assertEqual(self.client(sent, timeout=limit, deadline=limit).send(Notification("x")).id, 7)

    def test_an_endless_answer_is_not_kept_in_memory(self):
        endless = lambda request: b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + b"100000\r\n" + bytes(1 << 20) + b"\r\n"
        with mock.patch("sealpost.transport.MAXIMUM_BODY", 1 << 16), self.assertRaisesRegex(Interference, "oversized"):
            self.client(endless).counts(7)

    def test_informational_answers_are_skipped_up_to_a_number(self):
        hint = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nMyToken: 3\r\n\r\n"
        for before in (b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 102 Processing\r\n\r\n", hint, hint * 15):
            with self.subTest(before):
                client = self.client(*[lambda request: before + sent(request)] * 2)
                self.assertEqual([client.send(Notification("x")).id for _ in range(2)], [7, 7])
                self.assertEqual(self.script.connections, 1)
        with self.assertRaisesRegex(Unreachable, "too many informational answers"):
            self.client(lambda request: hint * 16 + sent(request), deadline=0.1).send(Notification("x"))
        with self.assertRaisesRegex(Interference, "status 101"):
            self.client(lambda request: b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + sent(request)).send(Notification("x"))

    def test_an_address_that_refuses_connections_is_unreachable(self):
        with socket.socket() as silent:
            silent.bind(("127.0.0.1", 0))
            with self.assertRaisesRegex(Unreachable, "refused"):
                Client(f"http://127.0.0.1:{silent.getsockname()[1]}", "t", deadline=0.1).recall(7)

    def test_answers_of_another_account_are_refused(self):
        own, other = "Sealpost-Account: own", "Sealpost-Account: other"
        client = self.client(lambda request: answer(request, 201, SENT, own), lambda request: answer(request, 201, SENT, other))
        client.send(Notification("x"))
        with self.assertRaisesRegex(Interference, "wrongAccount"):
            client.send(Notification("x"))

    def test_a_token_may_be_a_function_and_connections_are_kept(self):
        tokens = iter(["one", "two"])
        script = Script(sent, sent)
        self.addCleanup(script.close)
        with Client(f"http://127.0.0.1:{script.port}/base/", lambda: next(tokens)) as client:
            client.send(Notification("x"))
            client.send(Notification("x"))
        self.assertEqual([fields(request)["authorization"] for request in script.requests], ["Bearer one", "Bearer two"])
        self.assertTrue(script.requests[0].startswith(b"POST /base/api/notifications HTTP/1.1\r\n"))
        self.assertEqual(script.connections, 1)

    def test_a_connection_that_the_server_has_closed_costs_one_retry(self):
        client = self.client(lambda request: [sent(request), None], sent)
        for _ in range(2):
            self.assertEqual(client.send(Notification("x")).id, 7)
        self.assertLessEqual(len(self.delays), 1)

    def test_a_forked_process_opens_its_own_connections(self):
        client = self.client(sent, sent)
        client.send(Notification("x"))
        with mock.patch("sealpost.transport.os.getpid", return_value=0):
            client.send(Notification("x"))
        self.assertEqual(self.script.connections, 2)

    def test_other_calls_have_the_names_of_the_api_and_a_post_is_sent_once(self):
        hang_up, busy = lambda request: [None], lambda request: refusal(request, 503, "busy")
        client = self.client(busy, lambda request: answer(request, 200, {"Name": "bob"}), hang_up, lambda request: answer(request, 204, None).partition(b"null")[0])
        self.assertEqual(client.call("GET", "/api/users/bob", query={"app": "a&b"}), {"Name": "bob"})
        with self.assertRaises(Unreachable):
            client.call("POST", "/api/users", {"Name": "bob"})
        self.assertIsNone(client.call("DELETE", "/api/users/bob"))
        lines = [request.partition(b"\r\n")[0].decode() for request in self.script.requests]
        get = "GET /api/users/bob?app=a%26b HTTP/1.1"
        self.assertEqual(lines, [get, get, "POST /api/users HTTP/1.1", "DELETE /api/users/bob HTTP/1.1"])
        self.assertEqual(self.script.requests[2].partition(b"\r\n\r\n")[2], b'{"Name":"bob"}')

    def test_a_call_whose_path_is_none_sends_nothing(self):
        client = self.client()
        for path in ("", "api/users", "@127.0.0.1:2/"):
            with self.assertRaises(ValueError):
                client.call("GET", path)
        self.assertEqual(self.script.requests, [])

    def test_unfinished_elements_of_a_batch_are_sent_by_the_same_request(self):
        good = {"Status": 201, **SENT}
        bad = {"Status": 400, "Problem": {"type": "urn:sealpost:problem:unknown-user", "title": "T", "status": 400}}
        busy = {"Status": 503, "Problem": {"type": "urn:sealpost:problem:busy", "title": "T", "status": 503}}
        client = self.client(
            lambda request: answer(request, 200, {"Outcomes": [good, bad, busy]}),
            lambda request: answer(request, 200, {"Outcomes": [good, bad, good]}),
            lambda request: answer(request, 200, {"Outcomes": [good, bad, busy]}),
        )
        three = [Notification(number) for number in range(3)]
        self.assertEqual([type(outcome) for outcome in client.send_many(three, key="k")], [Sent, Refused, Sent])
        first, second = self.script.requests
        self.assertEqual(fields(first)["idempotency-key"], "k-0")
        self.assertEqual(first.partition(b"\r\n\r\n")[2], second.partition(b"\r\n\r\n")[2])
        with mock.patch("sealpost.client.FIRST_DELAY", 1000), mock.patch("sealpost.client.LAST_DELAY", 1000):
            outcomes = client.send_many(three, key="k")
        self.assertEqual([isinstance(outcome, Problem) and outcome.code for outcome in outcomes], [False, "unknown-user", "busy"])

    def test_long_batches_are_cut_by_number_and_by_bytes(self):
        good = {"Status": 201, **SENT}
        outcomes = lambda request: answer(request, 200, {"Outcomes": [good] * len(json.loads(request.partition(b"\r\n\r\n")[2])["Notifications"])})
        client = self.client(*[outcomes] * 5)
        self.assertEqual(len(client.send_many(Notification("x") for _ in range(501))), 501)
        self.assertEqual(len(client.send_many([Notification("x" * 1_500_000)] * 3)), 3)
        self.assertEqual(len(self.script.requests), 4)
        self.assertEqual(client.send_many([], key="k" * 200), [])


class NotificationTests(unittest.TestCase):
    def test_members_are_those_of_the_api(self):
        notification = Notification(
            None, to="news", send_at=datetime.fromisoformat("2026-11-22T08:30:00+01:00"), expires_in=timedelta(hours=1), read_once=True,
            collapse_key="k", platforms=["apns"],
        )
        self.assertEqual(
            json.loads(notification.body()),
            {
                "To": ["news"], "Platforms": ["apns"], "SendAt": "2026-11-22T08:30:00+01:00", "ExpiresIn": 3600, "CollapseKey": "k",
                "ReadOnce": True,
            },
        )

    def test_a_notification_without_to_names_no_recipient(self):
        notification = Notification("x")
        self.assertEqual(notification.body(), b'{"Payload":"x"}')
        self.assertEqual(dataclasses.replace(notification, payload="y").body(), b'{"Payload":"y"}')
        self.assertEqual(Notification("x", to=()).body(), b'{"Payload":"x","To":[]}')  # The server refuses it.

    def test_values_that_are_not_of_the_api_are_refused_before_a_request(self):
        for notification in (Notification("x", send_at=datetime(2026, 11, 22)), Notification(float("nan")), Notification("\ud800")):
            with self.subTest(notification=notification), self.assertRaises(ValueError):
                notification.body()
        with self.assertRaises(TypeError):
            Notification(object()).body()
        deep = "x"
        for level in range(20_000):
            if level == 63:  # The object of the notification is one level, too.
                Notification(deep).body()
            deep = [deep] if level % 2 else {"a": deep}
            if level in (63, 19_999):
                for call in (Notification(deep).body, lambda: Client("http://127.0.0.1:1", "t").call("POST", "/api/x", {"a": deep})):
                    with self.assertRaisesRegex(ValueError, "more than 64 levels of nesting"):
                        call()
        for key in ("", "a b", "é", "a\r\nb", 0):
            with self.subTest(key=key), self.assertRaisesRegex(ValueError, "visible ASCII"):
                Client("http://127.0.0.1:1", "t").send(Notification("x"), key=key)
        for call in (lambda client: client.send(Notification("x"), key="k" * 201), lambda client: client.send_many([], key="k" * 201)):
            with self.assertRaisesRegex(ValueError, "^key must have at most 200 characters, not 201$"):
                call(Client("http://127.0.0.1:1", "t"))

    def test_options_that_are_no_numbers_are_refused(self):
        client = Client("http://127.0.0.1:1", "t")
        for value, error in ((float("nan"), ValueError), (float("inf"), ValueError), (10**400, ValueError), (-1, ValueError), ("10", TypeError), (True, TypeError), (timedelta(seconds=1), TypeError)):
            for name, call in (
                ("timeout", lambda: Client("http://127.0.0.1:1", "t", timeout=value)), ("deadline", lambda: Client("http://127.0.0.1:1", "t", deadline=value)),
                ("deadline", lambda: client.send(Notification("x"), deadline=value)), ("deadline", lambda: client.send_many([], deadline=value)),
                ("deadline", lambda: next(client.devices("alice", deadline=value))), ("tolerance", lambda: Webhook("x" * 24, tolerance=value)),
            ):
                with self.subTest(name, value=value), self.assertRaisesRegex(error, f"^{name} must be "):
                    call()

    def test_the_error_about_a_token_with_a_line_break_does_not_print_it(self):
        for token in ("spt_secret\n", "spt_secret spt_other", lambda: "spt_secret\n", "", b"spt_secret", lambda: None):
            with self.assertRaisesRegex(ValueError, "^token must have") as error:
                Client("http://127.0.0.1:1", token).send(Notification("x"))
            self.assertNotIn("secret", str(error.exception))

    def test_values_of_another_type_are_refused_before_a_request(self):
        client, server = Client("http://127.0.0.1:1", "t"), "http://sealpost:8080"
        for expected, call in (
            ("is_insecure_allowed must be of type bool, not str", lambda: Client(server, "t", is_insecure_allowed="false")),
            ("is_insecure_allowed must be of type bool, not int", lambda: Client(server, "t", is_insecure_allowed=1)),
            ("is_disabled must be of type bool, not NoneType", lambda: client.set_disabled("bob", None)),
            ("is_disabled must be of type bool, not str", lambda: client.set_disabled("bob", "true")),
            ("tags must be a list of str", lambda: client.set_tags("bob", "role:nurse")),
            ("tags must be a list of str", lambda: client.set_tags("bob", [None])),
            ("signing_keys must be a list of str", lambda: Client("https://x", "t", signing_keys="A" * 43)),
            ("user must be a list of str", lambda: Client("https://x", user=("paul", None))),
            ("user must be a name and a password", lambda: Client("https://x", user=())),
            ("account must have visible ASCII", lambda: Client("https://x", "t", account="")),
            ("server must be of type str, not int", lambda: Client(5, "t")),
            ("notification must be of type Notification, not str", lambda: client.send("text")),
            ("notification must be of type Notification, not str", lambda: client.send_many("text")),
            ("notifications must be of type Iterable, not NoneType", lambda: client.send_many(None)),
            ("expression must be of type str, not NoneType", lambda: client.device_keys(None)),
            ("signing_keys: a signing key is 32 bytes", lambda: Client("https://x", "t", signing_keys=["x"])),
            ("timeout must be above 0", lambda: Client("https://x", "t", timeout=0)),
            ("deadline must be above 0", lambda: Client("https://x", "t", deadline=0.0)),
            ("deadline must be above 0", lambda: client.send(Notification("x"), deadline=0)),
            ("name must be of type str, not NoneType", lambda: client.tags(None)),
            ("path must be of type str, not NoneType", lambda: client.call("GET", None)),
            ("path must be of type str, not int", lambda: client.call("GET", 5)),
            ("path must be of type str, not bytes", lambda: client.call("GET", b"/api/users")),
            ("id must be of type int, not bool", lambda: client.recall(True)),
            ("id must be of type int, not str", lambda: client.recall("7")),
            ("id must be of type int, not bool", lambda: client.counts(False)),
            ("id must be of type int, not NoneType", lambda: client.deliveries(None)),
            ("id must be of type int, not float", lambda: client.recipients(7.0)),
            ("to must not be None", lambda: client.send(Notification("x", to=None))),
            ("to must not be None", lambda: client.send_many([Notification("x"), Notification("x", to=None)])),
            ("send_at must be of type datetime, not str", lambda: client.send(Notification("x", send_at="tomorrow"))),
        ):
            with self.subTest(expected), self.assertRaisesRegex((TypeError, ValueError), f"^{expected}"):
                call()

    def test_a_member_of_a_subclass_is_not_sent(self):
        @dataclasses.dataclass(frozen=True)
        class Other(Notification):
            Payload: str = "clear"

        self.assertEqual(Other("x").body(), b'{"Payload":"x"}')

    def test_a_name_cannot_change_a_tag_expression(self):
        self.assertEqual(user("alice@example.com"), "username:alice@example.com")
        for name in ("", "a || news", "a)", "!a", "a:b", "é", "a" * 101, "a\n"):
            with self.subTest(name=name), self.assertRaises(ValueError):
                user(name)

    def test_a_name_that_a_path_cannot_have_is_refused_before_a_request(self):
        client = Client("http://127.0.0.1:1", "t", deadline=0.1)
        for name in (".", "..", ""):
            for call in (client.tags, lambda name: client.set_tags(name, []), lambda name: client.set_disabled(name, True), client.delete_user):
                with self.subTest(name=name), self.assertRaisesRegex(ValueError, f"^'{name}' (cannot be a part of a path|is not the name)"):
                    call(name)

    def test_an_address_must_be_a_server(self):
        for server in ("push.example.com", "ftp://x", "https://", "https://u:p@x", "https://x/?a", "https://x:port"):
            with self.subTest(server=server), self.assertRaises(ValueError):
                Client(server, "t")

    def test_http_is_refused_for_other_machines(self):
        for server in ("http://push.example.com", "http://localhost.example.com", "http://127.0.0.1.example.com", "HTTP://10.0.0.1:8080"):
            with self.subTest(server=server), self.assertRaisesRegex(ValueError, "http sends the token in clear"):
                Client(server, "t")
        for server in ("http://localhost:8080", "http://LOCALHOST", "http://127.0.0.1:8080", "http://127.9.9.9", "http://[::1]:8080"):
            Client(server, "t")
        Client("http://sealpost:8080", "t", is_insecure_allowed=True)


if __name__ == "__main__":
    unittest.main()
