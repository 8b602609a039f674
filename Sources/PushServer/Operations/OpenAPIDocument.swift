internal import CResources
internal import PushCore

/// The OpenAPI 3.1 document of all routes, in JSON, which `scripts/make-openapi` generates.
enum OpenAPIDocument {
    static let bytes = Array(openapi)

    static let tag = EntityTag(ofPublicFile: bytes)
}
