/// The version of this release; the changelog and the OpenAPI document have the same.
package enum Version {
    static let current = "0.2.0"

    /// The commit that it was built from, with `-dirty` if files were changed; `nil` if `make release` has not built it.
    static let commit = PackageNote.ofThisProgram?.values["commit"]

    /// What `sealpost --version` prints: the version is its first word.
    package static var text: String {
        "\(self.current) (commit \(self.commit ?? "unknown: built without make release"))"
    }
}
