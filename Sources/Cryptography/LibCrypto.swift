internal import COpenSSL

/// Checks the results of libcrypto's functions.
///
/// A failed call leaves an error in the error queue of its thread. TLS runs on the same threads
/// and would treat this error as its own (`SSL_get_error`), so the functions below empty the queue
/// at every failure.
enum LibCrypto {
    /// Turns a result other than 1 into an error.
    static func check(_ result: Int32) throws(CryptoKitError) {
        guard result == 1 else { throw self.error() }
    }

    /// Turns a null pointer into an error.
    static func check<Pointer>(_ result: Pointer?) throws(CryptoKitError) -> Pointer {
        guard let result else { throw self.error() }
        return result
    }

    /// Returns the result of a call, or ends the program if the call has failed. Use it for calls
    /// that fail only if memory or libcrypto itself is broken, and never because of their input.
    static func require<Pointer>(_ call: StaticString, _ result: Pointer?) -> Pointer {
        guard let result else { preconditionFailure("\(call) has failed: libcrypto cannot be used") }
        return result
    }

    /// The newest error of this thread; the queue is empty afterwards.
    static func error() -> CryptoKitError {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        return .underlyingCoreCryptoError(error: Int32(truncatingIfNeeded: code))
    }

    /// A count in libcrypto's older type. Throws if the count is too large for this type.
    static func count(_ count: Int) throws(CryptoKitError) -> Int32 {
        guard let count = Int32(exactly: count) else { throw .incorrectParameterSize }
        return count
    }

    /// Whether both buffers have the same bytes. The comparison's time depends only on the
    /// lengths.
    static func isEqual(_ one: UnsafeRawBufferPointer, _ other: UnsafeRawBufferPointer) -> Bool {
        guard one.count == other.count else { return false }
        return one.isEmpty || CRYPTO_memcmp(one.baseAddress, other.baseAddress, one.count) == 0
    }
}

/// An object of libcrypto's that is made once and then used everywhere.
///
/// `@unchecked Sendable`: it is never changed nor freed, and libcrypto lets all threads read it.
struct SharedObject: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Fetches a cipher by name. OpenSSL 3 searches its providers for that, which costs more than
    /// most uses of the cipher.
    static func cipher(_ name: StaticString) -> SharedObject {
        name.withUTF8Buffer { bytes in
            bytes.withMemoryRebound(to: CChar.self) { name in
                let cipher = EVP_CIPHER_fetch(nil, name.baseAddress, nil)
                return SharedObject(pointer: LibCrypto.require("EVP_CIPHER_fetch", cipher))
            }
        }
    }
}
