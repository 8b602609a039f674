internal import Bytes
internal import CResources
internal import Cryptography
internal import PushCore

/// The OpenAPI 3.1 document of all routes, in JSON, which `scripts/make-openapi` generates.
enum OpenAPIDocument {
    static let bytes = Array(openapi)

    /// Half of its SHA-256: the document has no secrets.
    static let tag = EntityTag(description: "\"\(Hexadecimal.text(of: SHA256.hash(data: bytes).prefix(16)))\"")
}
