import ClientPeers
import Foundation
import PushAPI
import PushClient
import PushClientTesting
import Testing

/// Tests the calls about the account's devices, topics, codes and password.
@Suite(.timeLimit(.minutes(5))) struct DeviceCallTests {
    private let server = TestServer()

    @Test func aDeviceJoinsAndLeavesATopic() async throws {
        let client = self.server.client()
        try await client.register(platform: "apns", handle: "a", tags: ["one"])
        try await client.joinTopic("a b ä")
        let devices = try await client.devices()
        #expect(devices.map(\.topics) == [["a b ä", "one"]])
        #expect(devices.map(\.isThisDevice) == [true] && devices.map(\.platform) == ["apns"])
        try await client.leaveTopic("a b ä")
        #expect(try await client.devices().map(\.topics) == [["one"]])
        #expect(try await client.testPush().state == "accepted")
        try await client.endDevice(devices[0].id)
        #expect(try await client.devices().isEmpty)
        try await client.registerIfNeeded(platform: "apns", handle: "a", tags: ["one"])
        #expect(try await client.devices().map(\.isThisDevice) == [true])
    }

    @Test func aDeviceGivesItsKeysToTheServer() async throws {
        var options = self.server.options
        options.deviceKey = try DeviceKeys(account: String(repeating: "A", count: 22)).key
        let client = self.server.client(options: options)
        try await client.register(platform: "apns", handle: "a")
        #expect(try await client.devices().map(\.key) == [options.deviceKey])
        try await client.unregister()
        try await client.register(platform: "apns", handle: "a")
        #expect(try await client.devices().map(\.key) == [options.deviceKey])
    }

    @Test func aDeviceWithoutARegistrationSendsNothing() async {
        let client = self.server.client()
        await #expect(throws: PushClientError.notRegistered) { try await client.joinTopic("news") }
        await #expect(throws: PushClientError.notRegistered) { try await client.testPush() }
        await #expect(throws: PushClientError.notRegistered) { try await client.confirmHandle("1") }
        #expect(self.server.requests.isEmpty)
    }

    @Test(arguments: [false, true]) func aDeviceWithoutAnAccountSendsNothing(isAfterSignOut: Bool) async throws {
        let options = self.server.options
        let nobody = PushClient(server: self.server.url, credentials: .none(account: "alice"), options: options)
        let client = isAfterSignOut ? self.server.client() : nobody
        if isAfterSignOut {
            try await client.register(platform: "apns", handle: "a")
            try await client.signOut()
        }
        let count = self.server.requests.count
        await #expect(throws: PushClientError.signedOut) { try await client.joinTopic("news") }
        await #expect(throws: PushClientError.signedOut) { try await client.leaveTopic("news") }
        await #expect(throws: PushClientError.signedOut) { try await client.testPush() }
        await #expect(throws: PushClientError.signedOut) { try await client.confirmHandle("1") }
        await #expect(throws: PushClientError.signedOut) { try await client.devices() }
        await #expect(throws: PushClientError.signedOut) { try await client.endDevice("id-1") }
        await #expect(throws: PushClientError.signedOut) { try await client.setDeviceKey("key", of: "id-1") }
        await #expect(throws: PushClientError.signedOut) { try await client.changePassword("old", to: "new") }
        await #expect(throws: PushClientError.signedOut) { try await client.send("late") }
        await #expect(throws: PushClientError.signedOut) { try await client.dismiss(7) }
        await #expect(throws: PushClientError.signedOut) { try await client.confirmTaken(7) }
        await #expect(throws: PushClientError.signedOut) { try await client.unregister() }
        #expect(self.server.requests.count == count)
    }

    /// Calls that need an account send nothing without credentials.
    @Test func aCodeSignsInWithoutCredentials() async throws {
        let options = self.server.options
        let client = PushClient(server: self.server.url, credentials: .none(account: "alice"), options: options)
        let session = try await client.signInWithCode("code")
        #expect(session.token == "spt_test" && session.account != nil)
        #expect(try await client.cachedInbox().notifications.isEmpty)
        await #expect(throws: PushClientError.signedOut) { try await client.sync() }
        await #expect(throws: PushClientError.signedOut) { try await client.notification(7) }
        await #expect(throws: PushClientError.signedOut) { try await client.signIn() }
        await #expect(throws: PushClientError.signedOut) {
            try await client.registerIfNeeded(platform: "apns", handle: "a")
        }
        #expect(self.server.requests == ["POST /api/enrolment"])
    }

    /// If the outbox stored the tasks of nobody, the next account would send them.
    @Test func theOutboxTakesNoTasksOfNobody() async throws {
        let store = PushClient.Store.memory
        func nobody() -> PushClient {
            PushClient(
                server: self.server.url,
                credentials: .none(account: "shared"),
                options: self.server.options,
                store: store
            )
        }
        func expectRefusals(by outbox: Outbox) async {
            await #expect(throws: PushClientError.signedOut) { try await outbox.send("by nobody") }
            await #expect(throws: PushClientError.signedOut) { try await outbox.markRead(7) }
            await #expect(throws: PushClientError.signedOut) { try await outbox.markRead(7, false) }
            await #expect(throws: PushClientError.signedOut) { try await outbox.dismiss(7) }
            await #expect(throws: PushClientError.signedOut) { try await outbox.count }
            await #expect(throws: PushClientError.signedOut) { try await outbox.failures }
        }
        await expectRefusals(by: nobody().outbox)
        let first = self.server.client(account: "shared", store: store)
        try await first.outbox.send("by the first")
        try await first.signOut()
        await expectRefusals(by: first.outbox)
        await expectRefusals(by: nobody().outbox)
        let next = self.server.client(account: "shared", store: store)
        #expect(try await next.outbox.count == 0)
        #expect(try await next.sync().value.notifications.isEmpty)
    }

    @Test(arguments: ["", ".", "..", "a/b", "a?b", "a b", "ä", String(repeating: "a", count: 129)])
    func anImpossibleDeviceIsRefused(id: String) async {
        let (client, error) = (self.server.client(), PushClientError.invalidValue("device: no device can have this id"))
        await #expect(throws: error) { try await client.endDevice(id) }
        await #expect(throws: error) { try await client.setDeviceKey("key", of: id) }
        #expect(self.server.requests.isEmpty)
    }

    @Test(arguments: ["", ".", "..", "a/b", #"a\b"#, "a%2F", "a\u{1F}", "\u{7F}"])
    func anImpossibleTopicIsRefused(topic: String) async {
        let (client, error) = (self.server.client(), PushClientError.invalidValue("topic: no path can have it"))
        await #expect(throws: error) { try await client.joinTopic(topic) }
        await #expect(throws: error) { try await client.leaveTopic(topic) }
        #expect(self.server.requests.isEmpty)
    }

    /// Another part of the app is signed in with the same store and name.
    @Test func aClientWithoutCredentialsSeesNothing() async throws {
        let (store, id) = (PushClient.Store.memory, self.server.add("for alice"))
        let alice = self.server.client(account: "shared", store: store)
        try await alice.register(platform: "apns", handle: "a")
        _ = try await alice.sync()
        try await alice.outbox.send("by alice")
        let nobody = PushClient(
            server: self.server.url,
            credentials: .none(account: "shared"),
            options: self.server.options,
            store: store
        )
        let inbox = try await nobody.cachedInbox()
        #expect(inbox.notifications.isEmpty && inbox.count == 0 && inbox.arrived.isEmpty)
        #expect(try await nobody.cachedNotification(id) == nil)
        #expect(await nobody.cachedBadge() == nil)
        #expect(nobody.registrationID == nil)
        await #expect(throws: PushClientError.signedOut) { try await nobody.outbox.count }
        await #expect(throws: PushClientError.signedOut) { try await nobody.outbox.failures }
        await #expect(throws: PushClientError.signedOut) { try await nobody.changes(for: "search") }
        await #expect(throws: PushClientError.signedOut) { try await nobody.outbox.flush() }
        #expect(try await alice.cachedInbox().count == 1)
        #expect(try await alice.outbox.count == 1)
    }

    /// The request with the code has no token. The client does not send it twice, because a code
    /// works only once.
    @Test func aCodeIsSentOnce() async throws {
        try await ProtocolPeer.run({ _, _ in .hangUp }) { peer, client in
            await #expect(throws: PushClientError.offline(.networkConnectionLost)) {
                try await client.signInWithCode("code")
            }
            #expect(peer.requests.count == 1)
            #expect(peer.requests[0].fields["authorization"] == nil)
            #expect(peer.requests[0].body == #"{"Code":"code"}"#)
        }
    }

    @Test func aSessionForAnotherAccountThanItsAnswerIsRefused() async throws {
        let body = #"{"Name":"bob","Account":"other","Token":"t","ExpiresAt":"2099-01-01T00:00:00Z"}"#
        try await ProtocolPeer.run({ request, _ in
            .answer(PeerAnswer(to: request, status: 201, body: body))
        }) { _, client in
            #expect(await interference { try await client.signInWithCode("code") }?.kind == .wrongAccount)
        }
    }

    @Test func aPasswordIsChanged() async throws {
        try await ProtocolPeer.run({ request, _ in .answer(PeerAnswer(to: request, status: 204)) }) { peer, client in
            try await client.changePassword("old", to: "new")
            #expect(peer.requests.map(\.method) == ["PUT"])
            #expect(peer.requests.map(\.target) == ["/api/users/current/password"])
            #expect(peer.requests[0].body == #"{"Current":"old","New":"new"}"#)
        }
    }

    @Test func aListThatIsNotOfDevicesIsInterference() async throws {
        try await ProtocolPeer.run({ request, _ in .answer(PeerAnswer(to: request, body: "[{}]")) }) { _, client in
            #expect(await interference { try await client.devices() }?.kind == .unexpectedBody)
        }
    }
}
