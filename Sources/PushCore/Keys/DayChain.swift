internal import Bytes
internal import Cryptography
package import Foundation

/// The secret that derives the keys of a day and of all later days, but of no earlier day.
///
/// The secret of each day is a one-way function of the secret of the day before (HKDF-SHA-256, RFC
/// 5869). A server that deletes the secret of a day, and keeps only the secret of the next day,
/// has destroyed the key of the earlier day. All servers that have the same chain derive the same
/// keys without communication.
package struct DayChain: Sendable, Equatable {
    /// The first day whose key can be derived from the chain.
    package let day: Day
    private let secret: SymmetricKey

    private init(day: Day, secret: SymmetricKey) {
        (self.day, self.secret) = (day, secret)
    }

    /// A new chain that begins with `day`, from a random secret.
    package init(from day: Day) {
        self.init(day: day, secret: SymmetricKey(size: .bits256))
    }

    /// Reads the text of a chain. The text has one line with a date and 32 bytes in base64; empty
    /// lines and comments are allowed. Throws `DayChainError`.
    package init(text: String) throws(DayChainError) {
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        guard lines.count == 1 else { throw .malformed }
        let words = lines[0].split(separator: " ")
        guard words.count == 2, let day = Day(words[0]), let secret = Base64.standard.bytes(in: words[1].utf8),
            secret.count == 32
        else { throw .malformed }
        self.init(day: day, secret: SymmetricKey(data: secret))
    }

    package var text: String {
        let secret = self.secret.withUnsafeBytes { Base64.standard.text(of: $0) }
        return """
            # Opens payloads that expire on this day (UTC) or later. The server moves it on each day: a copy keeps that from destroying.
            \(self.day) \(secret)

            """
    }

    /// The chain without the keys of the days before `day`; the chain itself if it begins on `day`
    /// or later.
    package func advanced(to day: Day) -> DayChain {
        var chain = self
        while chain.day < day { chain = chain.next }
        return chain
    }

    /// The chain that begins with the next day.
    var next: DayChain {
        DayChain(day: self.day.next, secret: self.derive("sealpost next day"))
    }

    /// The key of the chain's first day.
    var key: SymmetricKey { self.derive("sealpost day key") }

    /// A value that identifies the chain on `day` without revealing the chain's secret; `nil` if
    /// `day` is before the chain's first day.
    package func checkValue(of day: Day) -> Data? {
        guard day >= self.day else { return nil }
        return self.advanced(to: day).derive("sealpost day check", count: 16).withUnsafeBytes { Data($0) }
    }

    private func derive(_ purpose: String, count: Int = 32) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: self.secret, info: Data(purpose.utf8), outputByteCount: count)
    }
}

/// The reason why a text is not a chain of day keys.
package enum DayChainError: Error, Hashable, CustomStringConvertible {
    case malformed

    package var description: String {
        switch self {
        case .malformed: "it must have one line of a date and 32 bytes in base64"
        }
    }
}

/// Stores the secret of a server's day keys outside of the store.
package protocol DayChainKeeper: Sendable {
    /// The place of the secret, in the form for operators. It is the same at each start.
    var place: String { get }

    /// The stored chain, the source of the day keys; `nil` if no chain is stored yet.
    func load() throws -> DayChain?

    /// Stores the first chain. Throws if a chain is stored already.
    func create(_ chain: DayChain) throws

    /// Stores a chain that begins at a later day, and destroys the stored chain. Does nothing if
    /// the stored chain begins later than `chain`.
    func advance(to chain: DayChain) throws
}
