import Foundation
import PushCore

/// The file with the secret that derives the day keys. The server replaces the file each day.
struct DayKeyFile: DayChainKeeper {
    private static let what = "the file of day keys"

    let path: String

    init(_ path: String) {
        self.path = path
    }

    /// The place of the file: the machine's name and the absolute path.
    var place: String { "\(ProcessInfo.processInfo.hostName):\(URL(fileURLWithPath: self.path).standardized.path)" }

    func load() throws -> DayChain? {
        if PrivateFile.isMissing(self.path) { return nil }
        return try self.chain(in: PrivateFile.load(self.path, what: Self.what))
    }

    func create(_ chain: DayChain) throws {
        let stored = try PrivateFile.load(self.path, what: Self.what) { chain.text }
        guard stored == chain.text else {
            throw ConfigurationError("\(Self.what) \(self.path) was created by another process meanwhile; try again")
        }
    }

    /// Replaces the file, and then overwrites the old file's blocks with other bytes. On some file
    /// systems that does not help, since they write these bytes to other blocks.
    func advance(to chain: DayChain) throws {
        // The old file is opened first, since after the replacement no name leads to it.
        let old = try FileHandle(forUpdating: URL(fileURLWithPath: self.path))
        let isReplaced = try PrivateFile.change(self.path, what: Self.what) { text in
            let isOlder = try self.chain(in: text).day < chain.day
            return (isOlder ? chain.text : text, isOlder)
        }
        guard isReplaced else { return }
        let length = Int(try old.seekToEnd())
        try old.seek(toOffset: 0)
        try old.write(contentsOf: Data(count: length))
        try old.synchronize()
        try old.close()
    }

    private func chain(in text: String) throws -> DayChain {
        do throws(DayChainError) {
            return try DayChain(text: text)
        } catch {
            throw ConfigurationError("\(Self.what) \(self.path) is not valid: \(error)")
        }
    }
}
