internal import Bytes
public import Foundation
public import PushAPI

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

/// The content of an end-to-end payload.
public struct OpenedPayload: Sendable, Hashable {
    /// The payload that the sender has encrypted.
    public let payload: JSONValue
    /// The id that the sender has given the message. A dishonest server could deliver a message
    /// twice: ``PushClient/openPayload(of:with:from:)`` refuses the second delivery.
    public let message: String
    /// When the message was sent, by the sender's clock. The id of a message need not be
    /// remembered for longer than 61 days after this time.
    public let sentAt: Date

    private static let version = "sealpost-e2e.1.1"
    private static let entryLength = DeviceKey.idLength + 130
    /// The accepted ages of a payload in seconds. A payload can be scheduled 30 days ahead, and
    /// the server then stores it for up to 30 days; one day allows for wrong clocks.
    private static let age = -86_400.0...61 * 86_400

    init(
        _ text: String,
        for key: DeviceKey,
        _ agreement: any AgreementKey,
        from senders: [String],
        app: String,
        now: Date
    ) throws(UnreadablePayload) {
        let dot = UInt8(ascii: ".")
        let parts = text.utf8.split(separator: dot, maxSplits: 8, omittingEmptySubsequences: false)
        guard parts[0].elementsEqual("sealpost-e2e".utf8) else { throw .notEncrypted }
        guard text.utf8.starts(with: "\(Self.version).".utf8) else { throw .unsupported }
        guard parts.count == 8, parts[3].count == DeviceKey.idLength, parts[4].count == DeviceKey.idLength,
            let time = EndToEndText.time(parts[5]), parts[7].count.isMultiple(of: Self.entryLength)
        else { throw .malformed }
        let sender = senders.lazy.compactMap { EndToEndText.bytes(Substring($0).utf8, count: 65) }.first { point in
            EndToEndText.id(of: point).utf8.elementsEqual(parts[3])
        }
        guard let sender else { throw .unknownSender }
        guard let entry = Self.entry(of: key, in: parts[7]) else { throw .notForThisDevice }
        let sentAt = Date(timeIntervalSince1970: TimeInterval(time))
        guard Self.age.contains(now.timeIntervalSince(sentAt)) else { throw .expired }
        guard let wrapped = EndToEndText.bytes(entry, count: 97), let content = EndToEndText.bytes(parts[6]),
            let point = try? P256.KeyAgreement.PublicKey(x963Representation: sender),
            let receiver = try? HPKEReceiver(
                encapsulated: Array(wrapped.prefix(65)),
                key: agreement,
                sender: point,
                information: Array("\(Self.version)\n\(key.account)\n\(app)".utf8)
            )
        else { throw .malformed }
        // All parts before the part with the devices' keys, without the dot before that part.
        let front = text.utf8.prefix(text.utf8.count - parts[7].count - 1)
        let wrapping = receiver.export(Array(SHA256.hash(data: Array(front))), count: 16)
        let header = Array(front.prefix(front.count - parts[6].count - 1))
        guard let contentKey = Self.decrypt(wrapped.dropFirst(65), wrapping, []),
            let plain = Self.decrypt(content, contentKey, header)
        else { throw .unreadable }
        guard let end = plain.lastIndex(where: { $0 != 0 }), plain[end] == 128,
            let payload = try? JSONValue(reading: Array(plain[..<end]))
        else { throw .malformed }
        self.payload = payload
        self.message = EndToEndText.string(parts[4])
        self.sentAt = sentAt
    }

    private static func entry(of key: DeviceKey, in entries: Substring.UTF8View) -> Substring.UTF8View? {
        var rest = entries
        while !rest.isEmpty {
            let entry = rest.prefix(self.entryLength)
            if entry.starts(with: key.id.utf8) { return entry.dropFirst(DeviceKey.idLength) }
            rest = rest.dropFirst(self.entryLength)
        }
        return nil
    }

    /// Decrypts a part; `nil` if somebody has changed the text. The nonce is all zeros, since each
    /// key encrypts only one text.
    private static func decrypt(_ content: some Sequence<UInt8>, _ key: [UInt8], _ header: [UInt8]) -> [UInt8]? {
        let combined = Data(count: 12) + Data(content)
        guard let box = try? AES.GCM.SealedBox(combined: combined),
            let plain = try? AES.GCM.open(box, using: SymmetricKey(data: key), authenticating: header)
        else { return nil }
        return Array(plain)
    }
}
