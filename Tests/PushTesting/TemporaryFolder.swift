package import Foundation

/// A folder for one test. The folder is deleted when its last reference is gone, or when the
/// process ends.
package final class TemporaryFolder: Sendable {
    package let path: String

    package init(on medium: ScratchRoot.Medium = .memory) throws {
        self.path = try ScratchRoot.on(medium).newPath()
        try FileManager.default.createDirectory(atPath: self.path, withIntermediateDirectories: true)
    }

    deinit {
        // If this fails, the folder is deleted when the process ends.
        try? FileManager.default.removeItem(atPath: self.path)
    }

    /// Returns the path of a file in the folder.
    package func file(_ name: String) -> String {
        "\(self.path)/\(name)"
    }

    /// Writes a file that only its owner may read. The write is atomic.
    package func writeSecret(_ text: String, to name: String) throws {
        try text.write(toFile: self.file(name), atomically: true, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: self.file(name))
    }

    /// Returns all bytes of all files in the folder and its subfolders. A test searches them for
    /// data that must be absent. Sockets have no bytes.
    package func contents() throws -> Data {
        try FileManager.default.subpathsOfDirectory(atPath: self.path).reduce(into: Data()) { bytes, name in
            let file = self.file(name)
            guard try FileManager.default.attributesOfItem(atPath: file)[.type] as? FileAttributeType == .typeRegular
            else { return }
            bytes.append(try Data(contentsOf: URL(fileURLWithPath: file)))
        }
    }
}
