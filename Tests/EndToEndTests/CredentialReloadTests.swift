import Foundation
import PushClient
import PushCore
import PushSenders
import PushSimulators
import PushTesting
import Synchronization
import Testing

@testable import PushApplication
@testable import sealpost_demo

@Suite(.timeLimit(.minutes(5))) struct CredentialReloadTests {
    private struct Sink: PushSender {
        func send(_ push: Push) async throws(SendFailure) -> Acceptance { Acceptance() }
    }

    @Test func aCredentialIsReloadedOnlyFromAChangedValidFile() throws {
        let folder = try TemporaryFolder()
        let file = folder.file("key")
        let made = Mutex<[String]>([])
        func write(_ text: String) throws { try folder.writeSecret(text, to: "key") }
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

    /// A new APNs key has another key id, so the server uses it only after a restart, as
    /// docs/operate/keys.md says.
    @Test(arguments: ["keyID", "keyFile", "teamID"]) func anotherKeyOfAPNsNeedsARestart(key: String) {
        #expect(!ConfigurationReload.isReloaded("senders.apns.\(key)"))
    }

    /// When a provider refuses the credentials, the server pauses the pushes to this provider for
    /// a minute. A new key ends this pause at once.
    @Test func aReloadTakesAGoodKeyAndIgnoresABadOne() async throws {
        let stranger = try APNsSimulator(authority: TestAuthority()).credentials.privateKey
        let received = try await Stack.run { configuration in
            guard case .apns(let apns) = configuration.senders[Platform("apns")] else { return }
            do {
                // Overwrites the file in place, so that it keeps its mode.
                try stranger.write(toFile: apns.keyFile, atomically: false, encoding: .utf8)
            } catch {
                Issue.record(error)
            }
        } _: { stack in
            let pushes = stack.providers.apns.pushes
            let folder = stack.folder
            func write(_ text: String) throws { try folder.writeSecret(text, to: "AuthKey.p8") }
            let client = PushClient(
                server: stack.server,
                credentials: .basic(username: "alice", password: Stack.password),
                options: .init(testing: [])
            )
            _ = try await client.register(platform: "apns", handle: "abcd1234")
            _ = try await client.send("secret")
            // The pushes to APNs must be paused before the reload.
            try await eventually { stack.pause(of: "apns") != nil }
            let good = stack.providers.apns.credentials.privateKey
            try write(good)
            await stack.application.parts.reload()
            // The provider accepts this push and the one that it refused before, which has waited
            // for the end of the pause.
            _ = try await client.send("secret")
            _ = try await pushes.acceptedPush(2)
            try write("no key")
            await stack.application.parts.reload()
            _ = try await client.send("secret")
            _ = try await pushes.acceptedPush(3)
            try write(good)
            await stack.application.parts.reload()
            _ = try await client.send("secret")
            _ = try await pushes.acceptedPush(4)
            return pushes.received
        }
        #expect(received.first?.verdict == .refused(status: 403, reason: "InvalidProviderToken"))
        let accepted = received.filter(\.verdict.isAccepted)
        #expect(Set(accepted.compactMap { $0.request.header("authorization") }).count == 1)
    }
}
