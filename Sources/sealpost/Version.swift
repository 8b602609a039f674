/// The version of this release, which `sealpost --version` prints; the changelog and the OpenAPI document have the
/// same.
enum Version {
    static let current = "0.1.0"
}
