import Foundation
import PushCore
import PushSimulators
import PushTesting
import Testing

@testable import PushApplication

/// The handle of a webhook moves to another user. The test runs the whole server with real
/// sockets, and a receiver that checks signatures.
@Suite(.timeLimit(.minutes(5))) struct WebhookClaimTests {
    private func run(_ body: @escaping @Sendable (Stack, WebhookSimulator) async throws -> Void) async throws {
        let (folder, authority) = (try TemporaryFolder(), try TestAuthority())
        try authority.write(to: folder.file("ca.pem"))
        let hook = try WebhookSimulator(authority: authority)
        try folder.writeSecret(hook.secret, to: "hook.secret")
        var settings = SenderConfiguration.Webhook(url: hook.url, secretFile: folder.file("hook.secret"))
        settings.caFile = folder.file("ca.pem")
        let senders = [Platform("hook"): SenderConfiguration.webhook(settings)]
        try await hook.whileRunning { _ in
            try await Stack.run {
                $0.senders = senders
            } _: { stack in
                try await body(stack, hook)
            }
        }
    }

    /// Registers the handle `device-1` for the user. Returns the registration id.
    private func register(_ user: String, in stack: Stack) async throws -> String {
        let issued = try await stack.send(stack.request("POST", "/api/register", as: user)).text
        let id = String(issued.dropFirst().dropLast())
        let body = #"{"Platform":"hook","Handle":"device-1"}"#
        let put = try await stack.send(stack.request("PUT", "/api/register/\(id)", as: user, body: body))
        #expect(put.status == 200)
        #expect(put.text.isEmpty)
        return id
    }

    private func confirm(_ id: String, _ code: String, as user: String, in stack: Stack) async throws -> Int {
        let path = "/api/register/\(id)/confirmation"
        return try await stack.send(stack.request("POST", path, as: user, body: "\"\(code)\"")).status
    }

    private func list(_ user: String, in stack: Stack) async throws -> String {
        try await stack.send(stack.request("GET", "/api/register", as: user)).text
    }

    private func post(to user: String, in stack: Stack) async throws -> String {
        let body = #"{"Payload":1,"To":["username:\#(user)"]}"#
        let posted = try await stack.send(stack.request("POST", "/api/notifications", as: "boss", body: body))
        return "\(try #require(try posted.member("Id")))"
    }

    @Test func aHandleMovesWhenItsNewUserReturnsTheCodeAndNotBefore() async throws {
        try await self.run { stack, hook in
            let old = try await self.register("alice", in: stack)
            let first = try await hook.pushes.acceptedPush(1).member("confirmation")
            #expect(try await self.confirm(old, first, as: "alice", in: stack) == 200)

            // Mallory claims the same handle. The server sends the confirmation code to the
            // webhook. Until mallory returns the code, the handle still belongs to alice.
            let new = try await self.register("mallory", in: stack)
            let second = try await hook.pushes.acceptedPush(2).member("confirmation")
            #expect(try await self.confirm(new, first, as: "mallory", in: stack) == 409)
            #expect(try await self.confirm(old, second, as: "mallory", in: stack) == 404)
            let own = try await self.post(to: "alice", in: stack)
            _ = try await self.post(to: "mallory", in: stack)
            #expect(try await hook.pushes.acceptedPush(3).member("secureId") == own)
            #expect(try await self.list("mallory", in: stack) == "[]")
            #expect(try await !self.list("alice", in: stack).contains("RetiredAt"))

            #expect(try await self.confirm(new, second, as: "mallory", in: stack) == 200)
            #expect(try await self.list("mallory", in: stack).contains(#""Id":"\#(new)""#))
            #expect(
                try await self.list("alice", in: stack).contains(
                    #""Reason":"the handle was registered by another user""#
                )
            )
            _ = try await self.post(to: "alice", in: stack)
            let moved = try await self.post(to: "mallory", in: stack)
            #expect(try await hook.pushes.acceptedPush(4).member("secureId") == moved)
        }
    }
}
