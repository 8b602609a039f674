internal import Crypto

/// What `scripts/make-openapi` made of all routes: OpenAPI 3.1, in JSON.
enum OpenAPIDocument {
    static let bytes = PackageResources.openapi_json

    /// Half of its SHA-256: there is nothing to hide in it.
    static let tag: EntityTag = {
        let digits = SHA256.hash(data: bytes).prefix(16).map { byte in
            String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
        }
        return EntityTag(description: "\"\(digits.joined())\"")
    }()
}
