package import Foundation

/// A folder for one test, removed with its last reference.
package final class ScratchFolder: Sendable {
    package let path: String

    package init() throws {
        self.path = FileManager.default.temporaryDirectory.path + "/sealpost-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit {
        // If this fails, the system deletes the folder some time later.
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// Returns all bytes of all files below the folder. A test searches them for forbidden
    /// content.
    package func contents() throws -> Data {
        try FileManager.default.subpathsOfDirectory(atPath: self.path).reduce(into: Data()) { bytes, name in
            bytes.append((try? Data(contentsOf: URL(fileURLWithPath: self.file(name)))) ?? Data())
        }
    }

    /// The path of a file in the folder.
    package func file(_ name: String) -> String {
        "\(self.path)/\(name)"
    }
}
