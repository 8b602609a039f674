internal import COpenSSL

/// Reads the subject of a certificate.
enum X509Name {
    /// The common name, if the subject has exactly one and it is text.
    static func commonName(of subject: OpaquePointer?) -> String? {
        let index = X509_NAME_get_index_by_NID(subject, NID_commonName, -1)
        guard index >= 0, X509_NAME_get_index_by_NID(subject, NID_commonName, index) < 0 else { return nil }
        var text: UnsafeMutablePointer<UInt8>?
        let value = X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, index))
        let length = ASN1_STRING_to_UTF8(&text, value)
        guard let text else {
            ERR_clear_error()
            return nil
        }
        defer { CRYPTO_free(text, nil, 0) }
        return String(validating: UnsafeBufferPointer(start: text, count: Int(length)), as: UTF8.self)
    }
}
