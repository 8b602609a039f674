import Foundation
import Glibc
import PushStore
import PushTesting
import Testing

@testable import PushSQLite

@Suite(.timeLimit(.minutes(5))) struct LockFileTests {
    private let folder = try? TemporaryFolder()

    private func path() throws -> String { try #require(self.folder).file("sealpost.db") }

    @Test func aDatabaseHasOneLock() throws {
        let path = try self.path()
        let lock = try LockFile(forDatabase: path)
        #expect(throws: StoreError.self) { try LockFile(forDatabase: path) }
        lock.release()
        lock.release()
        _ = try LockFile(forDatabase: path)
    }

    /// As a child process does between `fork` and `exec`.
    @Test func aLockIsReleasedThoughAnotherDescriptorSharesIt() throws {
        let path = try self.path()
        let lock = try LockFile(forDatabase: path)
        let shared = dup(try #require(Self.descriptor(of: path + ".lock")))
        defer { close(shared) }
        lock.release()
        _ = try LockFile(forDatabase: path)
    }

    private static func descriptor(of path: String) throws -> Int32? {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").lazy.compactMap(Int32.init).first {
            (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)")) == path
        }
    }
}
