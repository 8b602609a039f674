import Foundation
import PushCore
import PushSenders
import PushSimulators
import PushTesting
import Synchronization
import Testing

@testable import sealpost

@Suite struct CredentialReloadTests {
    private struct Sink: PushSender {
        func send(_ push: Push) async throws(SendFailure) -> Acceptance { Acceptance() }
    }

    @Test func aFileIsUsedAgainOnlyIfItHasChangedAndIsGood() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("key")
        let made = Mutex<[String]>([])
        func write(_ text: String) throws { try text.write(toFile: file, atomically: true, encoding: .utf8) }
        try write("one")
        let credential = try SenderCredential(file: file, key: "senders.x.keyFile") { text in
            if text.exposed == "bad" { throw ConfigurationError("senders.x.keyFile: bad") }
            made.withLock { $0.append(text.exposed) }
            return (Sink(), {})
        }
        #expect(try !credential.reload())
        try write("two")
        #expect(try credential.reload())
        try write("bad")
        #expect(throws: ConfigurationError("senders.x.keyFile: bad")) { try credential.reload() }
        try write("two")
        #expect(try !credential.reload())
        try FileManager.default.removeItem(atPath: file)
        #expect(throws: ConfigurationError.self) { try credential.reload() }
        #expect(made.withLock { $0 } == ["one", "two"])
    }
}
