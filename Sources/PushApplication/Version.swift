/// The version of this release, which the changelog and the OpenAPI document also state.
package enum Version {
    static let current = "0.2.0"

    /// The commit that the program was built from, with `-dirty` if files were changed. `nil` if
    /// `make release` did not build the program.
    static let commit = PackageNote.ofThisProgram?.values["commit"]

    /// The output of `sealpost --version`: its first word is the version.
    package static var text: String {
        "\(self.current) (commit \(self.commit ?? "unknown: built without make release"))"
    }
}
