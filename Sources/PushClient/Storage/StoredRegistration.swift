internal import Foundation

#if canImport(CryptoKit)
    internal import CryptoKit
#else
    internal import Cryptography
#endif

/// The registration of this device, as the server last accepted it.
struct StoredRegistration: Codable, Sendable, Hashable {
    let id: String
    /// A digest of platform, environment, handle, sharing and tags, which detects changes without
    /// revealing these values. After the digest come the first characters of the session's token,
    /// because the registration ends with that session.
    let fingerprint: Data
    let date: Date

    init(id: String, fingerprint: Data, date: Date) {
        self.id = id
        self.fingerprint = fingerprint
        self.date = date
    }

    /// Creates a registration that the server has just accepted in this session.
    init(id: String, fingerprint: Data, session: String, date: Date) {
        self.init(id: id, fingerprint: fingerprint + Data(session.utf8), date: date)
    }

    /// The registration without its fingerprint, as long as the server lacks the device's keys.
    /// After a failure the next call then registers again, and knows that the keys are new.
    var unfinished: StoredRegistration { StoredRegistration(id: self.id, fingerprint: Data(), date: self.date) }

    var isUnfinished: Bool { self.fingerprint.isEmpty }

    /// Whether registering again would send the same values. An unknown session is not compared.
    func isSame(as fingerprint: Data, session: String?) -> Bool {
        guard self.fingerprint.prefix(SHA256.byteCount) == fingerprint else { return false }
        return session.map { self.fingerprint.dropFirst(SHA256.byteCount) == Data($0.utf8) } ?? true
    }

    static func fingerprint(platform: String, handle: String, tags: [String], isSandbox: Bool, isShared: Bool) -> Data {
        var hash = SHA256()
        // The slash is unambiguous: no platform's name contains a slash.
        let place = platform + (isSandbox ? "/sandbox" : "") + (isShared ? "/shared" : "")
        for text in [place, handle] + tags.sorted() {
            // The length in front separates the texts: any separator may occur in a text.
            hash.update(data: Data("\(text.utf8.count):\(text)".utf8))
        }
        return Data(hash.finalize())
    }
}
