import Foundation
import PushAPI
import PushClientTesting
import PushTesting
import Testing

@testable import PushClient

/// Tests that a notification service extension shows opened end-to-end payloads, and the
/// placeholder in place of all others.
@Suite(.timeLimit(.minutes(5))) struct EndToEndExtensionTests {
    private static let placeholder = "New notification"

    private let vectors: EndToEndVectors
    private let server = TestServer()

    init() throws { self.vectors = try EndToEndVectors() }

    /// A client; `device` is the device whose key is in the options.
    private func client(_ device: String?, of server: TestServer? = nil) throws -> PushClient {
        let server = server ?? self.server
        var options = server.options
        options.deviceKey = try device.map { try self.vectors.keys($0).key }
        options.now = { [now = self.vectors.now] in now }
        return server.client(options: options)
    }

    /// The text that the extension shows for each push.
    private func shown(
        _ pushes: [PushMessage],
        _ clients: [PushClient],
        keysOf devices: [String] = ["phone"],
        senders: [String]? = nil
    ) async throws -> [String] {
        let keys = try devices.map { try self.vectors.keys($0) }
        let helper = NotificationServiceHelper(
            clients: { clients },
            deviceKeys: { keys },
            senders: senders ?? [self.vectors.sender]
        ) { item, content in
            content.body = item.text ?? content.body
        }
        let texts = Locked<[String]>([])
        for push in pushes {
            await helper.deliver(push, placeholder: NotificationContent(body: Self.placeholder)) { content in
                texts.withLock { $0.append(content.body) }
            }
        }
        return texts.withLock { $0 }
    }

    private func push(_ payload: String) -> [PushMessage] { [PushMessage(id: self.server.add(payload))] }

    @Test func anEndToEndPayloadIsShownOpened() async throws {
        let push = self.push(self.vectors.payload)
        let texts = try await self.shown(push, [self.client("phone")], keysOf: ["tablet", "phone"])
        #expect(texts == [self.vectors.text])
    }

    /// A malicious server could have written a clear payload.
    @Test func aClearPayloadIsNotShown() async throws {
        let texts = try await self.shown(self.push("Pay now!"), [self.client("phone")])
        #expect(texts == [Self.placeholder])
    }

    @Test(arguments: [[], ["tablet"]]) func placeholderIsShownWithoutTheKeysOfTheDevice(keys: [String]) async throws {
        let push = self.push(self.vectors.payload)
        let texts = try await self.shown(push, [self.client("phone")], keysOf: keys)
        #expect(texts == [Self.placeholder])
    }

    @Test func aPayloadOfAnotherSenderIsNotShown() async throws {
        let push = self.push(self.vectors.payload)
        let texts = try await self.shown(push, [self.client("phone")], senders: [self.vectors.stranger])
        #expect(texts == [Self.placeholder])
    }

    @Test func aRepeatedMessageIsNotShown() async throws {
        let first = self.push(self.vectors.payload)
        let client = try self.client("phone")
        let texts = try await self.shown(first + self.push(self.vectors.payload) + first, [client])
        #expect(texts == [self.vectors.text, Self.placeholder, self.vectors.text])
    }

    @Test func anAccountWithoutEncryptionIsShownBesideAnother() async throws {
        let other = TestServer()
        var clients: [PushClient] = []
        for (server, device) in [(self.server, "phone"), (other, nil)] {
            var options = try self.client(device, of: server).options
            options.isDeviceShared = true
            let client = server.client(options: options)
            try await client.register(platform: "apns", handle: Data([1, 2]))
            clients.append(client)
        }
        let pushes = [
            self.server.push(of: self.server.add(self.vectors.payload)), other.push(of: other.add("clear")),
            other.push(of: other.add(self.vectors.payload)),
        ]
        let texts = try await self.shown(pushes, clients)
        #expect(texts == [self.vectors.text, "clear", Self.placeholder])
    }
}

/// The devices and a payload of the vectors for end-to-end encryption.
struct EndToEndVectors {
    private let json: JSONValue
    let now: Date
    let sender: String
    /// The public key of a sender that the app does not trust.
    let stranger: String
    let payload: String
    /// The text in `payload`.
    let text: String

    init() throws {
        self.json = try VectorFile("end-to-end").json
        self.now = try self.json.time("now")
        self.sender = try #require(self.json["sender"]).text("public")
        self.stranger = try #require(self.json["stranger"]).text("public")
        let vector = try #require(try self.json.list("payloads").first)
        self.payload = try vector.text("payload")
        self.text = try #require(try JSONValue(reading: Array(vector.text("plain").utf8)).text)
    }

    /// The keys of a device, such as `phone`.
    func keys(_ name: String) throws -> DeviceKeys {
        try Self.keys(of: #require(self.json["devices"]?[name]))
    }

    static func keys(of device: JSONValue) throws -> DeviceKeys {
        let secrets = try ["signingPrivate", "agreementPrivate"].map { name in
            try #require(EndToEndText.bytes(Substring(device.text(name)).utf8, count: 32))
        }
        return try DeviceKeys(stored: Data(secrets[0] + secrets[1] + Array(device.text("key").utf8)))
    }
}
