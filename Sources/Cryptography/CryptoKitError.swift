/// The reason why an operation failed, under CryptoKit's names. An error never quotes the input of
/// the operation.
package enum CryptoKitError: Error, Hashable {
    case incorrectKeySize
    case incorrectParameterSize
    /// The text was changed or forged, or was encrypted with another key.
    case authenticationFailure
    /// The input is not a key, or not a key of this kind.
    case invalidParameter
    /// libcrypto's own error; `openssl errstr` explains the number, which it takes in hexadecimal.
    case underlyingCoreCryptoError(error: Int32)
}
