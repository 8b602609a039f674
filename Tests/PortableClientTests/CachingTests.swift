import ClientPeers
import Foundation
import HTTPSignatures
import PushAPI
import PushClient
import Testing

#if canImport(CryptoKit)
    import CryptoKit
#else
    import Cryptography
#endif

/// Tests when the client returns a cached value, and with which date.
@Suite(.timeLimit(.minutes(5))) struct CachingTests {
    /// Answers like the server: with an entity tag, and with 304 if the request has this tag.
    private static func server(
        _ body: String = Samples.item(7),
        fields: [(name: String, value: String)] = [(name: "Cache-Control", value: "private, max-age=60")],
        key: SigningKey? = nil
    ) -> ProtocolPeer.Script {
        { request, _ in
            let tag = [(name: "ETag", value: "\"a\"")]
            return request.fields["if-none-match"] == "\"a\""
                ? .answer(PeerAnswer(to: request, status: 304, fields: fields + tag, key: key))
                : .answer(PeerAnswer(to: request, fields: fields + tag, body: body, key: key))
        }
    }

    @Test func aPreviewOfAnotherNotificationIsRefused() async throws {
        try await ProtocolPeer.run(Self.server(Samples.list([Samples.item(8)], cursor: "c"))) { _, client in
            #expect(await interference { try await client.preview(7) }?.kind == .wrongID)
        }
    }

    @Test(arguments: [nil, SigningKey()])
    func cachedNotificationIsRevalidatedByItsETag(key: SigningKey?) async throws {
        let time = ManualTime(Date())
        var options = time.options
        options.signatures = key.map { .pinned([$0.publicKey]) } ?? .unsigned
        try await ProtocolPeer.run(Self.server(key: key), options: options) { peer, client in
            let first = try await client.notification(7)
            #expect(first.value.payload == .string("secret"))
            time.pass(60)
            #expect(try await client.notification(7) == .fresh(first.value))
            #expect(peer.requests.map { $0.fields["if-none-match"] } == [nil, "\"a\""])
            // The date of a cached value is the time when the server last confirmed it.
            let confirmed = time.now
            peer.play { _, _ in .hangUp }
            time.pass(60)
            let cached = try await client.notification(7)
            #expect(cached.value == first.value)
            #expect(cached.date == confirmed)
            #expect(cached.failure?.advice == .offline)
        }
    }

    /// A reason why the server cannot be reached, and the advice for the user.
    private struct Trouble: Sendable {
        let advice: PushClient.Advice
        let script: PeerScript

        init(_ advice: PushClient.Advice, _ script: @escaping PeerScript) {
            (self.advice, self.script) = (advice, script)
        }
    }

    private static let troubles = [
        Trouble(.offline) { _, _ in .hangUp }, Trouble(.offline) { _, _ in .silence },
        Trouble(.captivePortal) { _, _ in .answer(PeerAnswer(body: "<html>")) },
        Trouble(.interference) { request, _ in .answer(PeerAnswer(to: request, body: "<html>")) },
        Trouble(.interference) { request, _ in .answer(PeerAnswer(to: request, body: Samples.item(8))) },
        Trouble(.interference) { request, _ in
            .answer(PeerAnswer(to: request, status: 304, fields: [("ETag", "\"b\"")]))
        },
        Trouble(.interference) { request, _ in .answer(PeerAnswer(to: request, status: 304)) },
        Trouble(.captivePortal) { _, _ in .answer(PeerAnswer(status: 302, fields: [("Location", "/")])) },
        Trouble(.interference) { _, _ in .answer(PeerAnswer(status: 404)) },
        Trouble(.wait) { _, _ in .answer(PeerAnswer(status: 503, body: "<html>")) },
        Trouble(.wait) { request, _ in .answer(PeerAnswer(to: request, .busy)) },
        Trouble(.wait) { request, _ in .answer(PeerAnswer(to: request, .rateLimited)) },
        Trouble(.wait) { request, _ in .answer(PeerAnswer(to: request, .internalError)) },
    ]

    /// The server is missing, silent, busy, or hidden by a captive portal. In each case, the
    /// client returns the cached value with its date and the advice for the user.
    @Test(arguments: Self.troubles.indices)
    func cachedValueIsShownWhenTheServerIsUnreachable(_ index: Int) async throws {
        let trouble = Self.troubles[index]
        let time = ManualTime()
        var options = time.options
        options.timeout = .seconds(2)
        try await ProtocolPeer.run(Self.server(), options: options) { peer, client in
            let date = time.now
            let fresh = try await client.notification(7)
            let item = fresh.value
            #expect(fresh.isFresh)
            time.pass(3600)
            peer.play(trouble.script)
            let cached = try await client.notification(7)
            #expect(cached.value == item)
            #expect(!cached.isFresh)
            #expect(cached.date == date)
            #expect(cached.failure?.advice == trouble.advice)
            // Without a cached value, the call fails.
            await #expect(throws: (any Error).self) { try await client.notification(9) }
        }
    }

    @Test(arguments: [ProblemCode.notFound, .registrationGone, .unauthorized, .forbidden])
    func refusalByTheServerHidesTheCachedValue(code: ProblemCode) async throws {
        try await ProtocolPeer.run(Self.server()) { peer, client in
            _ = try await client.notification(7)
            peer.play { request, _ in .answer(PeerAnswer(to: request, code)) }
            await #expect(throws: PushClientError.self) { try await client.notification(7) }
            peer.play { _, _ in .hangUp }
            // If the server has said that a notification is gone, the client no longer returns its
            // cached value.
            let cached = try? await client.notification(7)
            #expect((cached == nil) == [404, 410].contains(code.status))
        }
    }

    @Test func expiredNotificationIsNotShown() async throws {
        let time = ManualTime(try #require(Date(rfc3339: "2027-01-01T00:00:00Z")))
        let script = Self.server(Samples.item(7, expires: "2027-01-01T00:10:00Z"))
        try await ProtocolPeer.run(script, options: time.options) { peer, client in
            _ = try await client.notification(7)
            peer.play { _, _ in .hangUp }
            time.pass(599)
            #expect(try await client.notification(7).date != nil)
            time.pass(1)
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await client.notification(7) }
        }
    }

    @Test(arguments: [
        (Samples.item(7), "no-store"), (Samples.item(7), "private, No-Store"),
        (String(Samples.item(7).dropLast()) + #","ReadOnce":true}"#, "private"),
        (String(Samples.item(7).dropLast()) + #","Store":"never"}"#, "private"),
    ])
    func uncacheableNotificationIsNotCached(body: String, directive: String) async throws {
        try await ProtocolPeer.run(Self.server(body, fields: [("Cache-Control", directive)])) { peer, client in
            #expect(try await client.notification(7).value.payload == .string("secret"))
            _ = try await client.notification(7)
            #expect(peer.requests.map { $0.fields["if-none-match"] } == [nil, nil])
            peer.play { _, _ in .hangUp }
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await client.notification(7) }
        }
    }

    private static let once = String(Samples.item(7).dropLast()) + #","ReadOnce":true}"#

    @Test func readOncePayloadIsFetchedAgainUntilConfirmed() async throws {
        try await ProtocolPeer.run(Self.server(Self.once, fields: [("Cache-Control", "no-store")])) { peer, client in
            for _ in 0..<2 {
                let item = try await client.notification(7).value
                #expect(item.isReadOnce)
                #expect(item.payload == .string("secret"))
            }
            #expect(peer.requests.map(\.method) == ["GET", "GET"], "nothing is confirmed before the app says so")
            peer.play { request, _ in .answer(PeerAnswer(to: request, status: 204)) }
            try await client.confirmTaken(7)
            #expect(peer.requests.last.map { "\($0.method) \($0.path)" } == "POST /api/notifications/7/taken")
            peer.play { request, _ in .answer(PeerAnswer(to: request, .notFound)) }
            try await client.confirmTaken(7)
            peer.play { request, _ in .answer(PeerAnswer(to: request, .nothingToConfirm)) }
            await #expect(throws: PushClientError.self) { try await client.confirmTaken(7) }
        }
    }

    @Test func signedAnswerIsCachedDespiteNoStore() async throws {
        let key = SigningKey()
        let options = PushClient.Options(testing: [key.publicKey])
        try await ProtocolPeer.run(Self.server(key: key), options: options) { peer, client in
            _ = try await client.notification(7)
            peer.play { _, _ in .hangUp }
            #expect(try await client.notification(7).date != nil)
        }
        let never = String(Samples.item(7).dropLast()) + #","Store":"never"}"#
        try await ProtocolPeer.run(Self.server(never, key: key), options: options) { peer, client in
            _ = try await client.notification(7)
            peer.play { _, _ in .hangUp }
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await client.notification(7) }
        }
    }

    /// An entity tag in the forms to which a compressing proxy changes it.
    @Test(arguments: ["W/\"a\"", "\"a-gzip\"", "W/\"a-gzip\""])
    func entityTagChangedByAProxyStillMatches(tag: String) async throws {
        try await ProtocolPeer.run(Self.server()) { peer, client in
            let item = try await client.notification(7).value
            peer.play { request, _ in .answer(PeerAnswer(to: request, status: 304, fields: [("ETag", tag)])) }
            #expect(try await client.notification(7) == .fresh(item))
        }
    }

    @Test func unsignedCachedValueIsHiddenIfSignaturesAreRequired() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run(Self.server(), store: store) { peer, client in
            _ = try await client.notification(7)
            peer.play { _, _ in .hangUp }
            #expect(try await client.notification(7).date != nil)
            let strict = peer.client(options: .init(testing: [SigningKey().publicKey]), store: store)
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await strict.notification(7) }
        }
    }

    @Test func cacheIsSeparateForEachAccountAndServer() async throws {
        let folder = try ScratchFolder()
        for store in [
            PushClient.Store.memory, .folder(URL(fileURLWithPath: folder.path), key: SymmetricKey(size: .bits256)),
        ] {
            try await ProtocolPeer.run(Self.server(), store: store) { peer, client in
                _ = try await client.notification(7)
                peer.play { _, _ in .hangUp }
                #expect(try await client.notification(7).date != nil)
                for credentials in [
                    PushClient.Credentials.basic(username: "mallory", password: "correct horse"), .token("alice"),
                    .token("t", account: "mallory"),
                    // Without a network the client cannot know whose token this is.
                    .token("t", account: "alice"),
                ] {
                    let other = peer.client(credentials, store: store)
                    await #expect(throws: PushClientError.offline(.networkConnectionLost)) {
                        try await other.notification(7)
                    }
                }
                let same = peer.client(store: store)
                #expect(try await same.notification(7).date != nil)
            }
            try await ProtocolPeer.run({ _, _ in .hangUp }, store: store) { _, client in
                await #expect(throws: PushClientError.offline(.networkConnectionLost)) {
                    try await client.notification(7)
                }
            }
        }
    }

    @Test func markingAndDismissingChangeTheCache() async throws {
        try await ProtocolPeer.run(Self.server()) { peer, client in
            _ = try await client.notification(7)
            peer.play { request, _ in .answer(PeerAnswer(to: request, body: #"{"Read":[7]}"#)) }
            #expect(try await client.markRead([7, 8]) == [7])
            #expect(peer.requests.last?.body == #"{"Ids":[7,8]}"#)
            peer.play { _, _ in .hangUp }
            #expect(try await client.notification(7).value.isRead)
            peer.play { request, _ in .answer(PeerAnswer(to: request, body: Samples.item(7))) }
            #expect(try await client.markRead(7, false).isRead == false)
            #expect(peer.requests.last?.body == #"{"Read":false}"#)
            peer.play { request, _ in .answer(PeerAnswer(to: request, status: 204)) }
            try await client.dismiss(7)
            peer.play { _, _ in .hangUp }
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) { try await client.notification(7) }
        }
    }

    @Test func anyValueCanBeSent() async throws {
        try await ProtocolPeer.run({ request, _ in
            .answer(PeerAnswer(to: request, status: 201, body: #"{"Id":9,"Read":false,"Pushes":2}"#))
        }) { peer, client in
            #expect(try await client.send(.object([.init("place", .string("Room 7"))])).id == 9)
            #expect(peer.requests.last?.body == #"{"Payload":{"place":"Room 7"}}"#)
            _ = try await client.send(.string("a"))
            #expect(peer.requests.last?.body == #""a""#)
        }
    }

    @Test func aFetchedValueIsMapped() {
        let date = Date(timeIntervalSince1970: 7)
        #expect(Fetched.fresh(7).map { $0 + 1 } == .fresh(8))
        let reason = FetchFailure.offline(.timedOut)
        #expect(Fetched.cached(7, date, because: reason).map { "\($0)" } == .cached("7", date, because: reason))
        #expect(Fetched.fresh(7).failure == nil)
    }

    @Test func dismissingAMissingNotificationSucceeds() async throws {
        try await ProtocolPeer.run({ request, _ in .answer(PeerAnswer(to: request, .notFound)) }) { peer, client in
            try await client.dismiss(7)
            #expect(peer.requests.map(\.method) == ["DELETE"])
        }
    }
}
