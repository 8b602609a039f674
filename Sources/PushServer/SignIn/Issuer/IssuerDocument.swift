internal import PushAPI

/// The document with an issuer's metadata (OpenID Connect Discovery 1.0 section 4, RFC 8414).
package struct IssuerDocument: Sendable, Hashable {
    /// The path of the document, which follows the issuer's URL.
    package static let path = "/.well-known/openid-configuration"

    /// The URL of the issuer's key set.
    package let keySet: String

    /// Reads the document. Throws unless the document names `issuer`, byte for byte: the keys of
    /// another issuer must not verify the tokens of this one.
    package init(_ bytes: [UInt8], of issuer: String) throws(IssuerDocumentError) {
        guard let value = try? JSONValue(reading: bytes), case .object = value else {
            throw IssuerDocumentError("the issuer's configuration is not a JSON object")
        }
        let named = value["issuer"]?.text ?? ""
        guard named.utf8.elementsEqual(issuer.utf8) else {
            throw IssuerDocumentError("the issuer's configuration names another issuer, \"\(named.clipped(to: 200))\"")
        }
        guard let keySet = value["jwks_uri"]?.text else {
            throw IssuerDocumentError("the issuer's configuration has no jwks_uri")
        }
        self.keySet = keySet
    }
}

/// The reason why a document of an issuer cannot be used.
package struct IssuerDocumentError: Error, Sendable, Hashable, CustomStringConvertible {
    package let description: String

    package init(_ description: String) {
        self.description = description
    }
}
