internal import Cryptography
internal import HTTPTypes
internal import PushCore
internal import SocketHTTP

/// The fingerprint of the bearer token that a connection has sent last.
///
/// Nearly every client sends the same token in all requests of a connection. The server compares
/// the bytes of the field instead of hashing the token again. The fingerprint only identifies the
/// token: whether the token is still valid is checked at each request.
///
/// The field's bytes are overwritten before their memory is freed. The comparison takes the same
/// time wherever the bytes differ, since a proxy may send the requests of several clients over one
/// connection.
final class LastToken {
    private let field: SecretBytes
    private let fingerprint: Fingerprint

    private init(_ field: SecretBytes, _ fingerprint: Fingerprint) {
        (self.field, self.fingerprint) = (field, fingerprint)
    }

    /// The fingerprint of the request's token, if the connection's last token came in the same
    /// field; otherwise `nil`.
    static func fingerprint(of request: Request) -> Fingerprint? {
        guard let last = request.memory.value as? LastToken else { return nil }
        let isSame = request.head.withOnlyValue(of: .authorization) { value in
            last.field.withUnsafeBytes { Self.areEqual($0, value) }
        }
        return isSame == true ? last.fingerprint : nil
    }

    /// Whether both buffers have the same bytes. The comparison's time depends only on the
    /// lengths. It takes eight bytes at a time, since libcrypto's function takes one.
    private static func areEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard one.count == other.count else { return false }
        var (difference, index) = (UInt64(0), 0)
        while index + 8 <= one.count {
            let word = one.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            difference |= word ^ other.loadUnaligned(fromByteOffset: index, as: UInt64.self)
            index += 8
        }
        while index < one.count {
            difference |= UInt64(one[index] ^ other[index])
            index += 1
        }
        return difference == 0
    }

    /// Hashes the token in the request's field `Authorization`, and remembers the result.
    static func hash(_ token: Substring, of request: Request) -> Fingerprint {
        let fingerprint = Fingerprint(of: token)
        // The field is missing if a page of the console has sent the token as a cookie.
        let field = request.head.withOnlyValue(of: .authorization) { SecretBytes(copying: $0) }
        request.memory.value = field.map { LastToken($0, fingerprint) }
        return fingerprint
    }
}
