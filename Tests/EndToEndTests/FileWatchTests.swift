import Foundation
import Logging
import PushSimulators
import PushTesting
import Testing

@testable import PushApplication

@Suite(.timeLimit(.minutes(5))) struct FileWatchTests {
    private let folder: TemporaryFolder
    private let files: WatchedFiles

    /// Makes the files as Kubernetes does. They are links into a folder, which Kubernetes replaces
    /// as a whole.
    init() throws {
        self.folder = try TemporaryFolder()
        try Self.write("first", to: "..1", in: self.folder)
        try FileManager.default.createSymbolicLink(atPath: self.folder.file("..data"), withDestinationPath: "..1")
        for name in ["tls.crt", "tls.key"] {
            let target = "..data/\(name)"
            try FileManager.default.createSymbolicLink(atPath: self.folder.file(name), withDestinationPath: target)
        }
        var configuration = Configuration()
        configuration.tls = Configuration.TLS(
            identity: .init(certificate: self.folder.file("tls.crt"), privateKey: self.folder.file("tls.key"))
        )
        self.files = WatchedFiles(configuration)
    }

    private static func write(_ text: String, to name: String, in folder: TemporaryFolder) throws {
        try FileManager.default.createDirectory(atPath: folder.file(name), withIntermediateDirectories: true)
        for file in ["tls.crt", "tls.key"] { try folder.writeSecret(text, to: "\(name)/\(file)") }
    }

    @Test func aChangedCredentialTakesEffectAndABrokenOneIsReportedOnce() async throws {
        let log = LogRecorder(logLevel: .info)
        try await Stack.run(log: log) { stack in
            let service = FileWatchService(parts: stack.application.parts)
            let other = try APNsSimulator(authority: TestAuthority()).credentials.privateKey
            for text in ["no key", other] {
                try stack.folder.writeSecret(text, to: "AuthKey.p8")
                for _ in 0..<4 { await service.findChanges() }
            }
        }
        let lines = log.lines.filter { $0.contains("credential") }
        #expect(lines.count == 2, "\(lines)")
        #expect(lines.first?.hasPrefix("error credential reload failed; the old credentials stay in use ") == true)
        #expect(lines.last == "info credentials reloaded sender=apns")
    }

    @Test func filesInAReplacedFolderAreReadOnce() throws {
        #expect(self.files.findChanges() == [])
        try Self.write("second", to: "..2", in: self.folder)
        try FileManager.default.createSymbolicLink(atPath: self.folder.file("..new"), withDestinationPath: "..2")
        try #require(rename(self.folder.file("..new"), self.folder.file("..data")) == 0)
        #expect(
            [self.files.findChanges(), self.files.findChanges(), self.files.findChanges()] == [[], [.certificates], []]
        )
    }

    /// A new certificate is written before its key. The server reads both files only after they
    /// have stopped changing.
    @Test func aFileThatStillChangesIsNotRead() throws {
        try self.folder.writeSecret("a new certificate", to: "..1/tls.crt")
        #expect(self.files.findChanges() == [])
        try self.folder.writeSecret("its key", to: "..1/tls.key")
        #expect(
            [self.files.findChanges(), self.files.findChanges(), self.files.findChanges()] == [[], [.certificates], []]
        )
    }

    /// A deleted file counts as one change, so its error is reported only once.
    @Test func aDeletedFileIsReadOnce() throws {
        try FileManager.default.removeItem(atPath: self.folder.file("..1/tls.key"))
        #expect(
            [self.files.findChanges(), self.files.findChanges(), self.files.findChanges()] == [[], [.certificates], []]
        )
    }

    @Test func filesThatASignalHasReadAreNotReadAgain() throws {
        try Self.write("after a signal", to: "..1", in: self.folder)
        self.files.recordRead()
        #expect([self.files.findChanges(), self.files.findChanges()] == [[], []])
    }
}
