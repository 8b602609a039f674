/// The version of this release: `sealpost --version` prints it, and the changelog and the OpenAPI document have the same.
enum Version {
    static let current = "0.1.0"
}
