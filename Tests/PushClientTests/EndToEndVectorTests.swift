import Cryptography
import Foundation
import PushAPI
import PushTesting
import Testing

@testable import PushClient

/// Tests that this client opens and refuses end-to-end payloads as `docs/evidence/vectors` says.
@Suite(.timeLimit(.minutes(5))) struct EndToEndVectorTests {
    private let file: VectorFile
    private let now: Date
    private let senders: [String]

    init() throws {
        self.file = try VectorFile("end-to-end")
        self.now = try self.file.json.time("now")
        self.senders = [try #require(self.file.json["sender"]).text("public")]
    }

    private static let names = ["phone", "tablet", "laptop", "bob", "mallory"]

    private func device(_ name: String) throws -> JSONValue { try #require(self.file.json["devices"]?[name]) }

    private func keys(_ device: JSONValue) throws -> DeviceKeys { try EndToEndVectors.keys(of: device) }

    private func open(_ payload: String, as keys: DeviceKeys, app: String = "default") throws -> OpenedPayload {
        try keys.open(payload, from: self.senders, app: app, now: self.now)
    }

    @Test func exportsAreThoseOfTheRFC() throws {
        let hpke = try #require(self.file.json["hpke"])
        func bytes(_ name: String) throws -> [UInt8] { try Self.bytes(hex: hpke.text(name)) }
        let receiver = try HPKEReceiver(
            encapsulated: bytes("enc"),
            key: P256.KeyAgreement.PrivateKey(rawRepresentation: bytes("recipient")),
            sender: P256.KeyAgreement.PublicKey(x963Representation: bytes("senderPublic")),
            information: bytes("info")
        )
        for export in try hpke.list("exports") {
            let value = receiver.export(try Self.bytes(hex: export.text("context")), count: 32)
            #expect(try value == Self.bytes(hex: export.text("value")))
        }
    }

    @Test func eachDeviceOpensThePayloads() throws {
        for vector in try self.file.list("payloads") {
            let ids = try vector.list("devices").compactMap(\.text)
            for device in try Self.names.map(self.device) where ids.contains(try device.text("id")) {
                let opened = try self.open(vector.text("payload"), as: self.keys(device), app: vector.text("app"))
                #expect(try String(decoding: opened.payload.bytes, as: UTF8.self) == vector.text("plain"))
                #expect(try opened.message == vector.text("message"))
                #expect(opened.sentAt == self.now)
            }
        }
    }

    @Test func otherPayloadsAreRefusedWithTheirReason() throws {
        let keys = try self.keys(self.device("phone"))
        for vector in try self.file.list("refused") {
            let (name, reason) = (try vector.text("name"), UnreadablePayload(rawValue: try vector.text("reason")))
            let error = #expect(throws: UnreadablePayload.self, "\(name)") {
                try self.open(vector.text("payload"), as: keys)
            }
            #expect(error == reason, "\(name)")
        }
    }

    private func client(_ store: PushClient.Store, app: String? = nil) throws -> PushClient {
        var options = PushClient.Options(testing: [], app: app)
        options.now = { [now] in now }
        let url = try #require(URL(string: "http://127.0.0.1:1"))
        return PushClient(server: url, credentials: .token("t", account: "alice"), options: options, store: store)
    }

    private func item(_ id: Int64, _ payload: String) -> NotificationItem {
        NotificationItem(id: id, payload: .string(payload), isRead: false, createdAt: self.now, expiresAt: self.now)
    }

    @Test func aMessageUnderAnotherNotificationIsRefusedAlsoAfterARestart() async throws {
        let keys = try self.keys(self.device("phone"))
        for vector in try self.file.list("replays") {
            let folder = try TemporaryFolder()
            let store = PushClient.Store.folder(URL(fileURLWithPath: folder.path), key: SymmetricKey(size: .bits256))
            let name = try vector.text("name")
            for step in try vector.list("steps") {
                let item = self.item(Int64(try #require(step["id"]?.integer)), try step.text("payload"))
                let results = try await self.client(store).openPayloads(of: [item], with: keys, from: self.senders)
                let verdict: String
                switch results[0] {
                case .success: verdict = "opened"
                case .failure(let reason): verdict = reason.rawValue
                }
                #expect(try verdict == step.text("verdict"), "\(name)")
            }
        }
    }

    @Test func theItemsOfAListAreOpenedInTheirOrder() async throws {
        let keys = try self.keys(self.device("phone"))
        let payloads = try self.file.list("payloads").map { try $0.text("payload") }
        let texts = [payloads[0], "clear", payloads[0], payloads[1]]
        let items = zip(1..., texts).map { self.item($0, $1) }
        let client = try self.client(.memory)
        let results = try await client.openPayloads(of: items, with: keys, from: self.senders)
        #expect(results.map { (try? $0.get()) == nil } == [false, true, true, false])
        await #expect(throws: UnreadablePayload.notEncrypted) {
            try await client.openPayload(of: items[1], with: keys, from: self.senders)
        }
        await #expect(throws: UnreadablePayload.replayed) {
            try await client.openPayload(of: items[2], with: keys, from: self.senders)
        }
        let other = try self.client(.memory, app: "other")
        await #expect(throws: UnreadablePayload.unreadable) {
            try await other.openPayload(of: items[0], with: keys, from: self.senders)
        }
    }

    @Test func theMessagesThatWereSentFirstAreForgottenBeyondTheLimit() {
        var seen = SeenMessages()
        for number in (0...SeenMessages.maximumCount).reversed() {
            _ = seen.admit("\(number)", sentAt: self.now + TimeInterval(number), of: Int64(number))
        }
        seen.shrink()
        var read = SeenMessages(bytes: seen.bytes)
        #expect(read.admit("0", sentAt: self.now, of: 7).isNew)
        #expect(read.admit("1", sentAt: self.now, of: 7) == (1, false))
        #expect(SeenMessages(bytes: seen.bytes.dropLast()).bytes == SeenMessages().bytes)
    }

    @Test(arguments: names) func aDeviceKeyHasItsFingerprint(name: String) throws {
        let device = try self.device(name)
        let key = try DeviceKey(device.text("key"))
        #expect(try key.fingerprint == device.text("fingerprint"))
        #expect(try key.id == device.text("id"))
        let other = try device.text("key").replacing(key.account, with: String(repeating: "B", count: 22))
        #expect(throws: UnreadablePayload.signature) { try DeviceKey(other) }
    }

    @Test(arguments: ["", "sealpost-key.1.......", "sealpost-key.2.x", String(repeating: "x", count: 3000)])
    func anotherTextIsNoDeviceKey(text: String) {
        #expect(throws: UnreadablePayload.malformed) { try DeviceKey(text) }
    }

    @Test func newKeysAreReadAgainAndApproveAnotherDevice() throws {
        let account = String(repeating: "A", count: 22)
        let (phone, tablet) = (try DeviceKeys(account: account), try DeviceKeys(account: account))
        #expect(try DeviceKeys(stored: phone.stored).key == phone.key)
        let approved = try DeviceKey(phone.approve(tablet.key))
        #expect(approved.id == tablet.key.id)
        #expect(approved.text.hasPrefix(tablet.key.text + phone.key.id))
        let stranger = try DeviceKeys(account: String(repeating: "B", count: 22))
        #expect(throws: UnreadablePayload.account) { try phone.approve(stranger.key) }
    }

    private static func bytes(hex text: String) throws -> [UInt8] {
        try stride(from: 0, to: text.utf8.count, by: 2).map { start in
            let digits = text.dropFirst(start).prefix(2)
            return try #require(UInt8(digits, radix: 16))
        }
    }
}
