package import Foundation

/// A folder for one test, gone with the last reference.
package final class ScratchFolder: Sendable {
    package let path: String

    package init() throws {
        self.path = FileManager.default.temporaryDirectory.path + "/sealpost-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit {
        // What is left is the system's to clean.
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// All bytes of all files in it and its folders, for looking for what must not be there.
    package func contents() throws -> Data {
        try FileManager.default.subpathsOfDirectory(atPath: self.path).reduce(into: Data()) { bytes, name in
            bytes.append((try? Data(contentsOf: URL(fileURLWithPath: self.file(name)))) ?? Data())
        }
    }

    /// The path of a file in it.
    package func file(_ name: String) -> String {
        "\(self.path)/\(name)"
    }
}
