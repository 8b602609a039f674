package import Foundation

/// The working copy that the tests were built from.
package enum Repository {
    /// Its uppermost folder.
    package static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")
        .standardizedFileURL

    /// A file or folder by its path in it, such as `docs/errors.md`.
    package static func file(_ path: String) -> URL {
        self.root.appending(path: path)
    }

    /// What stands in a file.
    package static func text(of path: String) throws -> String {
        try String(contentsOf: self.file(path), encoding: .utf8)
    }
}
