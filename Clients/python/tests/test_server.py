"""Calls to the real server: the program SEALPOST_PROGRAM, or the debug build."""

import collections
import concurrent.futures
import importlib.util
import os
import pathlib
import ssl
import sys
import tempfile
import unittest
from datetime import datetime, timedelta, timezone
from unittest import mock

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.append(str(ROOT / "scripts"))

import sealpost
from sealpost import Client, Denied, Interference, Notification, Refused, Sent, StateChanged, Unreachable, user
from sealpost_e2e import api, listening, rig, tls

PROGRAM = pathlib.Path(os.environ.get("SEALPOST_PROGRAM", ROOT / ".build/debug/sealpost"))
# The number of notifications that are sent in batches through the proxy.
MANY = int(os.environ.get("SEALPOST_TEST_MANY", 1200))


@unittest.skipUnless(PROGRAM.exists(), f"there is no server in {PROGRAM}")
class ServerTests(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.rig = rig.Rig(PROGRAM, "publisher", EVENTS_KEEP="7d")
        cls.addClassCleanup(cls.rig.__exit__)
        for name in ("bob", "carol"):
            cls.rig.add_user(name)
        cls.rig.add_user("root", "admin")
        cls.rig.serve()
        cls.server = f"http://127.0.0.1:{cls.rig.port}"
        cls.client = Client(cls.server, user=("alice", api.PASSWORD))
        cls.addClassCleanup(cls.client.close)

    def received(self, name):
        """The payloads in a user's list, with their numbers."""
        connection, payloads, cursor = self.rig.connect(), collections.Counter(), ""
        while True:
            page = api.ask(connection, "GET", f"/api/notifications?limit=500{cursor}", credentials=api.basic(name))
            payloads.update(item["Payload"] for item in page["Notifications"])
            cursor = f"&cursor={page['Cursor']}"
            if not page["More"]:
                connection.close()
                return payloads

    def test_each_notification_arrives_once_although_three_of_ten_answers_are_lost(self):
        proxy = listening.LossyProxy(self.rig.port)
        self.addCleanup(proxy.close)
        single = [f"single {number}" for number in range(200)]
        many = [f"many {number}" for number in range(MANY)]
        with mock.patch("sealpost.client.FIRST_DELAY", 0.001), Client(
            f"http://127.0.0.1:{proxy.port}", user=("alice", api.PASSWORD), deadline=600, timeout=600,
        ) as client, concurrent.futures.ThreadPoolExecutor(4) as pool:
            sent = list(pool.map(lambda text: client.send(Notification(text, to=user("bob"))), single))
            sent += client.send_many(Notification(text, to=user("bob")) for text in many)
        self.assertGreater(proxy.cuts, 40)
        self.assertEqual(len({one.id for one in sent}), 200 + MANY)
        self.assertEqual(self.received("bob"), collections.Counter(single + many))

    def test_the_key_of_the_caller_outlives_the_client(self):
        notification = Notification("once", to=user("carol"))
        first = self.client.send(notification, key="order-7")
        with Client(self.server, user=("alice", api.PASSWORD)) as restarted:
            self.assertEqual(restarted.send(notification, key="order-7"), first)
            with self.assertRaises(Refused) as caught:
                restarted.send(Notification("other", to=user("carol")), key="order-7")
        self.assertEqual(caught.exception.code, "idempotency-key-reused")
        self.assertEqual(self.received("carol")["once"], 1)

    def test_a_scheduled_notification_is_counted_and_cancelled(self):
        at = datetime.now(timezone.utc).replace(microsecond=0) + timedelta(days=1)
        sent = self.client.send(Notification("later", to=user("carol"), send_at=at, expires_in=timedelta(hours=1)))
        self.assertEqual((sent.send_at, sent.expires_at, sent.recipients, sent.more), (at, at + timedelta(hours=1), None, True))
        self.assertEqual(self.client.counts(sent.id).send_at, at)
        self.assertIs(self.client.recall(sent.id), True)
        self.assertIs(self.client.recall(sent.id), False)

    def test_deliveries_and_events_come_page_by_page(self):
        connection = self.rig.connect()
        for _ in range(3):
            device = api.ask(connection, "POST", "/api/register", credentials=api.basic("carol"))
            api.ask(connection, "PUT", f"/api/register/{device}", {"Platform": "stream", "Tags": ["three"]}, api.basic("carol"))
        connection.close()
        sent = self.client.send(Notification("to devices", to="three"))
        self.assertEqual((sent.recipients, sent.pushes), (1, 3))
        self.assertEqual(self.client.counts(sent.id).counts["queued"], 3)
        with mock.patch("sealpost.client.PAGE", 2):
            deliveries = list(self.client.deliveries(sent.id))
        self.assertEqual({(one.user, one.platform, one.state) for one in deliveries}, {("carol", "stream", "queued")})
        self.assertEqual(len({one.device for one in deliveries}), 3)
        self.assertEqual([(one.user, one.read_at) for one in self.client.recipients(sent.id)], [("carol", None)])
        self.client.recall(sent.id)
        events, page = [], self.client.events(limit=2)
        while page.events:
            self.assertLessEqual(len(page.events), 2)
            events += page.events
            page = self.client.events(page.cursor, limit=2)
        cancelled = [event.device for event in events if (event.kind, event.notification) == ("cancelled", sent.id)]
        self.assertEqual(set(cancelled), {one.device for one in deliveries})

    def test_tags_of_users_address_them(self):
        self.client.set_tags("carol", ["role:nurse"])
        self.assertEqual(self.client.tags("carol"), ["role:nurse"])
        self.assertEqual(self.client.send(Notification("for nurses", to="role:nurse && !username:bob")).recipients, 1)
        self.client.set_tags("carol", [])
        with self.assertRaises(StateChanged):
            self.client.tags("nobody")
        with self.assertRaises(ValueError):
            self.client.tags("carol/../bob")

    def test_an_administrator_manages_users(self):
        with Client(self.server, user=("root", api.PASSWORD)) as admin, Client(self.server, user=("dora", api.PASSWORD)) as dora:
            admin.add_user("dora", password=api.PASSWORD)
            with self.assertRaises(StateChanged) as caught:
                admin.add_user("dora")
            self.assertEqual(caught.exception.code, "conflict")
            id = dora.call("POST", "/api/register")
            dora.call("PUT", f"/api/register/{id}", {"Platform": "stream"})
            [device] = admin.devices("dora")
            self.assertEqual((device.id, device.state, device.platform, device.last_push), (id, "registered", "stream", None))
            self.assertIsInstance(device.registered_at, datetime)
            admin.set_disabled("dora", True)
            with self.assertRaises(Denied):
                dora.call("GET", "/api/register")
            admin.set_disabled("dora", False)
            self.assertEqual(len(dora.call("GET", "/api/register")), 1)
            self.assertEqual([admin.delete_user("dora") for _ in range(2)], [True, False])
            status = admin.status()
            self.assertEqual((status.version, status.troubles), (sealpost.__version__, []))
            self.assertIn("stream", [lane.name for lane in status.lanes])

    def test_a_batch_has_an_outcome_for_each(self):
        outcomes = self.client.send_many([Notification("good", to=user("carol")), Notification("bad", to=user("nobody"))])
        self.assertIsInstance(outcomes[0], Sent)
        self.assertEqual((outcomes[1].code, outcomes[1].status), ("unknown-user", 400))

    def test_tls_accepts_the_certificate_of_the_context_only(self):
        with tempfile.TemporaryDirectory() as folder:
            certificate, key = tls.make_certificate(pathlib.Path(folder))
            with rig.Rig(PROGRAM, "publisher", SERVER_TLS_CERTIFICATE=certificate, SERVER_TLS_PRIVATEKEY=key) as server:
                server.serve()
                address, alice = f"https://localhost:{server.port}", ("alice", api.PASSWORD)
                with Client(address, user=alice, context=ssl.create_default_context(cafile=str(certificate))) as client:
                    sent = [client.send(Notification("x" * 60_000)) for _ in range(2)]
                    self.assertTrue(client.recall(sent[0].id))
                with Client(address, user=alice) as stranger, self.assertRaises(Unreachable) as caught:
                    stranger.send(Notification("x"))
                self.assertFalse(caught.exception.is_transient)

    def test_refusals_have_their_classes_and_codes(self):
        with Client(self.server, "spt_none") as stranger, self.assertRaises(Denied) as caught:
            stranger.send(Notification("x"))
        self.assertEqual(caught.exception.code, "invalid-token")
        with Client(self.server, user=("bob", api.PASSWORD)) as device, self.assertRaises(Denied) as caught:
            device.send(Notification("x", to=user("carol")))
        self.assertEqual(caught.exception.code, "forbidden")
        with self.assertRaises(Refused) as caught:
            self.client.send(Notification("x", expires_in=0))
        self.assertEqual(caught.exception.code, "invalid-member")

    @unittest.skipUnless(importlib.util.find_spec("cryptography"), "the package cryptography is missing")
    def test_signed_answers_are_accepted_with_the_pinned_key_only(self):
        connection = self.rig.connect()
        key = api.ask(connection, "GET", "/.well-known/sealpost-keys")["keys"][0]["x"]
        connection.close()
        for keys, is_accepted in (([key], True), (["gUZkDwJJOvT7xU_jM4jnXcLJN64LdyfMKyr7G3UZmj4"], False)):
            with Client(self.server, user=("alice", api.PASSWORD), signing_keys=keys) as client:
                if is_accepted:
                    id = client.send(Notification("signed", to=user("carol"))).id
                    self.assertEqual(client.counts(id).send_at, None)
                    for query in (None, {"cursor": 0}):
                        self.assertIn("Counts", client.call("GET", f"/api/notifications/{id}/deliveries?limit=1", query=query))
                    with self.assertRaises(Refused):
                        client.send(Notification("x", to=user("nobody")))
                else:
                    with self.assertRaisesRegex(Interference, "signature"):
                        client.send(Notification("x", to=user("carol")))

    @unittest.skipUnless(importlib.util.find_spec("cryptography"), "the package cryptography is missing")
    def test_the_largest_end_to_end_payload_is_the_largest_that_the_server_accepts(self):
        from cryptography.hazmat.primitives.asymmetric import ec
        from sealpost import end_to_end as e2e

        signing, agreement = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
        device = e2e.DeviceRecipient("carol", e2e.DeviceKey(e2e.device_key("A" * 22, signing, agreement, 1000)))
        one_more = e2e.MAXIMUM_PAYLOAD + 1
        encryption = e2e.Encryption(e2e.SenderKey.generate(), e2e.Pins(), changed=print, maximum_payload=one_more)
        largest, longer = (encryption.encrypt("x" * (length - 2), [device]) for length in (e2e.MAXIMUM_PAYLOAD, one_more))
        self.assertTrue(self.client.recall(self.client.send(Notification(largest, to=user("carol"))).id))
        with self.assertRaises(Refused) as caught:
            self.client.send(Notification(longer, to=user("carol")))
        self.assertEqual(caught.exception.code, "payload-too-large")


if __name__ == "__main__":
    unittest.main()
