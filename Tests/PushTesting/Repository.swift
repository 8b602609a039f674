package import Foundation

/// The working copy of the repository from which the tests were built.
package enum Repository {
    /// The root folder of the working copy.
    package static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(path: "../..")
        .standardizedFileURL

    /// Returns the URL of a file or folder by its path in the working copy, such as
    /// `docs/errors.md`.
    package static func file(_ path: String) -> URL {
        self.root.appending(path: path)
    }

    /// Returns the text of a file.
    package static func text(of path: String) throws -> String {
        try String(contentsOf: self.file(path), encoding: .utf8)
    }

    /// Returns the name and the text of each file with this ending, in a folder and its
    /// subfolders.
    package static func files(under path: String, ending: String) throws -> [(name: String, text: String)] {
        try FileManager.default.subpathsOfDirectory(atPath: self.file(path).path)
            .filter { $0.hasSuffix(ending) }
            .map { (URL(filePath: $0).lastPathComponent, try self.text(of: "\(path)/\($0)")) }
    }
}
