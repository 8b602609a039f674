package sealpost.client;

import java.io.File;
import java.io.FileOutputStream;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.security.KeyStore;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.security.cert.X509Certificate;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.ReentrantLock;
import javax.crypto.SecretKey;
import javax.crypto.spec.SecretKeySpec;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLPeerUnverifiedException;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;

/** Tests of a client with its store and a server that signs. */
public final class ClientTests {
    private ClientTests() {}

    private interface Test {
        void run(TestServer server, TestFolder folder) throws Exception;
    }

    private static void with(Test test) throws Exception {
        try (TestServer server = new TestServer();
                TestFolder folder = new TestFolder()) {
            test.run(server, folder);
        }
    }

    public static void theInboxIsCachedAndShownWithoutANetwork() throws Exception {
        with((server, folder) -> {
            long id = server.add("a secret text");
            PushClient client = server.client(folder.store());
            Check.that(client.cachedInbox().notifications().isEmpty() && !client.cachedInbox().isComplete(), "nothing at first");
            Check.equal(client.sync().value().notifications().get(0).text(), "a secret text", "what was collected");
            Check.that(client.sync().isFresh(), "304 is fresh");
            server.close();
            PushClient other = server.client(folder.store());
            Check.equal(other.cachedInbox().notifications(), client.cachedInbox().notifications(), "the cached inbox");
            Fetched<Inbox> inbox = other.sync();
            Check.that(!inbox.isFresh() && inbox.date() != null, "a cached inbox has a date");
            Check.equal(inbox.failure().reason(), PushClientException.Reason.OFFLINE, "why");
            Fetched<NotificationItem> item = other.notification(id);
            Check.that(!item.isFresh() && item.date() != null, "a cached item has a date");
            Check.equal(item.value().text(), "a secret text", "the cached item");
            Check.fails(() -> other.notification(1), PushClientException.Reason.OFFLINE);
        });
    }

    public static void aClockSetAheadHidesAndNeverDeletes() throws Exception {
        with((server, folder) -> {
            server.add("still good");
            long[] ahead = {0};
            Options options = server.options().clock(() -> System.currentTimeMillis() + ahead[0]);
            PushClient client = new PushClient(options, Credentials.token("spt_first", "alice"), folder.store());
            Check.equal(client.sync().value().notifications().size(), 1, "as it is");
            ahead[0] = 100L * 366 * 86_400_000;
            Check.equal(client.cachedInbox().notifications().size(), 0, "a century later");
            server.isNonceUnknown = true;
            Check.equal(client.sync().failure().advice(), Advice.CLOCK, "what is wrong");
            ahead[0] = 0;
            Check.equal(client.cachedInbox().notifications().size(), 1, "put right");
        });
    }

    public static void changesAreToldUntilTheyAreConfirmed() throws Exception {
        with((server, folder) -> {
            server.pageSize = 2;
            List<Long> ids = new ArrayList<>();
            for (int count = 0; count < 5; count++) ids.add(server.add("text " + count));
            PushClient client = server.client(folder.store());
            client.sync();
            InboxChanges first = client.changes("shown");
            Check.equal(first.arrived(), new HashSet<>(ids), "all pages");
            Check.equal(server.client(folder.store()).changes("shown").arrived(), first.arrived(), "reported again");
            client.confirm(first);
            server.put(ids.get(1), null);
            client.sync();
            InboxChanges second = client.changes("shown");
            Check.equal(second.deleted(), Collections.singleton(ids.get(1)), "deleted");
            Check.that(second.arrived().isEmpty(), "nothing arrived");
            Check.equal(client.changes("another").arrived().size(), 4, "another consumer has a mark of its own");
        });
    }

    public static void theMarksOfSixteenConsumersAreStored() throws Exception {
        with((server, folder) -> {
            server.add("text");
            PushClient client = server.client(folder.store());
            client.sync();
            client.confirm(client.changes("first"));
            for (int count = 0; count < 15; count++) client.confirm(client.changes("consumer " + count));
            // The consumer confirms again, so that now another consumer has the oldest
            // confirmation.
            server.add("another");
            client.sync();
            client.confirm(client.changes("first"));
            client.confirm(client.changes("last"));
            Check.that(client.changes("first").isEmpty() && client.changes("last").isEmpty(), "who has confirmed last");
            Check.equal(client.changes("consumer 0").arrived().size(), 2, "reported again");
            Check.equal(client.changes("consumer 1").arrived().size(), 1, "what is new");
            for (int count = 0; count < 100; count++) client.confirm(client.changes("consumer of this start " + count));
            Check.equal(client.account.read().index.marks.size(), 16, "marks");
        });
    }

    public static void aNewSessionRegistersTheDeviceAgain() throws Exception {
        with((server, folder) -> {
            String[] token = {"spt_first"};
            TokenProvider provider = refused -> refused == null ? token[0] : null;
            PushClient client = new PushClient(server.options(), Credentials.token(provider, "alice"), folder.store());
            Check.equal(registrations(client, server), 2, "a first registration asks for an id");
            Check.equal(registrations(client, server), 0, "of the same session");
            token[0] = "spt_other-of-one-session";
            server.authorization = "Bearer " + token[0];
            Check.equal(registrations(client, server), 1, "of another session");
            // This client stands for a new start of the app.
            PushClient later = new PushClient(server.options(), Credentials.token(provider, "alice"), folder.store());
            Check.equal(registrations(later, server), 1, "the first call asks whether it is there");
            Check.equal(registrations(later, server), 0, "the stored one");
            for (String other : new String[] {"of-an-issuer", "the-next-one-of-the-issuer"}) {
                token[0] = other;
                server.authorization = "Bearer " + token[0];
                Check.equal(registrations(later, server), other.startsWith("of") ? 1 : 0, other);
            }
            PushClient none = new PushClient(server.options(), Credentials.token(refused -> null, "alice"), folder.store());
            Check.fails(() -> registrations(none, server), PushClientException.Reason.SIGNED_OUT);
            Check.equal(server.log.size(), 0, "requests without a token");
        });
    }

    public static void concurrentRegistrationsMakeOneDevice() throws Exception {
        with((server, folder) -> {
            PushClient shared = server.client(folder.store());
            ExecutorService threads = Executors.newFixedThreadPool(6);
            CyclicBarrier start = new CyclicBarrier(6);
            List<Future<String>> ids = new ArrayList<>();
            for (int count = 0; count < 6; count++) {
                PushClient client = count < 3 ? shared : server.client(folder.store());
                ids.add(threads.submit(() -> {
                    start.await();
                    return client.registerIfNeeded("stream", "", Collections.<String>emptyList());
                }));
            }
            for (Future<String> id : ids) Check.equal(id.get(), "device-1", "the device");
            threads.shutdown();
            Check.equal(Collections.frequency(server.log, "POST /api/register"), 1, "requests for an id");
        });
    }

    /** The file's other path stands for another process, which has a lock of its own. */
    public static void twoProcessesThatRegisterAtOnceMakeOneDevice() throws Exception {
        with((server, folder) -> {
            PushClient other = server.client(TestServer.store(new File(folder.file, ".")));
            // The other process registers after this one has its id, but has not stored it.
            server.held = () -> other.registerIfNeeded("stream", "", Collections.<String>emptyList());
            String id = server.client(folder.store()).registerIfNeeded("stream", "", Collections.<String>emptyList());
            Check.equal(id, "device-2", "the id that was stored first");
            Check.equal(server.devices, Collections.singleton(id), "the devices");
        });
    }

    public static void aRetiredRegistrationIsNoticedAtTheNextStart() throws Exception {
        with((server, folder) -> {
            server.client(folder.store()).register("fcm", "handle", Collections.<String>emptyList());
            // The server has removed the device, because the provider has reported that it is
            // gone.
            server.devices.clear();
            Check.equal(registrations(server.client(folder.store()), server), 2, "asked, and registered");
            Check.equal(server.devices, Collections.singleton("device-1"), "registered again");
            Check.equal(registrations(server.client(folder.store()), server), 1, "asked");
            server.devices.clear();
            boolean[] hasNetwork = {false};
            Options nowhere = server.options().connections(url -> {
                if (!hasNetwork[0]) throw new java.net.UnknownHostException("no network");
                return (java.net.HttpURLConnection) url.openConnection();
            });
            PushClient offline = new PushClient(nowhere, Credentials.token("spt_first", "alice"), folder.store());
            Check.equal(offline.registerIfNeeded("fcm", "handle", Collections.<String>emptyList()), "device-1", "the stored one");
            hasNetwork[0] = true;
            Check.equal(registrations(offline, server), 2, "asked again, and registered");
        });
    }

    /** The number of requests that the client sends to register the same device. */
    private static int registrations(PushClient client, TestServer server) throws Exception {
        server.log.clear();
        client.registerIfNeeded("fcm", "handle", Collections.<String>emptyList());
        return server.log.size();
    }

    public static void aNotificationOnTheScreenTakesNothingFromItsReader() throws Exception {
        with((server, folder) -> {
            PushClient client = server.client(folder.store());
            long plain = server.add("plain");
            long once = server.addReadOnce("once");
            Check.equal(client.preview(plain).text(), "plain", "shown");
            Check.equal(client.cachedNotification(plain).text(), "plain", "and cached");
            NotificationItem shown = client.preview(once);
            Check.that(shown.isReadOnce() && shown.payload() == null, "there is something to read");
            Check.equal(server.log, Arrays.asList("GET /api/notifications", "GET /api/notifications"), "as lists of one");
            Check.equal(client.notification(once).value().text(), "once", "its reader finds it");
            server.put(plain, null);
            Check.equal(client.preview(plain), null, "gone");
            Check.equal(client.cachedNotification(plain), null, "and not cached");
            long other = server.add("other");
            client.preview(other);
            Set<Long> arrived = client.changes("screen").arrived();
            client.confirm(client.changes("screen"));
            client.preview(other);
            Check.that(arrived.contains(other) && client.changes("screen").isEmpty(), "the same again is no change");
            server.close();
            Check.equal(client.preview(other).text(), "other", "the cached one without a network");
            Check.fails(() -> client.preview(plain), PushClientException.Reason.OFFLINE);
        });
    }

    public static void aFetchedNotificationHasTheChangesOfTheOutbox() throws Exception {
        with((server, folder) -> {
            PushClient client = server.client(folder.store());
            long id = server.add("text");
            client.outbox().markRead(id, true);
            Check.that(client.preview(id).isRead() && client.notification(id).value().isRead(), "read");
            Check.that(client.notification(id).value().isRead(), "read if unchanged, too");
            client.outbox().dismiss(id);
            Check.equal(client.preview(id), null, "dismissed");
        });
    }

    public static void anAnswerOnItsWayBringsBackNothingThatWasDismissed() throws Exception {
        with((server, folder) -> {
            long id = server.add("text");
            PushClient other = server.client(folder.store());
            server.held = () -> other.dismiss(id);
            PushClient client = server.client(folder.store());
            Check.equal(client.notification(id).value().text(), "text", "the answer was made before");
            Check.equal(client.cachedNotification(id), null, "and is not cached");
            Check.equal(client.changes("screen").deleted(), Collections.singleton(id), "nor shown any longer");
        });
    }

    /**
     * The first page lists no deletions, so the client deletes every notification that the page
     * does not contain.
     */
    public static void whatWasFetchedBeforeTheFirstPageAndIsGoneGoesWithIt() throws Exception {
        with((server, folder) -> {
            long recalled = server.add("pushed");
            long other = server.add("stays");
            PushClient client = server.client(folder.store());
            Check.equal(client.notification(recalled).value().text(), "pushed", "fetched by its id, as a push has it");
            Check.that(!client.cachedInbox().isComplete(), "no page yet");
            server.put(recalled, null);
            Inbox inbox = client.sync().value();
            Check.equal(inbox.notifications().size(), 1, "what is gone is shown no more");
            Check.equal(inbox.notifications().get(0).id(), other, "what is there");
            Check.equal(server.client(folder.store()).cachedInbox().notifications().size(), 1, "nor cached");
        });
    }

    public static void theOutboxIsShownAsDoneAndSentOnce() throws Exception {
        with((server, folder) -> {
            long read = server.add("one");
            long dismissed = server.add("two");
            PushClient client = server.client(folder.store());
            client.sync();
            // Most answers are lost, but the server has carried out the requests.
            server.loseOneIn = 2;
            client.outbox().markRead(read, true);
            client.outbox().dismiss(dismissed);
            String key = client.outbox().send(Json.of("sent from here"));
            Inbox inbox = client.cachedInbox();
            Check.equal(inbox.notifications().size(), 1, "dismissed at once");
            Check.that(inbox.notifications().get(0).isRead(), "read at once");
            PushClient later = server.client(folder.store());
            Check.equal(later.outbox().count(), 3, "it waits on the disk");
            for (int count = 0; later.outbox().count() > 0 && count < 50; count++) later.sync();
            server.loseOneIn = 0;
            Check.that(later.sync().isFresh(), "fresh in the end");
            Check.equal(server.sentByKey.keySet(), Collections.singleton('"' + key + '"'), "sent with its key");
            Check.that(server.entries.get(read).json.isTrue("Read"), "the server knows what was read");
            Check.that(server.entries.get(dismissed).isDeleted, "the server knows what was dismissed");
            Check.equal(later.cachedInbox().notifications().size(), 2, "what was sent has come back");
        });
    }

