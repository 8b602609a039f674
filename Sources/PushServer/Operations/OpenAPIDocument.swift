internal import CResources
internal import PushCore

/// The OpenAPI 3.1 document of all routes, in JSON. `scripts/make-openapi` generates it.
enum OpenAPIDocument {
    static let bytes = Array(openapi)

    static let tag = EntityTag(ofPublicFile: bytes)
}
