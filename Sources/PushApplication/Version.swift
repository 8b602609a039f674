/// The version of this release; the changelog and the OpenAPI document have the same.
package enum Version {
    static let current = "0.2.0"

    /// The commit from which it was built, with `-dirty` if files were changed; `nil` if it was
    /// not built by `make release`.
    static let commit = PackageNote.ofThisProgram?.values["commit"]

    /// The output of `sealpost --version`: its first word is the version.
    package static var text: String {
        "\(self.current) (commit \(self.commit ?? "unknown: built without make release"))"
    }
}
