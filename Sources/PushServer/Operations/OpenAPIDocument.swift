internal import Bytes
internal import Crypto

/// What `scripts/make-openapi` made of all routes: OpenAPI 3.1, in JSON.
enum OpenAPIDocument {
    static let bytes = PackageResources.openapi_json

    /// Half of its SHA-256: there is nothing to hide in it.
    static let tag = EntityTag(description: "\"\(Hexadecimal.text(of: SHA256.hash(data: bytes).prefix(16)))\"")
}
