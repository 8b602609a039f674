/// Why something could not be done, under CryptoKit's names. It never quotes what it was given.
package enum CryptoKitError: Error, Hashable {
    case incorrectKeySize
    case incorrectParameterSize
    /// Changed, forged, or under another key.
    case authenticationFailure
    /// No key, or not one of this kind.
    case invalidParameter
    /// libcrypto's own error, as `openssl errstr` takes it in hexadecimal.
    case underlyingCoreCryptoError(error: Int32)
}
