internal import COpenSSL
internal import Synchronization

/// The keys that encrypt session tickets (RFC 5077, RFC 8446 section 4.6.1), so that the server
/// needs no memory to resume a session.
///
/// All contexts of a process share these keys, so that sessions can be resumed after a reload.
/// After each `lifetime` a new key encrypts, and the previous key decrypts for another `lifetime`.
/// After that, no ticket needs the previous key. It is deleted, so that it can no longer reveal a
/// session.
package final class TicketKeys: Sendable {
    struct Key: Sendable {
        /// The key's name in the tickets that it has encrypted.
        let name: [UInt8]
        let cipherKey: [UInt8]
        let macKey: [UInt8]

        init() throws(OpenSSLError) {
            self.name = try Self.random(16)
            self.cipherKey = try Self.random(32)
            self.macKey = try Self.random(32)
        }

        private static func random(_ count: Int) throws(OpenSSLError) -> [UInt8] {
            var bytes = [UInt8](repeating: 0, count: count)
            try OpenSSLError.check("RAND_bytes", RAND_bytes(&bytes, Int32(count)))
            return bytes
        }
    }

    private struct Keys {
        var current: Key
        var previous: Key?
        var turnsAt: ContinuousClock.Instant
    }

    /// How long a ticket is valid, and how long a key encrypts.
    package static let lifetime = Duration.seconds(12 * 3600)

    /// A mutex protects the keys, because handshakes run on every loop.
    private let keys: Mutex<Keys>
    private let now: @Sendable () -> ContinuousClock.Instant

    package init(now: @escaping @Sendable () -> ContinuousClock.Instant = { .now }) throws(OpenSSLError) {
        self.now = now
        self.keys = Mutex(Keys(current: try Key(), previous: nil, turnsAt: now() + Self.lifetime))
    }

    /// The key that encrypts.
    func current() throws(OpenSSLError) -> Key {
        try self.withTurnedKeys { keys in keys.current }
    }

    /// The key of that name, and whether it is the current one; `nil` if it has been deleted, or
    /// belongs to another process.
    func key(named name: UnsafeRawBufferPointer) throws(OpenSSLError) -> (key: Key, isCurrent: Bool)? {
        try self.withTurnedKeys { keys in
            if keys.current.name.elementsEqual(name) { return (keys.current, true) }
            guard let previous = keys.previous, previous.name.elementsEqual(name) else { return nil }
            return (previous, false)
        }
    }

    private func withTurnedKeys<Result>(_ body: (Keys) -> Result) throws(OpenSSLError) -> Result {
        let now = self.now()
        return try self.keys.withLock { (keys) throws(OpenSSLError) in
            if now >= keys.turnsAt {
                // After a long time without handshakes, the current key is too old as well.
                keys.previous = now < keys.turnsAt + Self.lifetime ? keys.current : nil
                keys.current = try Key()
                keys.turnsAt = now + Self.lifetime
            }
            return body(keys)
        }
    }
}

extension TicketKeys {
    /// Makes a context encrypt its tickets with these keys, which must outlive it.
    func install(in context: OpaquePointer) {
        SSL_CTX_set_timeout(context, Int(Self.lifetime.components.seconds))
        SSL_CTX_set_ex_data(context, Self.place, Unmanaged.passUnretained(self).toOpaque())
        SSL_CTX_set_tlsext_ticket_key_evp_cb(context) { session, name, vector, cipher, mac, isSealing in
            guard
                let session, let name, let vector,
                let keys = SSL_CTX_get_ex_data(SSL_get_SSL_CTX(session), TicketKeys.place)
            else { return -1 }
            let ticketKeys = Unmanaged<TicketKeys>.fromOpaque(keys).takeUnretainedValue()
            return isSealing == 1
                ? ticketKeys.seal(name, vector, cipher, mac) : ticketKeys.open(session, name, vector, cipher, mac)
        }
    }

    private typealias Bytes = UnsafeMutablePointer<UInt8>

    /// The slot in which a context stores its keys: OpenSSL's slot for the application's data.
    private static let place: Int32 = 0
    private static let nameLength = 16

    // The results that OpenSSL expects.
    private static let failed: Int32 = -1
    private static let unknown: Int32 = 0
    private static let good: Int32 = 1
    private static let goodButOld: Int32 = 2

    private func seal(_ name: Bytes, _ vector: Bytes, _ cipher: OpaquePointer?, _ mac: OpaquePointer?) -> Int32 {
        guard let key = try? self.current(), RAND_bytes(vector, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) == 1 else {
            return Self.failed
        }
        name.update(from: key.name, count: Self.nameLength)
        guard
            EVP_EncryptInit_ex(cipher, EVP_aes_256_cbc(), nil, key.cipherKey, vector) == 1,
            copenssl_use_hmac_sha256(mac, key.macKey, key.macKey.count) == 1
        else { return Self.failed }
        return Self.good
    }

    private func open(
        _ session: OpaquePointer,
        _ name: Bytes,
        _ vector: Bytes,
        _ cipher: OpaquePointer?,
        _ mac: OpaquePointer?
    ) -> Int32 {
        guard let found = try? self.key(named: UnsafeRawBufferPointer(start: name, count: Self.nameLength)) else {
            return Self.unknown
        }
        guard
            copenssl_use_hmac_sha256(mac, found.key.macKey, found.key.macKey.count) == 1,
            EVP_DecryptInit_ex(cipher, EVP_aes_256_cbc(), nil, found.key.cipherKey, vector) == 1
        else { return Self.failed }
        // RFC 8446 appendix C.4: a ticket should be used only once, so the client gets a new one.
        return found.isCurrent && SSL_version(session) < TLS1_3_VERSION ? Self.good : Self.goodButOld
    }
}
