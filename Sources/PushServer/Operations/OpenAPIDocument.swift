internal import Bytes
internal import Cryptography

/// The OpenAPI 3.1 document of all routes, in JSON, which `scripts/make-openapi` generates.
enum OpenAPIDocument {
    static let bytes = PackageResources.openapi_json

    /// Half of its SHA-256: the document has no secrets.
    static let tag = EntityTag(description: "\"\(Hexadecimal.text(of: SHA256.hash(data: bytes).prefix(16)))\"")
}
