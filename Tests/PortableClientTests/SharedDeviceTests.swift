import ClientPeers
import Foundation
import PushAPI
import Testing

@testable import PushClient

/// Several accounts on one device: tests which account's client a push is for.
@Suite(.timeLimit(.minutes(5))) struct SharedDeviceTests {
    private static let sharing: PushClient.Options = {
        var options = PushClient.Options(testing: [])
        options.isDeviceShared = true
        return options
    }()

    /// The script of a server that answers each POST with the registration id `id`, and accepts
    /// every other request.
    private static func registry(_ id: String) -> ProtocolPeer.Script {
        { request, _ in
            .answer(request.method == "POST" ? PeerAnswer(to: request, body: "\"\(id)\"") : PeerAnswer(to: request))
        }
    }

    @Test func pushIsForTheAccountOfItsHint() async throws {
        let (alice, bob) = (try await self.client("alice", id: "a1"), try await self.client("bob", id: "b2"))
        let none = try await self.client("carol", id: nil)
        let push = PushMessage(id: 7, accountHint: PushClient.accountHint(of: 7, registration: "b2"))
        let clients = [alice, none, bob]
        #expect(PushClient.recipient(of: push, among: clients)?.registrationID == "b2")
        #expect(bob.isRecipient(of: push) && !alice.isRecipient(of: push) && !none.isRecipient(of: push))
        // The right hint with another notification id, a hint of no client, an empty hint, and no
        // hint.
        let strange = [
            PushMessage(id: 8, accountHint: push.accountHint), PushMessage(id: 7, accountHint: "AAAAAAAAAAA"),
            PushMessage(id: 7, accountHint: ""), PushMessage(id: 7),
        ]
        for push in strange { #expect(PushClient.recipient(of: push, among: clients) == nil, "\(push)") }
        #expect(PushClient.recipient(of: PushMessage(id: 7), among: [alice])?.registrationID == "a1")
        #expect(PushClient.recipient(of: push, among: []) == nil)
    }

    @Test(arguments: [
        "", "7", "[]", "{}", #"{"secureId":7}"#, #"{"secureId":""}"#, #"{"secureId":"-7"}"#, #"{"secureId":"+7"}"#,
        #"{"secureId":"7 "}"#, #"{"secureId":"99999999999999999999"}"#, #"{"secureId":"٧"}"#,
    ])
    func messageWithoutAValidIDIsRefused(text: String) {
        #expect(PushMessage(json: Data(text.utf8)) == nil)
    }

    @Test func pushOfAnotherServiceIsIgnored() {
        #expect(PushMessage(userInfo: [:]) == nil)
        #expect(PushMessage(userInfo: ["secureId": 7]) == nil)
        #expect(PushMessage(userInfo: ["secureId": "seven"]) == nil)
    }

    @Test func sharingMakesAnotherRegistration() async throws {
        let store = PushClient.Store.memory
        try await ProtocolPeer.run(Self.registry("one")) { peer in
            let alone = peer.client(store: store)
            try await alone.register(platform: "apns", handle: Data([0xAB, 0x01]))
            #expect(peer.requests.last?.body == #"{"Platform":"apns","Handle":"ab01","Tags":[]}"#)
            try await alone.registerIfNeeded(platform: "apns", handle: "ab01")
            #expect(peer.requests.count == 2)
            let shared = peer.client(options: Self.sharing, store: store)
            try await shared.registerIfNeeded(platform: "apns", handle: Data([0xAB, 0x01]))
            #expect(peer.requests.last?.body == #"{"Platform":"apns","Handle":"ab01","Tags":[],"Shared":true}"#)
            try await shared.registerIfNeeded(platform: "apns", handle: "ab01")
            #expect(peer.requests.count == 3)
        }
    }

    private func client(_ name: String, id: String?) async throws -> PushClient {
        try await ProtocolPeer.run(Self.registry(id ?? "")) { peer in
            let credentials = PushClient.Credentials.token("t", account: name)
            let client = peer.client(credentials, options: Self.sharing)
            if id != nil { try await client.register(platform: "apns", handle: "ab") }
            return client
        }
    }
}