    public static void anAnswerAboveTheLimitIsNotStored() throws Exception {
        with((server, folder) -> {
            server.add("text");
            PushClient client = server.client(folder.store());
            // The euro sign has three bytes.
            for (String cursor : new String[] {repeated("c", 1025), repeated("\u20ac", 342), repeated("c", 70_000)}) {
                server.cursor = cursor;
                PushClientException failure = Check.firstSyncFails(client);
                Check.equal(failure.interference().kind(), Interference.Kind.UNEXPECTED_BODY, "a cursor of " + cursor.length());
                Check.equal(client.cachedInbox().notifications().size(), 0, "nothing of the page is stored");
            }
            server.cursor = repeated("c", 1024);
            Check.that(client.sync().isFresh(), "as long as one may be");
            server.tooLarge = repeated("x", 70_000);
            client.outbox().send(Json.of(true));
            client.outbox().flush();
            Check.equal(client.outbox().failures().get(0).code(), repeated("x", 128), "the code of a refusal");
            try {
                client.changes(repeated("x", 129));
                throw new AssertionError("a consumer's name was taken");
            } catch (IllegalArgumentException expected) {
                Check.that(client.changes(repeated("x", 128)).arrived().size() == 1, "a shorter one is");
            }
            NotificationItem item = client.cachedInbox().notifications().get(0);
            byte[] encoded = new CachedItem(item, repeated("t", 70_000), 0).encode();
            Check.equal(CachedItem.decode(encoded).tag, null, "a validator");
        });
    }

    private static String repeated(String text, int count) {
        return String.join("", Collections.nCopies(count, text));
    }

    public static void whatTheServerRefusesIsToldUntilItIsForgotten() throws Exception {
        with((server, folder) -> {
            server.add("text");
            long[] ahead = {0};
            // Answers are unsigned, so the client ignores the difference between the clocks.
            Options options = new Options(server.url(), Signatures.unsigned()).clock(() -> System.currentTimeMillis() + ahead[0]);
            Credentials alice = Credentials.token("spt_first", "alice");
            PushClient client = new PushClient(options, alice, folder.store());
            String refused = client.outbox().send(Json.of(true));
            client.outbox().flush();
            List<Outbox.Failure> failed = new PushClient(options, alice, folder.store()).outbox().failures();
            Check.that(failed.size() == 1 && failed.get(0).key().equals(refused), "one has failed");
            Check.equal(failed.get(0).code(), "payload-too-large", "why");
            client.outbox().discard(failed.get(0));
            Check.that(client.outbox().failures().isEmpty(), "forgotten");
            String waiting = client.outbox().send(Json.of("too soon"));
            Check.equal(client.sync().value().notifications().size(), 1, "what waits keeps nothing back");
            Check.equal(client.outbox().count(), 1, "it waits");
            ahead[0] = 24 * 3_600_000;
            client.outbox().flush();
            failed = client.outbox().failures();
            Check.that(failed.size() == 1 && failed.get(0).key().equals(waiting) && failed.get(0).code() == null, "uncertain");
        });
    }

    public static void aProviderWithoutANetworkIsOffline() throws Exception {
        with((server, folder) -> {
            TokenProvider provider = refused -> {
                throw new IOException("no network");
            };
            PushClient client = new PushClient(server.options(), Credentials.token(provider, "alice"), folder.store());
            Check.fails(client::sync, PushClientException.Reason.OFFLINE);
            provider = refused -> null;
            PushClient other = new PushClient(server.options(), Credentials.token(provider, "alice"), folder.store());
            Check.fails(other::sync, PushClientException.Reason.SIGNED_OUT);
        });
    }

    public static void callsBeforeTheSignInSendNothing() throws Exception {
        with((server, folder) -> {
            PushClient client = server.signedIn(folder.store());
            Check.that(client.cachedInbox().notifications().isEmpty(), "nothing to be seen");
            Check.fails(client::sync, PushClientException.Reason.SIGNED_OUT);
            Check.fails(client::signIn, PushClientException.Reason.SIGNED_OUT);
            Check.fails(() -> client.preview(7), PushClientException.Reason.SIGNED_OUT);
            Check.fails(() -> client.send(Json.of("text"), "key"), PushClientException.Reason.SIGNED_OUT);
            Check.fails(() -> client.devices().list(), PushClientException.Reason.SIGNED_OUT);
            Check.fails(() -> client.registerIfNeeded("fcm", "a", Collections.<String>emptyList()), PushClientException.Reason.SIGNED_OUT);
            Check.fails(() -> client.changePassword("old", "new"), PushClientException.Reason.SIGNED_OUT);
            Check.equal(server.log, Collections.emptyList(), "no requests");
            client.signIn("alice", "secret");
            Check.that(client.sync().isFresh(), "signed in");
        });
    }

    public static void aProviderThatNeverAnswersHoldsNoCallForLonger() throws Exception {
        with((server, folder) -> {
            server.add("text");
            CountDownLatch never = new CountDownLatch(1);
            AtomicInteger asked = new AtomicInteger();
            TokenProvider provider = refused -> {
                if (asked.incrementAndGet() > 6) return "spt_first";
                never.await();
                return null;
            };
            Options options = server.options().deadlineMillis(100);
            PushClient client = new PushClient(options, Credentials.token(provider, "alice"), folder.store());
            // There are more calls than the pool has threads.
            for (int count = 0; count < 6; count++) Check.isLate(Check.fails(() -> client.notification(1), PushClientException.Reason.OFFLINE));
            options.deadlineMillis(120_000);
            Check.that(client.sync().isFresh(), "the next one answers");
        });
    }

    public static void aFirstSyncThatExceedsItsDeadlineContinuesWhereItStopped() throws Exception {
        with((server, folder) -> {
            for (int count = 0; count < 6; count++) server.add("text " + count);
            server.pageSize = 2;
            AtomicInteger opened = new AtomicInteger();
            // The third page does not arrive before the deadline.
            Options options = server.options().connections(url -> {
                if (opened.incrementAndGet() == 3) throw new java.net.SocketTimeoutException("a slow network");
                return (java.net.HttpURLConnection) url.openConnection();
            });
            PushClient client = new PushClient(options, Credentials.token("spt_first", "alice"), folder.store());
            Fetched<Inbox> first = client.sync();
            Check.isLate(first.failure());
            Check.equal(first.value().notifications().size(), 4, "the inbox has two pages");
            server.log.clear();
            Check.that(client.sync().isFresh(), "fresh");
            Check.equal(server.log, Arrays.asList("GET /api/notifications"), "the requests");
            Check.equal(client.cachedInbox().notifications().size(), 6, "the inbox has all pages");
        });
    }

    public static void aTokenIsRenewedOnce() throws Exception {
        with((server, folder) -> {
            server.add("text");
            AtomicInteger renewals = new AtomicInteger();
            TokenProvider provider = refused -> {
                if (refused == null) return renewals.get() == 0 ? "spt_first" : "spt_second";
                renewals.incrementAndGet();
                return "spt_second";
            };
            PushClient client = new PushClient(server.options(), Credentials.token(provider, "alice"), folder.store());
            Check.that(client.sync().isFresh(), "the first token");
            server.authorization = "Bearer spt_second";
            Check.that(client.sync().isFresh(), "the second token");
            Check.equal(renewals.get(), 1, "renewals");
            server.authorization = "Bearer spt_third";
            PushClientException error = Check.fails(client::sync, PushClientException.Reason.UNAUTHORIZED);
            Check.equal(error.problem().code(), "invalid-token", "the server's words");
        });
    }

