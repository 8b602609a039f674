internal import COpenSSL

/// The certificates that authorities have revoked, from their lists (CRLs, RFC 5280 section 5).
///
/// If there are lists, every authority of a client's chain needs a current list. A client whose
/// authority has no current list is refused, as the server cannot know whether the client's
/// certificate was revoked.
package struct TLSRevocationLists: Sendable {
    private let lists: [Owned]
    /// The PEM text of the lists.
    let text: String

    /// Reads lists in PEM.
    package init(_ text: String) throws(OpenSSLError) {
        self.lists = try PEM.readRevocationLists(text)
        self.text = text
    }

    /// The time at which the first list expires, in seconds since 1970; `nil` if no list expires.
    /// From then on, clients of that list's authority are refused.
    package var expiresAt: Int64? { self.lists.compactMap(X509Time.nextUpdate).min() }

    /// Makes a store of authorities check each certificate of a chain against these lists.
    func install(in store: OpaquePointer?) throws(OpenSSLError) {
        for list in self.lists { try OpenSSLError.check("X509_STORE_add_crl", X509_STORE_add_crl(store, list.pointer)) }
        X509_STORE_set_flags(store, UInt(X509_V_FLAG_CRL_CHECK | X509_V_FLAG_CRL_CHECK_ALL))
    }
}