    public static void theFirstCallsOfSeveralThreadsShareTheSignIn() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(16);
        try {
            for (int round = 0; round < 50; round++) {
                with((server, folder) -> {
                    PushClient client = server.client(folder.store());
                    CountDownLatch all = new CountDownLatch(16);
                    List<Future<Inbox>> calls = new ArrayList<>();
                    for (int count = 0; count < 16; count++) {
                        calls.add(threads.submit(() -> {
                            all.countDown();
                            all.await();
                            return client.cachedInbox();
                        }));
                    }
                    for (Future<Inbox> call : calls) Check.that(call.get().notifications().isEmpty(), "a new inbox");
                });
            }
        } finally {
            threads.shutdown();
        }
    }

    public static void callsThatWereRefusedTogetherRenewTheTokenOnce() throws Exception {
        with((server, folder) -> {
            long id = server.add("text");
            server.authorization = "Bearer spt_1";
            AtomicInteger renewals = new AtomicInteger();
            CountDownLatch all = new CountDownLatch(4);
            TokenProvider provider = refused -> {
                if (refused == null) {
                    all.countDown();
                    all.await();
                    return "spt_0";
                }
                // A second renewal returns an invalid token, as with a backend that accepts each
                // refresh token once.
                return "spt_" + renewals.incrementAndGet();
            };
            PushClient client = new PushClient(server.options(), Credentials.token(provider, "alice"), folder.store());
            ExecutorService threads = Executors.newFixedThreadPool(4);
            try {
                List<Future<Fetched<NotificationItem>>> calls = new ArrayList<>();
                for (int count = 0; count < 4; count++) calls.add(threads.submit(() -> client.notification(id)));
                for (Future<Fetched<NotificationItem>> call : calls) Check.equal(call.get().value().text(), "text", "let in");
            } finally {
                threads.shutdown();
            }
            Check.equal(renewals.get(), 1, "renewals");
            server.authorization = "Bearer spt_2";
            Check.fails(() -> client.notification(id), PushClientException.Reason.UNAUTHORIZED);
            Check.that(client.notification(id).isFresh(), "what was refused is not given to others");
        });
    }

    public static void aPasswordIsShownOnceTheServerHasAskedForIt() throws Exception {
        with((server, folder) -> {
            String basic = server.password;
            PushClient client = new PushClient(server.options(), Credentials.challenged("alice", "secret"), folder.store());
            server.isForged = true;
            PushClientException failure = Check.firstSyncFails(client);
            Check.equal(failure.interference().kind(), Interference.Kind.SIGNATURE, "what a forger's 401 is");
            Check.equal(server.credentials, Collections.singletonList("null"), "a forger is shown nothing");
            server.isForged = false;
            server.credentials.clear();
            Check.that(client.sync().isFresh() && client.sync().isFresh(), "the server lets in");
            Check.equal(server.credentials, Arrays.asList("null", basic, basic, basic), "asked once, and then whose it is");
            server.password = "Basic another";
            server.credentials.clear();
            Check.fails(client::sync, PushClientException.Reason.UNAUTHORIZED);
            Check.equal(server.credentials, Collections.singletonList(basic), "a refused password is not tried again");
        });
    }

    public static void anAnswerBeyondTheBoundIsOversized() throws Exception {
        with((server, folder) -> {
            long id = server.add("more than a hundred bytes, with all of its members");
            PushClient client =
                    new PushClient(server.options().answerLimit(100), Credentials.token("spt_first", "alice"), folder.store());
            PushClientException error = Check.fails(() -> client.notification(id), PushClientException.Reason.INTERFERENCE);
            Check.equal(error.interference().kind(), Interference.Kind.OVERSIZED, "the kind");
        });
    }

    public static void listenersAreToldAndTheAppsOfAnAccountAreApart() throws Exception {
        with((server, folder) -> {
            server.add("text");
            AtomicInteger calls = new AtomicInteger();
            PushClient client = server.client(folder.store());
            Runnable listener = calls::incrementAndGet;
            client.addListener(listener);
            client.sync();
            Check.equal(calls.get(), 1, "the server knows");
            client.removeListener(listener);
            client.sync();
            Check.equal(calls.get(), 1, "not called");
            Credentials alice = Credentials.token("spt_first", "alice");
            Credentials bob = Credentials.token("spt_first", "bob");
            Check.that(new PushClient(server.options().app("bank"), alice, folder.store()).cachedInbox().notifications().isEmpty(), "another app");
            Check.that(new PushClient(server.options(), bob, folder.store()).cachedInbox().notifications().isEmpty(), "another account");
            // A client with pinned keys does not read answers that were verified only by their
            // echo.
            Options unsigned = new Options(server.url(), Signatures.unsigned());
            Check.that(new PushClient(unsigned, alice, folder.store()).cachedInbox().notifications().isEmpty(), "another proof");
        });
    }

    public static void signingOutOfflineEndsAllWritersAndTheServerLater() throws Exception {
        with((server, folder) -> {
            server.add("text");
            PushClient client = server.client(folder.store());
            PushClient other = server.client(folder.store());
            client.register("fcm", "handle", Collections.<String>emptyList());
            client.sync();
            other.sync();
            // The client with these options has no network.
            Options nowhere = server.options().connections(url -> {
                throw new java.net.UnknownHostException("no network");
            });
            PushClient offline = new PushClient(nowhere, Credentials.token("spt_first", "alice"), folder.store());
            offline.cachedInbox();
            Check.that(!offline.signOut(), "the server does not know yet");
            Check.fails(client::sync, PushClientException.Reason.SIGNED_OUT);
            Check.fails(other::cachedInbox, PushClientException.Reason.SIGNED_OUT);
            Check.fails(offline::cachedInbox, PushClientException.Reason.SIGNED_OUT);
            Check.fails(() -> other.outbox().dismiss(1), PushClientException.Reason.SIGNED_OUT);
            for (File file : folder.file.listFiles()) Check.that(!file.getName().startsWith("a-"), "nothing is stored");
            server.log.clear();
            Check.that(PushClient.finishSignOuts(server.options(), folder.store()), "the server knows");
            Check.equal(server.log, Arrays.asList("DELETE /api/register/device-1", "DELETE /api/sessions/current"), "the server knows");
            // A new sign-in starts empty, and earlier clients stay signed out.
            PushClient again = server.client(folder.store());
            Check.equal(again.sync().value().notifications().size(), 1, "again");
            Check.fails(other::cachedInbox, PushClientException.Reason.SIGNED_OUT);
        });
    }

    private static final List<String> ENDED = Arrays.asList("DELETE /api/register/device-1", "DELETE /api/sessions/current");

    /** A client whose store has an inbox, a registration and a token. */
    private static PushClient filledClient(TestServer server, TestFolder folder) throws Exception {
        server.add("text");
        PushClient client = server.signedIn(folder.store());
        client.signIn("alice", "secret");
        client.sync();
        client.register("fcm", "handle", Collections.<String>emptyList());
        server.log.clear();
        return client;
    }

    private static boolean isAccountThere(TestFolder folder) {
        for (File file : folder.file.listFiles()) {
            if (file.getName().startsWith("a-")) return true;
        }
        return false;
    }

    private static void checkNothingIsStored(TestServer server, TestFolder folder) throws Exception {
        Check.that(!isAccountThere(folder), "nothing is stored");
        PushClient later = server.signedIn(folder.store());
        Check.that(later.cachedInbox().notifications().isEmpty(), "nothing to be seen");
        Check.fails(later::sync, PushClientException.Reason.SIGNED_OUT);
    }

    // The account of an answer

    /**
     * The server as a malicious proxy uses it: the proxy sends the credentials of its own account
     * in place of its clients' credentials.
     */
    private static TestServer mallory() throws Exception {
        TestServer mallory = new TestServer();
        mallory.account = "MMMMMMMMMMMMMMMMMMMMMA";
        mallory.username = "mallory";
        mallory.add("your account is locked, call this number");
        return mallory;
    }

    public static void anAnswerForAnotherUserIsRejected() throws Exception {
        try (TestServer mallory = mallory()) {
            with((server, folder) -> {
                PushClient client = filledClient(server, folder);
                List<NotificationItem> inbox = client.cachedInbox().notifications();
                long id = inbox.get(0).id();
                String registration = client.account.read().index.registration;
                server.ofProxy = mallory;
                for (int round = 0; round < 20; round++) {
                    Fetched<Inbox> list = client.sync();
                    Check.equal(list.failure().interference().kind(), Interference.Kind.WRONG_ACCOUNT, "a list");
                    Check.equal(list.value().notifications(), inbox, "what is shown");
                    Fetched<NotificationItem> item = client.notification(id);
                    Check.equal(item.failure().interference().kind(), Interference.Kind.WRONG_ACCOUNT, "a fetch, answered by 404");
                    Check.equal(item.value(), inbox.get(0), "the cached one");
                    isWrongAccount(() -> client.markRead(Collections.singleton(id)));
                    isWrongAccount(() -> client.register("fcm", "another", Collections.<String>emptyList()));
                    isWrongAccount(() -> client.dismiss(id));
                    isWrongAccount(() -> server.signedIn(folder.store()).signIn("alice", "secret"));
                }
                Check.that(server.exchanged >= 120, "answers for another account: " + server.exchanged);
                server.ofProxy = null;
                Check.equal(server.signedIn(folder.store()).cachedInbox().notifications(), inbox, "what is on the disk");
                Check.equal(client.account.read().index.registration, registration, "the registration");
                Check.that(client.sync().isFresh(), "the server's own answer again");
            });
        }
    }

    private static void isWrongAccount(Check.Body body) throws Exception {
        PushClientException error = Check.fails(body, PushClientException.Reason.INTERFERENCE);
        Check.equal(error.interference().kind(), Interference.Kind.WRONG_ACCOUNT, error.getMessage());
    }

    public static void aSignOutThatAnotherAccountHasAnsweredWaits() throws Exception {
        try (TestServer mallory = mallory()) {
            with((server, folder) -> {
                filledClient(server, folder);
                server.ofProxy = mallory;
                Check.that(!server.signedIn(folder.store()).signOut(), "the server does not know");
                Check.that(!PushClient.finishSignOuts(server.options(), folder.store()), "nor now");
                Check.that(server.devices.contains("device-1"), "the device is there");
                checkNothingIsStored(server, folder);
                server.ofProxy = null;
                server.log.clear();
                Check.that(PushClient.finishSignOuts(server.options(), folder.store()), "the server knows");
                Check.equal(server.log, ENDED, "by the same order");
            });
        }
    }

    public static void aPasswordIsThatOfItsName() throws Exception {
        try (TestServer mallory = mallory()) {
            for (boolean isBefore : new boolean[] {false, true}) {
                with((server, folder) -> {
                    server.isOfVersionBefore = isBefore;
                    mallory.isOfVersionBefore = isBefore;
                    server.ofProxy = mallory;
                    PushClient client = new PushClient(server.options(), Credentials.basic("Alice", "secret"), folder.store());
                    server.password = "Basic " + Base64.standard("Alice:secret".getBytes(StandardCharsets.UTF_8));
                    PushClientException failure = Check.firstSyncFails(client);
                    Check.equal(failure.interference().kind(), Interference.Kind.WRONG_ACCOUNT, "the first answer");
                    Check.equal(client.api.own().id(), null, "nothing is learnt");
                    if (!isBefore) isWrongAccount(client::signIn);
                    server.ofProxy = null;
                    server.log.clear();
                    Check.that(client.sync().isFresh() && client.sync().isFresh(), "the own one");
                    Check.equal(
                            server.log,
                            Arrays.asList("GET /api/sessions/current", "GET /api/notifications", "GET /api/notifications"),
                            "asked once whose name it is");
                    Check.equal(client.api.own().id(), isBefore ? null : server.account, "whose it is");
                });
            }
        }
    }

    public static void aSignOutWithAPasswordIsThatOfItsName() throws Exception {
        try (TestServer mallory = mallory()) {
            with((server, folder) -> {
                Credentials password = Credentials.basic("alice", "secret");
                // The client registers while the server is of the version before, which has no
                // account identifiers.
                server.isOfVersionBefore = true;
                PushClient client = new PushClient(server.options(), password, folder.store());
                client.register("fcm", "handle", Collections.<String>emptyList());
                server.isOfVersionBefore = false;
                server.ofProxy = mallory;
                server.log.clear();
                Check.that(!new PushClient(server.options(), password, folder.store()).signOut(), "the server does not know");
                Check.equal(server.log, Collections.singletonList("GET /api/sessions/current"), "nothing is ended for mallory");
                server.ofProxy = null;
                Check.that(PushClient.finishSignOuts(server.options(), folder.store()), "the server knows");
                Check.that(server.devices.isEmpty(), "the device has ended");
            });
        }
    }

    public static void theFirstAnswerToATokenTellsWhoseItIs() throws Exception {
        try (TestServer mallory = mallory()) {
            with((server, folder) -> {
                server.add("text");
                Credentials token = Credentials.token("spt_first", "alice");
                PushClient informed = new PushClient(server.options(), token.accountId(server.account), folder.store());
                server.ofProxy = mallory;
                Check.equal(Check.firstSyncFails(informed).interference().kind(), Interference.Kind.WRONG_ACCOUNT, "the app knows it");
                server.ofProxy = null;
                Check.equal(server.client(folder.store()).sync().value().notifications().size(), 1, "the first answer");
                server.ofProxy = mallory;
                Fetched<Inbox> inbox = server.client(folder.store()).sync();
                Check.equal(inbox.failure().interference().kind(), Interference.Kind.WRONG_ACCOUNT, "another process knows it");
                Check.equal(inbox.value().notifications().size(), 1, "the cached inbox");
            });
            with((server, folder) -> {
                // The session contains the account's identifier if the app stores the token
                // itself.
                PushClient password = new PushClient(server.options(), Credentials.challenged("alice", "secret"), folder.store());
                Check.equal(password.signIn().account(), server.account, "the session's account");
                server.ofProxy = mallory;
                PushClientException failure = Check.firstSyncFails(server.client(folder.store()));
                Check.equal(failure.interference().kind(), Interference.Kind.WRONG_ACCOUNT, "of the same name");
            });
        }
    }

    public static void earlierServerIsTrustedUntilTheAccountIsKnown() throws Exception {
        with((server, folder) -> {
            server.isOfVersionBefore = true;
            PushClient client = filledClient(server, folder);
            Check.that(client.sync().isFresh() && client.api.own().id() == null, "nobody tells whose it is");
            server.isOfVersionBefore = false;
            Check.that(client.sync().isFresh(), "after the server's upgrade");
            Check.equal(client.api.own().id(), server.account, "whose it is");
            server.isOfVersionBefore = true;
            Interference found = server.signedIn(folder.store()).sync().failure().interference();
            Check.equal(found.kind(), Interference.Kind.SIGNATURE, "no signature without the account any more");
            server.isAskedForLess = true;
            found = server.signedIn(folder.store()).sync().failure().interference();
            Check.equal(found.kind(), Interference.Kind.INSUFFICIENT_COVERAGE, "not even a right one");
        });
    }

    public static void anAccountThatWasMadeAnewBeginsAnew() throws Exception {
        with((server, folder) -> {
            PushClient client = filledClient(server, folder);
            PushClient other = server.signedIn(folder.store());
            other.outbox().send(Json.of("of the old one"));
            server.account = "NNNNNNNNNNNNNNNNNNNNNA";
            Check.equal(other.sync().failure().interference().kind(), Interference.Kind.WRONG_ACCOUNT, "another account");
            client.signIn("alice", "secret");
            Check.that(client.cachedInbox().notifications().isEmpty() && client.outbox().count() == 0, "nothing of the old one");
            Check.that(client.sync().isFresh(), "the new one");
            Check.fails(other::cachedInbox, PushClientException.Reason.SIGNED_OUT);
            Check.equal(server.signedIn(folder.store()).api.own().id(), server.account, "the stored one");
            List<NotificationItem> inbox = client.cachedInbox().notifications();
            client.signIn("alice", "secret");
            Check.equal(client.cachedInbox().notifications(), inbox, "the same one again drops nothing");
        });
    }

    public static void anIndexOfTheVersionBeforeIsRead() {
        Index index = new Index();
        index.registration = "device-1";
        byte[] bytes = index.encode();
        // The previous version wrote no ids of pushed notifications, and the version before that
        // wrote neither token nor account identifier.
        Check.that(Index.decode(Arrays.copyOf(bytes, bytes.length - 1)) != null, "the previous version's");
        Index before = Index.decode(Arrays.copyOf(bytes, bytes.length - 3));
        Check.that(before != null && before.registration.equals("device-1"), "all that there was");
        Check.that(before.token == null && before.account == null, "and no more");
        index.token = "spt_first";
        index.account = "AAAAAAAAAAAAAAAAAAAAAA";
        Check.equal(index.copy().account, index.account, "what is written now");
    }

    public static void anIdentifierThatIsTooLongIsNotStored() throws Exception {
        with((server, folder) -> {
            server.account = repeated("A", 129);
            isWrongAccount(() -> server.client(folder.store()).markRead(Collections.singleton(1L)));
            Check.equal(server.client(folder.store()).api.own().id(), null, "not stored");
            server.account = repeated("A", 128);
            Check.that(server.client(folder.store()).sync().isFresh(), "as long as one may be");
        });
    }

    public static void aTokenThatCannotBeStoredIsEnded() throws Exception {
        with((server, folder) -> {
            PushClient client = server.signedIn(folder.store());
            client.cachedInbox();
            server.held = () -> {
                // During the next request, which has the password, the account signs out.
                server.held = () -> server.signedIn(folder.store()).signOut();
            };
            Check.fails(() -> client.signIn("alice", "secret"), PushClientException.Reason.SIGNED_OUT);
            String ended = "DELETE /api/sessions/current";
            Check.equal(server.log, Arrays.asList("GET /api/sessions/current", "POST /api/sessions", ended), "ended");
            Check.fails(() -> client.signIn("alice", "secret"), PushClientException.Reason.SIGNED_OUT);
            Check.equal(server.log.size(), 3, "who has signed out does not ask");
            checkNothingIsStored(server, folder);
            Check.fails(() -> server.signedIn(folder.store()).signIn("alice", "wrong"), PushClientException.Reason.UNAUTHORIZED);
        });
    }

    public static void aStoredTokenGoesWithTheAccount() throws Exception {
        with((server, folder) -> {
            PushClient client = filledClient(server, folder);
            Check.that(server.signedIn(folder.store()).sync().isFresh(), "another process signs in with it");
            server.authorization = "Bearer spt_second";
            Check.fails(client::sync, PushClientException.Reason.UNAUTHORIZED);
            server.signedIn(folder.store()).signIn("alice", "secret");
            Check.that(client.sync().isFresh(), "and this one with that of the next sign-in");
            server.log.clear();
            // A client with a password ends the session of the stored token.
            Check.that(new PushClient(server.options(), Credentials.basic("alice", "x"), folder.store()).signOut(), "the server knows");
            Check.equal(server.log, ENDED, "the session has ended, too");
            Check.fails(client::sync, PushClientException.Reason.SIGNED_OUT);
            checkNothingIsStored(server, folder);
            client.signOut();
        });
    }

    public static void aSignOutOnAFullDiskSignsOutAndTellsTheServerOnce() throws Exception {
        for (boolean hasNetwork : new boolean[] {true, false}) {
            with((server, folder) -> {
                filledClient(server, folder);
                if (!hasNetwork) server.loseOneIn = 1;
                // In this process each write to a file fails.
                Process process = SigningOut.start("ulimit -f 0;", server, folder);
                Check.equal(SigningOut.said(process), Boolean.toString(hasNetwork), "whether the server knows");
                server.loseOneIn = 0;
                checkNothingIsStored(server, folder);
                if (hasNetwork) Check.equal(server.log, ENDED, "the requests");
                Check.that(PushClient.finishSignOuts(server.options(), folder.store()), "and nothing could be stored");
                Check.equal(TestFolder.count(new File(folder.file, "signouts")), 0, "nor is left half written");
            });
        }
    }

    public static void aSignOutOfAnUnusedStoreNeedsNoSpace() throws Exception {
        with((server, folder) -> {
            Files.isFull = true;
            try {
                PushClient client = server.signedIn(folder.store());
                Check.that(!client.signOut() && !client.signOut(), "nobody was signed in");
                // The app stores this token elsewhere.
                server.endsSessions = true;
                Check.that(server.client(folder.store()).signOut(), "the server has ended the session");
                Check.equal(server.authorization, "Bearer spt_second", "the session");
            } finally {
                Files.isFull = false;
            }
        });
        with((server, folder) -> {
            filledClient(server, folder);
            KeyProvider locked = failure -> {
                throw new IOException("the keystore is locked");
            };
            Store store = new Store(folder.file, locked);
            Check.fails(() -> server.signedIn(store).signOut(), PushClientException.Reason.STORAGE);
            Check.that(server.signedIn(folder.store()).sync().isFresh(), "still signed in");
        });
    }

    public static void aProcessThatIsKilledWhileItTellsTheServerHasSignedOut() throws Exception {
        with((server, folder) -> {
            filledClient(server, folder);
            Process[] process = {null};
            CountDownLatch isStarted = new CountDownLatch(1);
            server.held = () -> {
                isStarted.await();
                process[0].destroyForcibly().waitFor();
            };
            process[0] = SigningOut.start("", server, folder);
            isStarted.countDown();
            Check.equal(SigningOut.said(process[0]), null, "it was killed");
            checkNothingIsStored(server, folder);
            server.log.clear();
            Check.that(PushClient.finishSignOuts(server.options(), folder.store()), "the server knows");
            Check.equal(server.log, ENDED, "both");
        });
    }

    /** The token and the inbox always exist together. */
    public static void aProcessThatIsKilledWhileItSignsOutHasSignedOutOrNot() throws Exception {
        boolean[] isOver = {false};
        Set<Boolean> states = new HashSet<>();
        for (int changes = 0; !isOver[0]; changes++) {
            String change = Integer.toString(changes);
            Check.that(changes < 100, "it never ends by itself");
            with((server, folder) -> {
                filledClient(server, folder);
                isOver[0] = SigningOut.said(SigningOut.start("", server, folder, change)) != null;
                boolean isSignedIn = isAccountThere(folder);
                states.add(isSignedIn);
                if (!isSignedIn) checkNothingIsStored(server, folder);
                else Check.equal(server.signedIn(folder.store()).sync().value().notifications().size(), 1, "as before");
            });
        }
        Check.equal(states.size(), 2, "killed before and after");
    }

    public static void aSessionThatNobodyHasEndedIsNotCalledEnded() throws Exception {
        with((server, folder) -> {
            // The server also answers 401 if a proxy removes the token.
            PushClient client = new PushClient(server.options(), Credentials.token("spt_other", "alice"), folder.store());
            Check.that(!client.signOut(), "the server knows nobody of that token");
            Check.equal(server.log, Collections.singletonList("DELETE /api/sessions/current"), "asked once");
            Check.that(PushClient.finishSignOuts(server.options(), folder.store()), "and nothing waits");
        });
    }

    public static void anEventStreamIsRegisteredWithoutAHandle() throws Exception {
        with((server, folder) -> {
            PushClient client = server.client(folder.store());
            String id = client.registerIfNeeded("stream", "", Collections.<String>emptyList());
            Check.equal(id, "device-1", "the registration");
            Check.equal(server.devices, Collections.singleton("device-1"), "the server has it");
            Check.equal(client.registerIfNeeded("stream", "", Collections.<String>emptyList()), id, "no other");
        });
    }

    public static void aDeviceWhoseTokenIsDeadIsEndedWhenItsAccountSignsInAgain() throws Exception {
        with((server, folder) -> {
            PushClient client = server.client(folder.store());
            client.register("fcm", "handle", Collections.<String>emptyList());
            server.authorization = "Bearer spt_second";
            Check.that(!client.signOut(), "the server does not know");
            Check.equal(server.devices, Collections.singleton("device-1"), "it is there");
            server.log.clear();
            Check.that(!PushClient.finishSignOuts(server.options(), folder.store()), "and stays to be ended");
            Check.equal(server.log, Collections.emptyList(), "a dead token is not shown again");
            new PushClient(server.options(), Credentials.token("spt_second", "bob"), folder.store()).sync();
            Check.equal(server.devices, Collections.singleton("device-1"), "another account's token is not for it");
            Check.that(new PushClient(server.options(), Credentials.token("spt_second", "alice"), folder.store()).sync().isFresh(), "fresh");
            Check.equal(server.devices, Collections.emptySet(), "ended");
            Check.that(!server.log.contains("DELETE /api/sessions/current"), "the new session goes on");
            Check.that(PushClient.finishSignOuts(server.options(), folder.store()), "nothing is left");
        });
    }

    public static void whoSignsOutWithoutATokenIsToldThatTheServerDoesNotKnow() throws Exception {
        with((server, folder) -> {
            TokenProvider none = refused -> null;
            PushClient fresh = new PushClient(server.options(), Credentials.token(none, "bob"), folder.store());
            Check.that(!fresh.signOut(), "a session of which nothing is known");
            server.client(folder.store()).register("fcm", "handle", Collections.<String>emptyList());
            PushClient cold = new PushClient(server.options(), Credentials.token(none, "alice"), folder.store());
            Check.that(!cold.signOut(), "a device that nobody can end now");
            Check.that(!PushClient.finishSignOuts(server.options(), folder.store()), "it waits");
            server.client(folder.store()).sync();
            Check.equal(server.devices, Collections.emptySet(), "ended");
        });
    }

    public static void aSignOutThatWaitsDoesNotEndTheDeviceOfWhoSignsInAgain() throws Exception {
        with((server, folder) -> {
            PushClient client = server.client(folder.store());
            client.register("fcm", "handle", Collections.<String>emptyList());
            Options nowhere = server.options().connections(url -> {
                throw new java.net.UnknownHostException("no network");
            });
            Check.that(!new PushClient(nowhere, Credentials.token("spt_first", "alice"), folder.store()).signOut(), "offline");
            server.client(folder.store()).register("fcm", "handle", Collections.<String>emptyList());
            server.log.clear();
            Check.that(PushClient.finishSignOuts(server.options(), folder.store()), "the server knows");
            Check.equal(server.log, Collections.singletonList("DELETE /api/sessions/current"), "the session of before");
            Check.equal(server.devices, Collections.singleton("device-1"), "the server gives a handle its id again");
        });
    }

    public static void aDeviceThatIsBeingRegisteredIsEndedByTheSignOut() throws Exception {
        with((server, folder) -> {
            // A password has no session, with whose end the device would end.
            Credentials password = Credentials.basic("alice", "secret").accountId(server.account);
            PushClient other = new PushClient(server.options(), password, folder.store());
            other.cachedInbox();
            boolean[] isOver = {false};
            Options options = server.options().connections(url -> {
                // This function runs while the request is under way.
                if (url.getPath().startsWith("/api/register/") && !isOver[0]) {
                    isOver[0] = true;
                    try {
                        other.signOut();
                    } catch (PushClientException error) {
                        throw new IOException(error);
                    }
                }
                return (java.net.HttpURLConnection) url.openConnection();
            });
            PushClient client = new PushClient(options, password, folder.store());
            Check.fails(() -> client.register("fcm", "handle", Collections.<String>emptyList()), PushClientException.Reason.SIGNED_OUT);
            String ended = "DELETE /api/register/device-1";
            Check.equal(server.log, Arrays.asList("POST /api/register", ended, "PUT /api/register/device-1", ended), "the requests");
            Check.equal(server.devices, Collections.emptySet(), "ended");
        });
    }

    /** The order for the device comes after the one that has ended the session: no request asks with its token. */
    public static void theOrderOfALateRegistrationIsDoneWithItsSession() throws Exception {
        with((server, folder) -> {
            server.endsSessions = true;
            PushClient client = filledClient(server, folder);
            boolean[] isEnded = {false};
            server.held = () -> isEnded[0] = server.signedIn(folder.store()).signOut();
            Check.fails(() -> client.register("fcm", "other", Collections.<String>emptyList()), PushClientException.Reason.SIGNED_OUT);
            Check.that(isEnded[0], "the server knows");
            Check.equal(server.log.subList(1, server.log.size()), ENDED, "the requests after PUT");
            Check.that(PushClient.finishSignOuts(server.options(), folder.store()), "nothing waits");
            server.log.clear();
            Check.that(client.signOut(), "its session has ended");
            Check.that(!client.signOut(), "signed out before");
            Check.equal(server.log, Collections.emptyList(), "the requests for a session that has ended");
        });
    }

    public static void aRegistrationTakesItsLockOnce() throws Exception {
        with((server, folder) -> {
            Set<Integer> counts = new HashSet<>();
            Options options = server.options().observer(new Observer() {
                @Override
                public void answered(String method, String route, int status, long millis) {
                    counts.add(folder.store().registration().getHoldCount());
                }

                @Override
                public void failed(
                        String method, String route, PushClientException.Reason reason, Interference.Kind kind, long millis) {}
            });
            PushClient client = new PushClient(options, Credentials.token("spt_first", "alice"), folder.store());
            client.registerIfNeeded("fcm", "handle", Collections.<String>emptyList());
            Check.equal(counts, Collections.singleton(1), "locks during the requests");
        });
    }

    public static void aSyncDoesNotEndTheDeviceThatAnotherThreadRegisters() throws Exception {
        ExecutorService threads = Executors.newSingleThreadExecutor();
        try {
            with((server, folder) -> {
                server.client(folder.store()).register("fcm", "handle", Collections.<String>emptyList());
                TokenProvider none = refused -> null;
                Check.that(!new PushClient(server.options(), Credentials.token(none, "alice"), folder.store()).signOut(), "it waits");
                ReentrantLock lock = folder.store().registration();
                List<Future<String>> other = new ArrayList<>();
                Options options = server.options().connections(url -> {
                    // This function runs before the request that ends the earlier device.
                    if (url.getPath().startsWith("/api/register/") && other.isEmpty()) {
                        PushClient registering = server.client(folder.store());
                        other.add(threads.submit(() -> registering.register("fcm", "handle", Collections.<String>emptyList())));
                        while (!lock.hasQueuedThreads() && !other.get(0).isDone()) Thread.yield();
                    }
                    return (java.net.HttpURLConnection) url.openConnection();
                });
                PushClient client = new PushClient(options, Credentials.token("spt_first", "alice"), folder.store());
                Check.that(client.sync().isFresh(), "fresh");
                Check.equal(other.get(0).get(), "device-1", "the same id");
                Check.equal(server.devices, Collections.singleton("device-1"), "registered");
            });
        } finally {
            threads.shutdown();
        }
    }

    public static void twoThreadsCarryOutASignOutOnce() throws Exception {
        ExecutorService threads = Executors.newSingleThreadExecutor();
        try {
            with((server, folder) -> {
                PushClient client = filledClient(server, folder);
                server.endsSessions = true;
                ReentrantLock lock = folder.store().signOuts();
                List<Future<Boolean>> other = new ArrayList<>();
                server.held = () -> {
                    other.add(threads.submit(() -> PushClient.finishSignOuts(server.options(), folder.store())));
                    while (!lock.hasQueuedThreads() && server.log.size() < 2) Thread.yield();
                };
                Check.that(client.signOut(), "the server knows");
                Check.that(other.get(0).get(), "nothing waits");
                Check.equal(server.log, ENDED, "the requests");
                Check.equal(TestFolder.count(new File(folder.file, "signouts")), 0, "files");
            });
        } finally {
            threads.shutdown();
        }
    }

    public static void aLostKeyLeavesNoOrphansAndADamagedFileIsFetchedAgain() throws Exception {
        with((server, folder) -> {
            for (int count = 0; count < 5; count++) server.add("text " + count);
            PushClient client = server.client(folder.store());
            client.sync();
            damage(folder, "b0");
            Check.equal(client.cachedInbox().notifications().get(2).text(), null, "the damaged one is not shown");
            Check.equal(server.client(folder.store()).cachedInbox().notifications().size(), 4, "nor listed");
            Check.equal(client.sync().value().notifications().size(), 5, "fetched again");
            byte[] other = new byte[32];
            other[0] = 1;
            PushClient lost = server.client(new Store(folder.file, new SecretKeySpec(other, "AES")));
            Check.equal(lost.cachedInbox().notifications().size(), 0, "nothing opens");
            // Only the files with the keys and with the sign-in's name remain.
            Check.equal(TestFolder.count(folder.file), 2, "files");
        });
    }

    public static void aSyncReadsNoFileThatItHasWritten() throws Exception {
        with((server, folder) -> {
            for (int count = 0; count < 4; count++) server.add("text " + count);
            server.pageSize = 2;
            PushClient client = server.client(folder.store());
            // The files of the first page are lost while the second page is on its way.
            server.held = () -> server.held = () -> {
                Check.that(files(folder, "b0").firstEntry().getValue().delete(), "a box");
            };
            Check.equal(client.sync().value().unreadCount(), 4, "all are listed");
            Check.equal(server.log.stream().filter(request -> request.startsWith("GET /api/notifications")).count(), 2L, "pages");
            Check.equal(client.cachedInbox().notifications().get(0).text(), null, "the lost file is noticed when it is read");
            Check.that(!texts(client.sync().value()).contains(null), "fetched again");
        });
    }

    private static List<Check.Body> newTasks(PushClient client) {
        Outbox outbox = client.outbox();
        return Arrays.asList(() -> outbox.send(Json.of("text")), () -> outbox.markRead(1, true), () -> outbox.dismiss(1));
    }

    public static void aTaskNeedsASignedInAccount() throws Exception {
        with((server, folder) -> {
            PushClient signedOut = server.signedIn(folder.store());
            signedOut.signIn("alice", "secret");
            Check.that(signedOut.signOut(), "signed out");
            Credentials none = Credentials.token(refused -> null, "carol");
            server.log.clear();
            Check.that(!signedOut.signOut(), "nobody is signed in");
            for (PushClient client : Arrays.asList(
                    server.signedIn(folder.store()), new PushClient(server.options(), none, folder.store()), signedOut)) {
                for (Check.Body task : newTasks(client)) Check.fails(task, PushClientException.Reason.SIGNED_OUT);
                for (Check.Body call : callsOfThisDevice(client)) Check.fails(call, PushClientException.Reason.SIGNED_OUT);
                Outbox outbox = client.outbox();
                Outbox.Failure failure = new Outbox.Failure("key", null);
                for (Check.Body call : Arrays.<Check.Body>asList(
                        outbox::count, outbox::failures, outbox::flush, () -> outbox.discard(failure))) {
                    Check.fails(call, PushClientException.Reason.SIGNED_OUT);
                }
                Check.equal(client.account.lastIndex().outbox.size(), 0, "what waits");
            }
            Check.equal(server.log, Collections.emptyList(), "requests");
        });
    }

    private static List<Check.Body> callsOfThisDevice(PushClient client) {
        Devices devices = client.devices();
        return Arrays.asList(
                () -> devices.joinTopic("news"), () -> devices.leaveTopic("news"), () -> devices.testPush(),
                () -> devices.confirmHandle("7F3A"), () -> devices.setDeviceKey("key"));
    }

    public static void aTaskBeforeTheFirstAnswerNeedsNoNetwork() throws Exception {
        with((server, folder) -> {
            TokenProvider offline = refused -> {
                throw new IOException("no network");
            };
            int[] asked = {0};
            TokenProvider counted = refused -> {
                asked[0]++;
                return "spt_first";
            };
            for (Credentials credentials : Arrays.asList(
                    Credentials.basic("bob", "secret"), Credentials.challenged("carol", "secret"),
                    Credentials.token(offline, "dave"), Credentials.token(counted, "alice"))) {
                PushClient client = new PushClient(server.options(), credentials, folder.store());
                for (Check.Body task : newTasks(client)) task.run();
                Check.equal(client.outbox().count(), 2, "the dismissal replaces the mark");
                for (Check.Body call : callsOfThisDevice(client)) Check.fails(call, PushClientException.Reason.NOT_REGISTERED);
            }
            PushClient client = new PushClient(server.options(), Credentials.token(counted, "alice"), folder.store());
            client.outbox().flush();
            int before = asked[0];
            for (Check.Body task : newTasks(client)) task.run();
            Check.equal(asked[0], before, "the calls of the provider for tasks of a known account");
        });
    }

    public static void aSignInOfAnotherAccountInheritsNoTasks() throws Exception {
        for (String user : new String[] {"alice", "Alice", "bob", ""}) {
            with((server, folder) -> {
                // The account is unknown, because there was no answer yet.
                PushClient offline = new PushClient(server.options(), Credentials.basic("alice", "secret"), folder.store());
                offline.outbox().send(Json.of("by alice"));
                if (!user.isEmpty()) server.isUser(user, user.equals("bob") ? "BBBBBBBBBBBBBBBBBBBBBA" : server.account);
                PushClient client = server.signedIn(folder.store());
                if (user.isEmpty()) client.signInWithCode("A2B3");
                else client.signIn(user, "secret");
                boolean isSame = user.equalsIgnoreCase("alice");
                Check.equal(client.outbox().count(), isSame ? 1 : 0, "tasks after the sign-in of " + user);
                client.sync();
                Check.equal(server.log.contains("POST /api/notifications"), isSame, "sent by " + user);
                if (!isSame) Check.fails(() -> offline.outbox().send(Json.of("again")), PushClientException.Reason.SIGNED_OUT);
            });
        }
    }

    private static final String BOB = "BBBBBBBBBBBBBBBBBBBBBA";

    public static void aClientNamesTheAccountThatIsSignedIn() throws Exception {
        with((server, folder) -> {
            PushClient alice = server.signedIn(folder.store());
            Check.equal(alice.accountId(), null, "before the first sign-in");
            Session session = alice.signIn("alice", "secret");
            Check.equal(alice.accountId(), session.account(), "after it");
            Check.equal(server.signedIn(folder.store()).accountId(), session.account(), "at the next start");
            server.isUser("bob", BOB);
            server.signedIn(folder.store()).signIn("bob", "secret");
            Check.fails(alice::accountId, PushClientException.Reason.SIGNED_OUT);
            Check.equal(server.signedIn(folder.store()).accountId(), BOB, "after another user's sign-in");
        });
    }

    public static void aSignInOfAnotherAccountEndsTheFormerSession() throws Exception {
        for (String way : new String[] {"password", "code", "same client", "password, offline"}) {
            with((server, folder) -> {
                PushClient alice = filledClient(server, folder);
                boolean[] isOffline = {way.endsWith("offline")};
                Options options = server.options().connections(url -> {
                    if (isOffline[0] && url.getPath().startsWith("/api/register/")) throw new IOException("no network");
                    return (java.net.HttpURLConnection) url.openConnection();
                });
                server.isUser("bob", BOB);
                PushClient bob = way.equals("same client") ? alice : new PushClient(options, Credentials.stored("alice"), folder.store());
                int[] changes = {0};
                bob.addListener(() -> changes[0]++);
                if (way.equals("code")) bob.signInWithCode("A2B3");
                else bob.signIn("bob", "secret");
                Check.equal(changes[0], 1, way + ": calls of the listener");
                Check.that(bob.cachedInbox().notifications().isEmpty(), way + ": nothing of alice is visible");
                if (bob != alice) Check.fails(alice::cachedInbox, PushClientException.Reason.SIGNED_OUT);
                Check.equal(server.former.isEmpty(), !isOffline[0], way + ": the end of alice's session");
                if (isOffline[0]) {
                    isOffline[0] = false;
                    Check.that(bob.sync().isFresh(), "bob's session goes on");
                    server.log.clear();
                    Check.that(PushClient.finishSignOuts(server.options(), folder.store()), "the order was stored");
                }
                Check.equal(server.log.subList(server.log.size() - 2, server.log.size()), ENDED, way + ": the last requests");
                Check.that(server.former.isEmpty() && server.devices.isEmpty(), way + ": session and device have ended");
                Check.that(PushClient.finishSignOuts(server.options(), folder.store()), way + ": nothing waits");
                Check.that(bob.sync().isFresh(), way + ": bob is signed in");
            });
        }
    }

    public static void aCallOfTheFormerAccountStoresAndSendsNothingForTheNext() throws Exception {
        for (String call : new String[] {"sync", "notification", "send", "register"}) {
            with((server, folder) -> {
                long id = server.add("text");
                PushClient[] client = {null};
                Options options = server.options().connections(url -> {
                    boolean isSend = url.getPath().equals("/api/notifications") && url.getQuery() == null;
                    // The message is on its way when bob's sign-in ends alice's session.
                    if (isSend && server.account != BOB) becomeBob(server, client[0]);
                    return (java.net.HttpURLConnection) url.openConnection();
                });
                client[0] = new PushClient(options, Credentials.stored("alice"), folder.store());
                client[0].signIn("alice", "secret");
                client[0].api.own().id();
                if (call.equals("send")) client[0].outbox().send(Json.of("by alice"));
                else server.held = () -> becomeBob(server, client[0]);
                Check.fails(() -> {
                    if (call.equals("sync")) client[0].sync();
                    else if (call.equals("notification")) client[0].notification(id);
                    else if (call.equals("register")) client[0].register("stream", "", Collections.singleton("ward"));
                    else client[0].outbox().flush();
                }, PushClientException.Reason.SIGNED_OUT);
                Check.that(client[0].cachedInbox().notifications().isEmpty(), call + ": nothing of alice is visible");
                Check.that(server.sentByKey.isEmpty() && server.devices.isEmpty(), call + ": nothing is sent for bob");
            });
        }
    }

    public static void aMessageIsSentOnlyWithATokenOfItsAccount() throws Exception {
        for (String way : new String[] {"named by the app", "learned", "new client", "one token", "renewed"}) {
            with((server, folder) -> {
                server.former.put("Bearer spt_bob", BOB);
                String[] tokens = {"spt_first", "spt_first"};
                TokenProvider provider = refused -> tokens[refused == null ? 0 : 1];
                Credentials credentials = Credentials.token(provider, "alice");
                if (way.equals("named by the app")) credentials = credentials.accountId(server.account);
                PushClient client = new PushClient(server.options(), credentials, folder.store());
                client.sync();
                client.outbox().send(Json.of("by alice"));
                if (way.equals("new client")) client = new PushClient(server.options(), credentials, folder.store());
                if (way.equals("one token")) {
                    client = new PushClient(server.options(), Credentials.token("spt_bob", "alice"), folder.store());
                }
                boolean isRenewed = way.equals("renewed");
                if (isRenewed) server.authorization = "Bearer spt_second";
                // The app's source of tokens now has another user's.
                tokens[isRenewed ? 1 : 0] = "spt_bob";
                PushClient asked = client;
                for (int attempt = 0; attempt < 2; attempt++) {
                    Check.equal(asked.sync().failure().interference().kind(), Interference.Kind.WRONG_ACCOUNT, way);
                    PushClientException error = Check.fails(() -> asked.send(Json.of("sent"), "key"), PushClientException.Reason.INTERFERENCE);
                    Check.equal(error.interference().kind(), Interference.Kind.WRONG_ACCOUNT, way);
                }
                Check.that(server.sentByKey.isEmpty() && !isSentBy("spt_bob", server), way + ": nothing is sent for bob");
                Check.equal(asked.outbox().count(), 1, way + ": the message waits");
                if (way.equals("one token")) return;
                String own = isRenewed ? "spt_second" : "spt_first";
                tokens[0] = tokens[1] = own;
                Check.that(asked.sync().isFresh() && server.sentByKey.size() == 1, way + ": alice's token sends it");
            });
        }
    }

    /** Whether a message was in one of the requests with a token, even if the server refused it. */
    private static boolean isSentBy(String token, TestServer server) {
        for (int index = 0; index < server.log.size(); index++) {
            boolean isOfToken = server.credentials.get(index).equals("Bearer " + token);
            if (isOfToken && server.log.get(index).equals("POST /api/notifications")) return true;
        }
        return false;
    }

    public static void aTokenIsConfirmedOnceBeforeItsFirstMessage() throws Exception {
        String asks = "GET /api/sessions/current", sends = "POST /api/notifications";
        for (boolean isOfVersionBefore : new boolean[] {false, true}) {
            with((server, folder) -> {
                server.isOfVersionBefore = isOfVersionBefore;
                String[] token = {"spt_first"};
                TokenProvider provider = refused -> refused == null ? token[0] : "spt_second";
                PushClient client = new PushClient(server.options(), Credentials.token(provider, "alice"), folder.store());
                client.send(Json.of("a"), "a");
                client.send(Json.of("b"), "b");
                Check.equal(server.log, Arrays.asList(asks, sends, sends), "an unconfirmed token");
                server.log.clear();
                server.authorization = "Bearer spt_second";
                client.send(Json.of("c"), "c");
                Check.equal(server.log, Arrays.asList(sends, asks, sends), "a token in place of a refused one");
                server.log.clear();
                token[0] = "spt_second";
                client.sync();
                client.send(Json.of("d"), "d");
                Check.equal(server.log, Arrays.asList("GET /api/notifications", sends), "a confirmed token");
            });
        }
        with((server, folder) -> {
            server.signedIn(folder.store()).signIn("alice", "secret");
            server.log.clear();
            server.signedIn(folder.store()).send(Json.of("a"), "a");
            Check.equal(server.log, Collections.singletonList(sends), "the token of the own sign-in");
        });
    }

    private static void becomeBob(TestServer server, PushClient client) throws IOException {
        server.isUser("bob", BOB);
        try {
            client.signIn("bob", "secret");
        } catch (PushClientException error) {
            throw new IOException(error);
        }
    }

    public static void aSignInThatCannotStoreTheEndOfTheFormerSessionChangesNothing() throws Exception {
        with((server, folder) -> {
            PushClient alice = filledClient(server, folder);
            server.isUser("bob", BOB);
            Files.isFull = true;
            try {
                Check.fails(() -> server.signedIn(folder.store()).signIn("bob", "secret"), PushClientException.Reason.STORAGE);
            } finally {
                Files.isFull = false;
            }
            Check.equal(alice.cachedInbox().notifications().size(), 1, "alice's inbox");
            Check.that(server.former.containsKey("Bearer spt_first"), "alice's session goes on");
            Check.that(server.devices.contains("device-1"), "and her device");
        });
    }

    public static void aClientWhoseAccountWasReplacedEndsItsOwnSession() throws Exception {
        for (String kind : new String[] {"one token", "provider", "known account"}) {
            for (boolean isBobSignedOut : new boolean[] {true, false}) {
                with((server, folder) -> {
                    // The store has only alice's device: the app stores her token.
                    String[] token = {"spt_first"};
                    Credentials credentials = kind.equals("one token")
                            ? Credentials.token("spt_first", "alice")
                            : Credentials.token(refused -> token[0], "alice");
                    if (kind.equals("known account")) credentials = credentials.accountId(server.account);
                    server.add("for alice");
                    PushClient alice = new PushClient(server.options(), credentials, folder.store());
                    alice.sync();
                    alice.register("fcm", "handle", Collections.<String>emptyList());
                    server.isUser("bob", BOB);
                    PushClient bob = server.signedIn(folder.store());
                    bob.signIn("bob", "secret");
                    Check.that(bob.cachedInbox().notifications().isEmpty(), "nothing of alice is visible");
                    token[0] = "spt_bob";
                    bob.sync();
                    Check.that(!PushClient.finishSignOuts(server.options(), folder.store()), "alice's device waits for her token");
                    Check.equal(server.devices, Collections.singleton("device-1"), "it is there");
                    if (isBobSignedOut) Check.that(bob.signOut(), "bob's session has ended");
                    server.log.clear();
                    Check.that(alice.signOut(), "the server knows");
                    Check.equal(server.log, ENDED, "the requests");
                    Check.that(server.former.isEmpty() && server.devices.isEmpty(), "session and device have ended");
                    Check.that(PushClient.finishSignOuts(server.options(), folder.store()), "nothing waits");
                    if (!isBobSignedOut) Check.that(bob.sync().isFresh(), "bob is signed in");
                    Check.that(!alice.signOut(), "signed out before");
                });
            }
        }
    }

    public static void aReplacedClientsSignOutWaitsForTheNetwork() throws Exception {
        with((server, folder) -> {
            boolean[] isOffline = {false};
            Options options = server.options().connections(url -> {
                if (isOffline[0]) throw new IOException("no network");
                return (java.net.HttpURLConnection) url.openConnection();
            });
            PushClient alice = new PushClient(options, Credentials.token("spt_first", "alice"), folder.store());
            alice.register("fcm", "handle", Collections.<String>emptyList());
            server.isUser("bob", BOB);
            server.signedIn(folder.store()).signIn("bob", "secret");
            isOffline[0] = true;
            Check.that(!alice.signOut(), "the server has not confirmed");
            Check.that(PushClient.finishSignOuts(server.options(), folder.store()), "the server knows");
            Check.that(server.former.isEmpty() && server.devices.isEmpty(), "session and device have ended");
            Check.that(server.signedIn(folder.store()).sync().isFresh(), "bob is signed in");
        });
    }

    public static void aSignOutLeavesTheDataOfAnAccountWithAnotherIdentifier() throws Exception {
        with((server, folder) -> {
            String alices = server.account;
            server.isUser("bob", BOB);
            PushClient bob = server.signedIn(folder.store());
            bob.signIn("bob", "secret");
            PushClient alice = new PushClient(
                    server.options(), Credentials.token("spt_first", "alice").accountId(alices), folder.store());
            Check.that(alice.signOut(), "the server knows");
            Check.that(server.former.isEmpty(), "alice's session has ended");
            Check.that(bob.sync().isFresh(), "bob is signed in");
        });
    }

    public static void aFullOutboxRefusesTheNextTask() throws Exception {
        with((server, folder) -> {
            PushClient client = server.client(folder.store());
            for (int id = 1; id <= 500; id++) client.outbox().dismiss(id);
            PushClientException error = Check.fails(() -> client.outbox().dismiss(501), PushClientException.Reason.OUTBOX_FULL);
            Check.that(!error.allowsCached(), "the app must know");
            Check.equal(client.outbox().count(), 500, "the tasks");
        });
    }

    public static void aFullDiskShowsNewNotificationsFromMemory() throws Exception {
        with((server, folder) -> {
            long first = server.add("first");
            PushClient client = server.client(folder.store());
            client.sync();
            Files.isFull = true;
            try {
                long second = server.add("second");
                Check.that(client.sync().isFresh(), "fresh");
                Check.equal(texts(client.cachedInbox()), Arrays.asList("first", "second"), "in memory");
                long third = server.add("third");
                Check.equal(client.notification(third).value().text(), "third", "a push");
                client.markRead(first, true);
                client.dismiss(second);
                Check.equal(texts(client.cachedInbox()), Arrays.asList("first", "third"), "all changes");
                InboxChanges changes = client.changes("screen");
                Check.equal(changes.arrived(), new HashSet<>(Arrays.asList(first, third)), "they are reported");
                Check.fails(() -> client.outbox().send(Json.of("x")), PushClientException.Reason.STORAGE);
                Check.equal(texts(server.client(folder.store()).cachedInbox()), Arrays.asList("first"), "the disk is as before");
                for (int count = 0; count < 5; count++) server.add(repeated("x", 900_000));
                server.pageSize = 2;
                Check.fails(client::sync, PushClientException.Reason.STORAGE);
            } finally {
                Files.isFull = false;
            }
            Check.that(client.sync().isFresh(), "there is room again");
            Check.equal(client.cachedInbox().notifications().size(), 7, "all");
            PushClient later = server.client(folder.store());
            Check.equal(later.cachedInbox().notifications(), client.cachedInbox().notifications(), "and on the disk");
            Check.that(later.cachedInbox().notifications().get(0).isRead(), "with each change");
        });
    }

    public static void aDismissedNotificationIsErasedFromItsBox() throws Exception {
        with((server, folder) -> {
            List<Long> ids = new ArrayList<>();
            for (int count = 0; count < 3; count++) ids.add(server.add("text " + count));
            PushClient client = server.client(folder.store());
            client.sync();
            File box = files(folder, "b0").firstEntry().getValue();
            byte[] before = Files.read(box);
            byte[] second = Box.read(box, 1);
            client.dismiss(ids.get(1));
            checkErased(box, before, second);
            // The process ends after the commit, and before the erasure.
            try (FileOutputStream out = new FileOutputStream(box)) {
                out.write(before);
            }
            PushClient later = server.client(folder.store());
            Check.equal(texts(later.cachedInbox()), Arrays.asList("text 0", "text 2"), "the others");
            checkErased(box, before, second);
            client.dismiss(ids.get(0));
            client.dismiss(ids.get(2));
            Check.that(!box.exists(), "an empty box is deleted");
        });
    }

    private static void checkErased(File box, byte[] before, byte[] second) throws IOException {
        String content = new String(Files.read(box), StandardCharsets.ISO_8859_1);
        Check.equal(content.length(), before.length, "the size");
        Check.that(!content.contains(new String(second, 20, 20, StandardCharsets.ISO_8859_1)), "the content is still there");
        Check.that(Box.read(box, 1) == null, "nor can it be read");
    }

    public static void aStoreWithAFileForEachNotificationIsRead() throws Exception {
        with((server, folder) -> {
            for (int count = 0; count < 3; count++) server.add("text " + count);
            server.client(folder.store()).sync();
            // Earlier versions stored each content in a file of its own.
            File box = files(folder, "b0").firstEntry().getValue();
            for (int number = 0; number < 3; number++) Files.write(new File(box.getParentFile(), "" + number), Box.read(box, number));
            Check.that(box.delete(), "the box");
            PushClient client = server.client(folder.store());
            Check.equal(texts(client.cachedInbox()), Arrays.asList("text 0", "text 1", "text 2"), "the inbox");
            client.dismiss(client.cachedInbox().notifications().get(0).id());
            Check.that(files(folder, "0").isEmpty() && !files(folder, "1").isEmpty(), "the file of the dismissed one is deleted");
        });
    }

    private static List<String> texts(Inbox inbox) {
        List<String> texts = new ArrayList<>();
        for (NotificationItem item : inbox.notifications()) texts.add(item.text());
        return texts;
    }

    public static void aKeyThatTheDeviceHasLostIsReplaced() throws Exception {
        with((server, folder) -> {
            server.add("text");
            server.client(folder.store()).sync();
            SecretKey lost = new SecretKeySpec(new byte[3], "AES");
            KeyProvider healing = failure -> {
                if (failure instanceof java.security.InvalidKeyException) return new SecretKeySpec(new byte[16], "AES");
                return lost;
            };
            PushClient client = server.client(new Store(folder.file, healing));
            Check.that(client.cachedInbox().notifications().isEmpty(), "nothing can be read");
            Check.equal(client.sync().value().notifications().size(), 1, "fetched again");
        });
    }

    public static void aKeystoreThatFailsIsNoCrash() throws Exception {
        with((server, folder) -> {
            AtomicInteger calls = new AtomicInteger();
            boolean[] isBroken = {true};
            KeyProvider provider = failure -> {
                if (isBroken[0] && calls.incrementAndGet() != 6) throw new java.security.ProviderException("-1000");
                return TestFolder.KEY;
            };
            Store store = new Store(folder.file, provider);
            PushClientException error = Check.fails(() -> server.client(store).cachedInbox(), PushClientException.Reason.STORAGE);
            Check.that(error.getMessage().contains("-1000") && calls.get() == 3, error.getMessage());
            Check.equal(server.client(store).cachedInbox().notifications().size(), 0, "a later attempt succeeds");
            server.client(store).signIn("alice", "secret");
            store.putSecret("token", "secret");
            PushClient old = server.client(store);
            old.cachedInbox();
            isBroken[0] = false;
            store.reset();
            Check.equal(TestFolder.count(folder.file), 0, "files");
            Check.fails(old::cachedInbox, PushClientException.Reason.SIGNED_OUT);
            Check.equal(store.secret("token"), null, "the secret");
            Check.equal(server.client(store).cachedInbox().notifications().size(), 0, "a new client begins anew");
        });
    }

    /** Flips a bit of the file with this name, in the newest commit that has such a file. */
    private static void damage(TestFolder folder, String name) throws IOException {
        TreeMap<Long, File> files = files(folder, name);
        Check.that(!files.isEmpty(), "there is a file " + name);
        damage(files.lastEntry().getValue());
    }

    /** The files with this name, by the numbers of their commits. */
    private static TreeMap<Long, File> files(TestFolder folder, String name) {
        TreeMap<Long, File> files = new TreeMap<>();
        for (File account : folder.file.listFiles()) {
            for (File commit : account.isDirectory() ? account.listFiles() : new File[0]) {
                File file = new File(commit, name);
                if (file.exists()) files.put(Long.parseLong(commit.getName().substring(1)), file);
            }
        }
        return files;
    }

    private static void damage(File damaged) throws IOException {
        byte[] bytes = Files.read(damaged);
        bytes[bytes.length / 2] ^= 1;
        try (FileOutputStream out = new FileOutputStream(damaged)) {
            out.write(bytes);
        }
    }

    public static void aDamagedIndexLosesNoRegistrationAndNoOutbox() throws Exception {
        with((server, folder) -> {
            PushClient client = server.client(folder.store());
            client.register("fcm", "handle", Collections.<String>emptyList());
            long gone = server.add("gone");
            client.sync();
            client.confirm(client.changes("screen"));
            String key = client.outbox().send(Json.of("waiting"));
            server.put(gone, null);
            long other = server.add("other");
            client.notification(other);
            damage(folder, "index");
            PushClient later = server.client(folder.store());
            Check.equal(later.outbox().count(), 1, "what waits");
            server.log.clear();
            later.registerIfNeeded("fcm", "handle", Collections.<String>emptyList());
            Check.equal(server.log, Collections.singletonList("GET /api/register"), "it is registered");
            Check.that(later.sync().isFresh(), "fresh");
            Check.equal(server.sentByKey.keySet(), Collections.singleton('"' + key + '"'), "sent");
            InboxChanges changes = later.changes("screen");
            Check.that(changes.deleted().contains(gone) && changes.arrived().contains(other), "the changes");
            Check.equal(later.cachedInbox().notifications().size(), 2, "and is there");
            // All remaining indexes are unreadable.
            later.confirm(changes);
            server.put(other, null);
            for (File index : files(folder, "index").values()) damage(index);
            PushClient last = server.client(folder.store());
            Check.that(last.sync().isFresh() && last.changes("screen").isEverything(), "everything is reported again");
            Check.equal(last.changes("screen").arrived().size(), 1, "which is what was sent");
        });
    }

    public static void aFreshInboxHasWhatWasDamaged() throws Exception {
        with((server, folder) -> {
            List<Long> ids = new ArrayList<>();
            for (int count = 0; count < 5; count++) ids.add(server.add("text " + count));
            PushClient client = server.client(folder.store());
            client.sync();
            client.confirm(client.changes("screen"));
            damage(folder, "b0");
            Fetched<Inbox> inbox = client.sync();
            Check.that(inbox.isFresh() && inbox.value().isComplete(), "fresh");
            Check.equal(inbox.value().notifications().size(), 5, "nothing is missing");
            // The server deletes the damaged notification before the client can fetch it again.
            client.confirm(client.changes("screen"));
            damage(folder, "b0");
            for (long id : ids) server.put(id, null);
            server.client(folder.store()).cachedInbox();
            client.sync();
            Check.equal(client.changes("screen").deleted(), new HashSet<>(ids), "the deletions");
        });
    }

    public static void aSecretIsStoredEncrypted() throws Exception {
        try (TestFolder folder = new TestFolder()) {
            Check.equal(folder.store().secret("token"), null, "before");
            folder.store().putSecret("token", "spt_secret text");
            Check.equal(folder.store().secret("token"), "spt_secret text", "in another process");
            Check.equal(folder.store().secret("Token"), null, "another name");
            search(folder.file, "spt_", "token");
            folder.store().putSecret("token", null);
            Check.equal(folder.store().secret("token"), null, "afterwards");
        }
    }

    public static void nothingReadableIsOnTheDisk() throws Exception {
        with((server, folder) -> {
            long id = server.add("a secret text");
            PushClient client = server.client(folder.store());
            client.sync();
            client.outbox().send(Json.of("another secret text"));
            search(folder.file, "secret text", "alice", "device-1", Long.toString(id), "Payload");
        });
    }

    private static void search(File file, String... words) throws IOException {
        for (String word : words) Check.that(!file.getName().contains(word), file + " tells " + word);
        if (file.isDirectory()) {
            for (File inner : file.listFiles()) search(inner, words);
            return;
        }
        String content = new String(Files.read(file), StandardCharsets.ISO_8859_1);
        for (String word : words) Check.that(!content.contains(word), file + " holds " + word);
    }

    public static void fiveThousandEntriesHaveASmallIndex() throws Exception {
        with((server, folder) -> {
            char[] text = new char[256];
            Arrays.fill(text, 'x');
            for (int count = 0; count < 5000; count++) server.add(new String(text));
            PushClient client = server.client(folder.store());
            Check.that(client.sync().isFresh(), "fresh");
            Account.Snapshot state = client.account.read();
            Check.equal(state.index.entries.size(), 5000, "entries");
            Check.that(state.index.encode().length <= Index.MAXIMUM_BYTES, "the index has " + state.index.encode().length);
            int pages = 5000 / server.pageSize;
            Check.that(TestFolder.count(folder.file) < 5000 / Box.SLOTS + 3 * pages, TestFolder.count(folder.file) + " files");
            // A fetch of one more notification by its id writes one entry, and reads no other
            // entry.
            long id = server.add("the latest");
            int files = TestFolder.count(folder.file);
            Check.equal(client.notification(id).value().text(), "the latest", "by its id");
            Check.that(TestFolder.count(folder.file) <= files + 2, "files");
        });
    }

    public static void notificationsOfOneSecondKeepTheOrderOfTheirPosts() throws Exception {
        with((server, folder) -> {
            for (int count = 0; count < 20; count++) server.add("text " + count);
            List<Long> ids = new ArrayList<>(server.entries.keySet());
            Collections.shuffle(ids, new java.util.Random(3));
            // The ids are shuffled, because the server's ids are random.
            List<String> wanted = new ArrayList<>();
            for (long id : ids) {
                Json json = server.entries.get(id).json;
                server.put(id, json);
                wanted.add(json.get("Payload").string());
            }
            PushClient client = server.client(folder.store());
            client.preview(ids.get(19));
            client.preview(ids.get(5));
            Check.equal(texts(client.sync().value()), wanted, "pushes came first");
            client.markRead(ids.get(3), true);
            server.put(ids.get(7), server.entries.get(ids.get(7)).json.replacing("Read", Json.of(true)));
            Check.equal(texts(client.sync().value()), wanted, "after changes here and elsewhere");
            Check.equal(texts(server.client(folder.store()).cachedInbox()), wanted, "and after a restart");
        });
    }

    public static void anAppsTestsMakeValuesOfTheirOwn() throws Exception {
        Json json = Json.object().with("Id", Json.of(7)).with("Payload", Json.of("text")).with("Read", Json.of(false));
        NotificationItem item = NotificationItem.of(json);
        Inbox inbox = new Inbox(Arrays.asList(item, item.read(true)), new java.util.Date(1000));
        Check.equal(inbox.unreadCount(), 1, "unread");
        Check.that(inbox.isComplete() && inbox.notifications().get(0).text().equals("text"), "the inbox");
        Problem problem = new Problem("busy", "Busy", 503, null);
        Fetched<Inbox> cached = Fetched.cached(inbox, inbox.syncedAt(), PushClientException.of(problem, 9));
        Check.that(!cached.isFresh() && cached.failure().retryAfterSeconds() == 9, "a cached value");
        Check.equal(refusal(() -> NotificationItem.of(Json.object())), "a notification needs Id and Read", "another object");
    }

    public static void aCodeSignsInAndAPasswordIsChanged() throws Exception {
        with((server, folder) -> {
            server.add("text");
            PushClient client = server.signedIn(folder.store());
            Check.equal(Check.fails(() -> client.signInWithCode("wrong"), PushClientException.Reason.PROBLEM).problem().code(), "wrong-code", "a code");
            Check.equal(client.signInWithCode("A2B3").account(), server.account, "the session");
            Check.equal(server.credentials, Arrays.asList("null", "null"), "without credentials");
            Check.that(server.signedIn(folder.store()).sync().isFresh(), "its token is stored");
            Check.fails(() -> client.changePassword("wrong", "another"), PushClientException.Reason.PROBLEM);
            client.changePassword("secret", "another");
            Check.fails(client::sync, PushClientException.Reason.UNAUTHORIZED);
            client.signIn("alice", "secret");
            Check.that(client.sync().isFresh(), "signed in again");
        });
    }

    public static void theAccountsDevicesAreListedAndThisOneJoinsTopics() throws Exception {
        with((server, folder) -> {
            PushClient client = server.client(folder.store());
            Check.fails(() -> client.devices().joinTopic("news"), PushClientException.Reason.NOT_REGISTERED);
            Check.fails(() -> client.devices().testPush(), PushClientException.Reason.NOT_REGISTERED);
            Check.equal(server.log.size(), 0, "requests");
            client.register("fcm", "handle", Collections.<String>emptyList());
            server.devices.add("device-2");
            server.log.clear();
            client.devices().joinTopic("news of #today");
            client.devices().leaveTopic("news");
            Devices.TestPush test = client.devices().testPush();
            Check.equal(test.state() + test.reason(), "acceptednull", "the test push");
            Check.equal(test + ", " + new Devices.TestPush("failed", "gone"), "accepted, failed: gone", "the texts");
            client.devices().confirmHandle("7F3A");
            List<Device> devices = client.devices().list();
            Check.equal(devices.get(1).id() + devices.get(1).platform() + devices.get(1).isRetired(), "device-2fcmfalse", "another device");
            Check.that(devices.get(0).isThisDevice() && !devices.get(1).isThisDevice(), "this device");
            client.devices().endDevice(devices.get(1));
            Check.equal(server.devices, Collections.singleton("device-1"), "the remaining device");
            Check.equal(
                    server.log.subList(0, 4),
                    Arrays.asList(
                            "PUT /api/devices/device-1/topics/news%20of%20%23today", "DELETE /api/devices/device-1/topics/news",
                            "POST /api/devices/device-1/test", "POST /api/register/device-1/confirmation"),
                    "the requests");
            Check.equal(server.lastRegistration, "\"7F3A\"", "the code");
        });
    }

    public static void aDeviceThatEndsItselfRegistersAgain() throws Exception {
        with((server, folder) -> {
            PushClient client = server.client(folder.store());
            client.register("fcm", "handle", Collections.<String>emptyList());
            Device own = client.devices().list().get(0);
            server.devices.add("device-2");
            client.devices().endDevice(client.devices().list().get(1));
            server.log.clear();
            Check.equal(client.registerIfNeeded("fcm", "handle", Collections.<String>emptyList()), own.id(), "the end of another device");
            Check.equal(server.log, Collections.emptyList(), "no requests");
            client.devices().endDevice(own);
            Check.fails(() -> client.devices().testPush(), PushClientException.Reason.NOT_REGISTERED);
            client.registerIfNeeded("fcm", "handle", Collections.<String>emptyList());
            Check.equal(server.devices, Collections.singleton("device-1"), "registered again");
        });
    }

    public static void aDeadlineHoldsAgainstADrippingPeer() throws Exception {
        try (ServerSocket listener = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
                TestFolder folder = new TestFolder()) {
            Thread peer = new Thread(() -> {
                try (Socket socket = listener.accept()) {
                    byte[] head = "HTTP/1.1 200 OK\r\nX-Slow: ".getBytes(StandardCharsets.US_ASCII);
                    socket.getOutputStream().write(head);
                    while (true) {
                        socket.getOutputStream().write('x');
                        Thread.sleep(20);
                    }
                } catch (IOException | InterruptedException over) {
                    // The client has disconnected.
                }
            });
            peer.setDaemon(true);
            peer.start();
            Options options = new Options("http://127.0.0.1:" + listener.getLocalPort(), Signatures.unsigned()).deadlineMillis(500);
            PushClient client = new PushClient(options, Credentials.token("spt_", "alice"), folder.store());
            long start = System.nanoTime();
            Check.isLate(Check.fails(() -> client.notification(7), PushClientException.Reason.OFFLINE));
            Check.that(System.nanoTime() - start < 5_000_000_000L, "half a second, with room for a busy machine");
        }
    }

    public static void aPortalsBodyIsNotRead() throws Exception {
        long[] sent = {0};
        try (ServerSocket listener = new ServerSocket(0, 5, InetAddress.getLoopbackAddress());
                TestFolder folder = new TestFolder()) {
            Thread peer = new Thread(() -> {
                while (true) {
                    try (Socket socket = listener.accept()) {
                        socket.getInputStream().read(new byte[4096]);
                        byte[] head = "HTTP/1.1 200 OK\r\nContent-Length: 67108864\r\n\r\n".getBytes(StandardCharsets.US_ASCII);
                        socket.getOutputStream().write(head);
                        for (int count = 0; count < 1024; count++) {
                            socket.getOutputStream().write(new byte[65_536]);
                            sent[0] += 65_536;
                        }
                    } catch (IOException cut) {
                        if (listener.isClosed()) return;
                    }
                }
            });
            peer.setDaemon(true);
            peer.start();
            // The client's limit would allow the whole body.
            Options options = new Options("http://127.0.0.1:" + listener.getLocalPort(), Signatures.unsigned()).answerLimit(1 << 30);
            PushClient client = new PushClient(options, Credentials.token("spt_", "alice"), folder.store());
            PushClientException error = Check.fails(() -> client.notification(7), PushClientException.Reason.INTERFERENCE);
            Check.equal(error.advice(), Advice.CAPTIVE_PORTAL, "the advice");
            Check.equal(error.interference().kind(), Interference.Kind.MISSING_ECHO, "the kind");
            Check.that(sent[0] < 32 << 20, "a portal's 64 MiB are not read: " + sent[0]);
        }
    }

    public static void aPushNamesItsNotification() {
        Map<String, String> data = new HashMap<>();
        Check.equal(PushMessage.read(data), null, "of another service");
        data.put("secureId", "4711");
        data.put("badge", "3");
        PushMessage push = PushMessage.read(data);
        Check.that(push != null && push.id() == 4711 && push.badge() == 3 && push.name("channel") == null, "the parts");
        for (String id : new String[] {"", "x", "-4711", "99999999999999999999", "1.5", "../1"}) {
            data.put("secureId", id);
            Check.equal(PushMessage.read(data), null, "the id " + id);
        }
    }

    public static void namesOfMembersCountInWhateverCase() throws Exception {
        String text = "{\"id\":7.0,\"READ\":false,\"payload\":\"secret\",\"store\":\"never\"}";
        NotificationItem item = NotificationItem.read(Json.read(text.getBytes(StandardCharsets.UTF_8)));
        Check.that(item != null && item.id() == 7 && item.isNeverStored(), "it is read");
        Check.equal(item.text(), "secret", "the payload");
        Check.that(!item.withoutPayload().json().toString().contains("secret"), "which is not stored");
        Check.that(item.read(true).isRead(), "it can be marked");
        for (String number : new String[] {"7.5", "7.", "7.01", "70e-1"}) {
            Check.equal(Json.number(number).integer(), null, number);
        }
    }

    public static void pushIsForTheAccountOfItsHint() throws Exception {
        with((server, folder) -> {
            PushClient alone = server.client(folder.store());
            PushMessage plain = push(7, null);
            Check.that(alone.isRecipient(plain), "a push without a hint is for an account alone");
            PushClient shared = new PushClient(server.options().deviceShared(true), Credentials.token("spt_first", "alice"), folder.store());
            Check.that(!shared.isRecipient(plain), "one without a hint is for no account of several");
            PushMessage hinted = push(7, AccountHint.of(7, "device-1"));
            Check.that(!shared.isRecipient(hinted), "nothing is for an account without a registration");
            shared.register("fcm", "token", Collections.<String>emptyList());
            Check.that(shared.isRecipient(hinted), "its own");
            Check.that(!shared.isRecipient(push(8, hinted.accountHint())), "the hint of another id");
            Check.that(!shared.isRecipient(push(7, AccountHint.of(7, "device-2"))), "the hint of another account");
            Check.that(!shared.isRecipient(push(7, "")), "an empty hint");
            int requests = server.log.size();
            shared.registerIfNeeded("fcm", "token", Collections.<String>emptyList());
            Check.equal(server.log.size(), requests, "nothing has changed");
            Check.that(server.lastRegistration.contains("\"Shared\":true"), server.lastRegistration);
        });
        with((server, folder) -> {
            PushMessage plain = push(7, null);
            PushClient client = server.signedIn(folder.store());
            Check.that(!client.isRecipient(plain), "nobody is signed in");
            client.signIn("alice", "secret");
            Check.that(client.isRecipient(plain), "signed in");
            client.signOut();
            Check.fails(() -> client.isRecipient(plain), PushClientException.Reason.SIGNED_OUT);
            Check.that(!server.signedIn(folder.store()).isRecipient(plain), "the next client of the signed-out account");
            TokenProvider provider = refused -> {
                throw new IOException("no network");
            };
            PushClient offline = new PushClient(server.options(), Credentials.token(provider, "bob"), folder.store());
            Check.that(offline.isRecipient(plain), "a token provider may have a token");
        });
    }

    private static PushMessage push(long id, String hint) {
        Map<String, String> data = new HashMap<>();
        data.put("secureId", Long.toString(id));
        if (hint != null) data.put("accountHint", hint);
        return PushMessage.read(data);
    }

    public static void aVerifierThatTakesEverythingIsRefused() throws Exception {
        VerificationKey key = new VerificationKey("JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs");
        for (Verifier verifier : new Verifier[] {(a, b, c) -> true, (a, b, c) -> false}) {
            Check.that(refusal(() -> Signatures.pinned(verifier, key)).contains("verifier"), "the message");
        }
    }

    public static void onlyThisDeviceIsAskedInClearAndNothingIsPinnedThere() throws Exception {
        Signatures unsigned = Signatures.unsigned();
        String[] here = {"127.0.0.1", "127.255.0.255:8080", "localhost", "LOCALHOST:80/push", "[::1]:8080"};
        for (String host : here) Check.that(new Options("http://" + host, unsigned).base().startsWith("http://"), host);
        String[] elsewhere = {
            "push.example.org", "10.0.2.2", "0.0.0.0", "127.1", "127.0.0", "127.0.0.256", "127.0.0.010", "127.0.0.1.example.org",
            "127.0.0.", "127.0.0.1e", "128.0.0.1", "localhost.example.org", "localhost.", "loca1host", "[::2]", "[::ffff:10.0.0.1]",
            "127.0.0.99999999999"
        };
        for (String host : elsewhere) {
            Check.that(refusal(() -> new Options("http://" + host, unsigned)).contains("in clear"), host);
            Check.that(new Options("https://" + host, unsigned).base().startsWith("https://"), host);
        }
        VerificationKey key = new VerificationKey("JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs");
        Signatures pinned = Signatures.pinned(PlatformVerifier.find(), key);
        for (String host : here) {
            Check.that(refusal(() -> new Options("http://" + host, pinned)).contains("keys are pinned"), host);
            Options options = new Options("http://" + host, unsigned);
            Check.that(refusal(() -> options.pins("A".repeat(43) + "=")).contains("certificates are pinned"), host);
        }
        Check.equal(refusal(() -> new Options("ftp://localhost", unsigned)), "the server's URL is not one of HTTP with a host", "ftp");
    }

    /** The message of the exception that a refused setting throws. */
    public static void impossibleValuesAreRefused() throws Exception {
        with((server, folder) -> {
            for (int value : new int[] {0, -1}) {
                Check.equal(refusal(() -> server.options().deadlineMillis(value)), "the deadline is not positive", "deadline");
                Check.equal(refusal(() -> server.options().answerLimit(value)), "the limit of an answer is not positive", "limit");
            }
            Check.equal(refusal(() -> server.options().signatureToleranceSeconds(-1)), "the tolerance is negative", "tolerance");
            Check.equal(refusal(() -> Credentials.stored("")), "the name of an account is empty", "stored");
            Check.equal(refusal(() -> Credentials.token("spt_first", "")), "the name of an account is empty", "token");
            Signatures unsigned = Signatures.unsigned();
            String[] urls = {
                "https://x:99999", "https://x:0", "https://a b", "https://x/a b", " https://x", "https://x/%zz", "https://x?a=b",
                "https://x?", "https://x/#a", "https://a:b@x", "https://127.0.0.1@x", "https://", "x", ""
            };
            for (String url : urls) Check.that(refusal(() -> new Options(url, unsigned)).startsWith("the server's URL "), url);
            for (String url : new String[] {"https://x:65535/a%20b/", "https://a_b", "https://[::1]:1"}) new Options(url, unsigned);
            for (String app : new String[] {"", "A", "a b", "a/b", repeated("a", 65)}) {
                Check.that(refusal(() -> server.options().app(app)).startsWith("the app's name "), app);
            }
            server.options().app(repeated("a", 64)).app("0-_");
            for (String name : new String[] {"", "a:b", "a\nb", "\u007f"}) {
                Check.that(refusal(() -> Credentials.basic(name, "secret")).startsWith("the user name "), name);
                Check.that(refusal(() -> Credentials.challenged(name, "secret")).startsWith("the user name "), name);
            }
            for (String password : new String[] {"", "a\r"}) {
                Check.that(refusal(() -> Credentials.basic("alice", password)).startsWith("the password "), password);
            }
            String why = "the text has half of a surrogate pair";
            for (String half : new String[] {"\ud800", "a\udc00", "\ud83d\ude00\ud83d", "\ude00\ud83d"}) {
                Check.equal(refusal(() -> Json.of(half)), why, "a string");
                Check.equal(refusal(() -> Json.object().with(half, Json.of(7))), why, "a name");
                Check.equal(refusal(() -> Credentials.stored(half)), why, "an account");
                Check.equal(refusal(() -> Credentials.basic(half, "secret")), why, "a user name");
                Check.equal(refusal(() -> Credentials.challenged("alice", half)), why, "a password");
            }
            Check.equal(Json.of("a\ud83d\ude00b").string(), "a\ud83d\ude00b", "a pair");
            Devices devices = server.client(folder.store()).devices();
            for (String topic : new String[] {"", ".", "..", "news/sport", "a\\b", "a%41", "a\n", "\u007f"}) {
                Check.that(refusal(() -> devices.joinTopic(topic)).startsWith("the topic "), topic);
                Check.that(refusal(() -> devices.leaveTopic(topic)).startsWith("the topic "), topic);
            }
            Check.equal(refusal(() -> devices.joinTopic("a\ud800")), why, "a topic");
            List<String> none = Collections.emptyList();
            for (String id : new String[] {"", ".", "..", "a/b", "../sessions/current", "a?b", "\u00e9", repeated("a", 129)}) {
                Check.that(refusal(() -> new Device(id, "fcm", null, none, false, false)).startsWith("the id of a device "), id);
                server.devices.add(id);
                Check.fails(() -> server.client(folder.store()).devices().list(), PushClientException.Reason.INTERFERENCE);
                server.devices.remove(id);
            }
            new Device(repeated("a", 128), "fcm", null, none, false, false);
            Credentials.basic("J\u00fcrgen M.", "a:b \u00e9");
            for (String token : new String[] {"", "a b", "a\r\nX: y", "a\u00e9", "=", "a=b", "\"a\""}) {
                Check.that(refusal(() -> Credentials.token(token, "alice")).startsWith("the token "), token);
                TokenProvider provider = refused -> token;
                PushClient client = new PushClient(server.options(), Credentials.token(provider, "b"), folder.store());
                Throwable cause = Check.fails(client::sync, PushClientException.Reason.UNAUTHORIZED).getCause();
                Check.that(cause.getMessage().startsWith("the token "), token);
                server.authorization = "Bearer " + token;
                // The server answers with this token.
                Check.fails(() -> server.signedIn(folder.store()).signIn("alice", "secret"), PushClientException.Reason.INTERFERENCE);
            }
            server.authorization = "Bearer spt_first";
            // A user may type anything.
            for (String name : new String[] {"", "a:b"}) {
                Check.fails(() -> server.signedIn(folder.store()).signIn(name, ""), PushClientException.Reason.UNAUTHORIZED);
            }
            server.options().deadlineMillis(1).answerLimit(1).signatureToleranceSeconds(0);
            Options longest = server.options().deadlineMillis(Long.MAX_VALUE);
            Check.that(new PushClient(longest, Credentials.token("spt_first", "a"), folder.store()).sync().isFresh(), "no overflow");
        });
    }

    public static void aMissingValueIsNamed() throws Exception {
        with((server, folder) -> {
            isNamed("server", () -> new Options(null, Signatures.unsigned()));
            isNamed("signatures", () -> new Options("https://push.example.org", null));
            isNamed("folder", () -> new Store(null, TestFolder.KEY));
            isNamed("key", () -> new Store(folder.file, (javax.crypto.SecretKey) null));
            isNamed("provider", () -> new Store(folder.file, (KeyProvider) null));
            PushClient client = server.client(folder.store());
            isNamed("payload", () -> client.outbox().send(null));
            isNamed("username", () -> client.signIn(null, "a password"));
            isNamed("password", () -> client.signIn("alice", null));
            isNamed("text", () -> client.signInWithCode(null));
            isNamed("listener", () -> client.addListener(null));
        });
    }

    private static void isNamed(String name, Check.Body call) throws Exception {
        try {
            call.run();
        } catch (NullPointerException missing) {
            Check.equal(missing.getMessage(), name, "the value");
            return;
        }
        throw new AssertionError("null was taken: " + name);
    }

    private static String refusal(Check.Body setting) throws Exception {
        try {
            setting.run();
        } catch (IllegalArgumentException refused) {
            return refused.getMessage();
        }
        throw new AssertionError("it was taken");
    }

    public static void aWrongClockCountsOnlyWithoutANonceInTheSignature() throws Exception {
        try (TestServer server = new TestServer(); TestFolder folder = new TestFolder()) {
            PushClient client = server.client(folder.store());
            for (long offset : new long[] {0, 86_400, -86_400}) {
                server.clockOffsetSeconds = offset;
                Check.that(client.sync().isFresh(), "with a nonce, " + offset);
            }
            server.isNonceUnknown = true;
            Check.equal(client.sync().failure().interference().kind(), Interference.Kind.WRONG_CLOCK, "without a nonce");
            server.clockOffsetSeconds = 0;
            Check.that(client.sync().isFresh(), "an earlier server");
            server.isNonceUnknown = false;
            server.otherNonce = "AAAAAAAAAAAAAAAAAAAAAA";
            Check.equal(client.sync().failure().interference().kind(), Interference.Kind.SIGNATURE, "another request's nonce");
        }
    }

    public static void aClientCertificateIsShownToAServerThatAsksForIt() throws Exception {
        try (TestFolder folder = new TestFolder()) {
            KeyStore keys = keys(folder);
            KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            own.init(keys, "secret".toCharArray());
            TrustManagerFactory trusted = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trusted.init(keys);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(own.getKeyManagers(), trusted.getTrustManagers(), null);
            ExecutorService thread = Executors.newSingleThreadExecutor();
            for (boolean isShown : new boolean[] {false, true}) {
                SSLServerSocket server = (SSLServerSocket) context.getServerSocketFactory().createServerSocket(0, 10, InetAddress.getByName("127.0.0.1"));
                server.setNeedClientAuth(true);
                Options options = new Options("https://127.0.0.1:" + server.getLocalPort(), Signatures.unsigned())
                        .trustManager((X509TrustManager) trusted.getTrustManagers()[0]);
                if (isShown) options.clientCertificate(own.getKeyManagers()[0]);
                Future<String> shown = thread.submit(() -> {
                    try (SSLSocket socket = (SSLSocket) server.accept()) {
                        // The client's second attempt would wait in the backlog until its deadline.
                        server.close();
                        return socket.getSession().getPeerPrincipal().getName();
                    } catch (SSLPeerUnverifiedException none) {
                        return "none";
                    }
                });
                PushClient client = new PushClient(options, Credentials.token("spt_first", "alice"), folder.store());
                Check.firstSyncFails(client);
                Check.equal(shown.get(), isShown ? "CN=phone" : "none", "the certificate");
            }
            thread.shutdown();
        }
    }

    private static KeyStore keys(TestFolder folder) throws Exception {
        File file = new File(folder.file, "keys.p12");
        new ProcessBuilder(
                        "keytool", "-genkeypair", "-alias", "a", "-keyalg", "EC", "-dname", "CN=phone", "-ext", "san=ip:127.0.0.1",
                        "-storetype", "PKCS12", "-storepass", "secret", "-keystore", file.getPath())
                .redirectErrorStream(true).redirectOutput(ProcessBuilder.Redirect.DISCARD).start().waitFor();
        return KeyStore.getInstance(file, "secret".toCharArray());
    }

    public static void aRefusedCertificateIsOfTheWrongTimeOrOfTheWrongServer() throws Exception {
        try (TestFolder folder = new TestFolder()) {
            KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            own.init(keys(folder), "secret".toCharArray());
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(own.getKeyManagers(), null, null);
            Map<CertificateException, Advice> wanted = new HashMap<>();
            wanted.put(new CertificateExpiredException("ended"), Advice.CLOCK);
            wanted.put(new CertificateNotYetValidException("future"), Advice.CLOCK);
            wanted.put(new CertificateException("strange"), Advice.PIN);
            ExecutorService thread = Executors.newSingleThreadExecutor();
            for (Map.Entry<CertificateException, Advice> entry : wanted.entrySet()) {
                SSLServerSocket server = (SSLServerSocket) context.getServerSocketFactory().createServerSocket(0, 10, InetAddress.getByName("127.0.0.1"));
                Future<?> ended = thread.submit(() -> {
                    try (SSLSocket socket = (SSLSocket) server.accept()) {
                        socket.startHandshake();
                    } catch (IOException refused) {
                        // The client ends the handshake.
                    }
                });
                X509TrustManager refusing = new X509TrustManager() {
                    @Override
                    public void checkClientTrusted(X509Certificate[] chain, String type) {}

                    @Override
                    public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
                        throw entry.getKey();
                    }

                    @Override
                    public X509Certificate[] getAcceptedIssuers() {
                        return new X509Certificate[0];
                    }
                };
                Options options = new Options("https://127.0.0.1:" + server.getLocalPort(), Signatures.unsigned()).trustManager(refusing);
                PushClient client = new PushClient(options, Credentials.token("spt_first", "alice"), folder.store());
                PushClientException failure = Check.firstSyncFails(client);
                Check.equal(failure.reason(), PushClientException.Reason.INTERFERENCE, "the reason");
                Check.equal(failure.advice(), entry.getValue(), entry.getKey().getMessage());
                ended.get();
                server.close();
            }
            thread.shutdown();
        }
    }

    public static void anEmptyListOfKeysIsNoWayToDoWithout() throws Exception {
        String why = refusal(() -> Signatures.pinned(PlatformVerifier.find()));
        Check.that(why.contains("Signatures.unsigned()"), "the message names the choice");
        Options unsigned = new Options("https://push.example:444/a/", Signatures.unsigned());
        Check.that(!unsigned.isSigned() && unsigned.acceptSignature(null, null) == null, "a choice that is written down");
        Check.equal(unsigned.base(), "https://push.example:444/a", "the base");
    }
}
