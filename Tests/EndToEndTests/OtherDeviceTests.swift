import Foundation
import PushClient
import PushCore
import PushSenders
import PushSimulators
import PushTesting
import Testing

@testable import PushApplication
@testable import sealpost_demo

/// A user's action on one device also appears on the user's other devices.
@Suite(.timeLimit(.minutes(5))) struct OtherDeviceTests {
    private static let token = String(repeating: "ab", count: 32)

    /// Runs the product with senders that send looks: pushes that show nothing and tell a device
    /// to sync.
    private func withLooks(
        envelope: AppleEnvelope = .alert(AlertPlaceholder()),
        _ body: @escaping @Sendable (Stack) async throws -> Void
    ) async throws {
        try await Stack.run {
            $0.senders[Platform("stream")] = .stream
            $0.quotas = [:]
            if case .apns(var apns) = $0.senders[Platform("apns")] {
                (apns.envelope, apns.lookInterval) = (envelope, 10)
                $0.senders[Platform("apns")] = .apns(apns)
            }
            if case .fcm(var fcm) = $0.senders[Platform("fcm")] {
                fcm.lookInterval = 10
                $0.senders[Platform("fcm")] = .fcm(fcm)
            }
            if case .wns(var wns) = $0.senders[Platform("wns")] {
                wns.lookInterval = 10
                $0.senders[Platform("wns")] = .wns(wns)
            }
        } _: { stack in
            try await body(stack)
        }
    }

    /// A client with a session of its own, as each device has.
    private func client(_ stack: Stack) async throws -> PushClient {
        let password = PushClient.Credentials.basic(username: "alice", password: Stack.password)
        let options = PushClient.Options(testing: [])
        let session = try await PushClient(server: stack.server, credentials: password, options: options).signIn()
        return PushClient(
            server: stack.server,
            credentials: .token(session.token, account: "alice"),
            options: options
        )
    }

    private func post(_ stack: Stack, _ members: String = "") async throws -> Int64 {
        let body = #"{"Payload":"x","To":["username:alice"]\#(members)}"#
        let answer = try await stack.send(stack.request("POST", "/api/notifications", as: "boss", body: body))
        return try #require(try (answer.member("Id") as? Int).map(Int64.init), "\(answer.text)")
    }

    private func id(_ push: PushSimulators.ReceivedPush) throws -> Int64 {
        // A raw push of WNS contains only the id.
        let text = push.text.split(separator: "secureId").last?.drop { !$0.isNumber }.prefix { $0.isNumber }
        return try #require(text.flatMap { Int64($0) }, "\(push.text)")
    }

    enum Change: CaseIterable, Sendable {
        case read, unread, dismissed, taken, recalled
    }

    /// The phone or the publisher makes the change. The tablet then gets a silent push, and the
    /// browser gets an event over its stream.
    @Test(arguments: Change.allCases) func aChangeReachesTheOtherDevices(change: Change) async throws {
        try await self.withLooks { stack in
            let (phone, tablet) = (try await self.client(stack), try await self.client(stack))
            let desktop = try await self.client(stack)
            try await phone.register(platform: "apns", handle: Self.token)
            try await tablet.register(platform: "fcm", handle: "fcm-token")
            var events = desktop.events().makeAsyncIterator()
            guard case .connected = try await events.next() else { return #expect(Bool(false)) }
            let id = try await self.post(stack, change == .taken ? #","ReadOnce":true"# : "")
            guard case .pushed(id, _) = try await events.next() else { return #expect(Bool(false)) }
            let (apns, fcm) = (stack.providers.apns.pushes, stack.providers.fcm.pushes)
            #expect(try await apns.acceptedPush(1).request.header("apns-push-type") == "alert")
            #expect(try await self.id(fcm.acceptedPush(1)) == id)
            _ = try await tablet.sync()
            switch change {
            case .read: try await phone.markRead(id)
            case .unread:
                try await tablet.markRead(id)
                try await phone.markRead(id, false)
            case .dismissed: try await phone.dismiss(id)
            case .taken:
                _ = try await phone.notification(id)
                try await phone.confirmTaken(id)
            case .recalled:
                let request = try stack.request("DELETE", "/api/notifications/\(id)", as: "boss")
                #expect(try await stack.send(request).status == 204)
            }
            // The browser's own fetch changes nothing, so it causes no push.
            guard case .pushed(let look, nil) = try await events.next() else { return #expect(Bool(false)) }
            #expect(look != id)
            let push = try await fcm.acceptedPush(2)
            #expect(try self.id(push) != id)
            #expect(push.text.contains(change == .recalled ? #""priority":"HIGH""# : #""priority":"NORMAL""#))
            #expect(try await tablet.preview(self.id(push)) == nil)
            let inbox = try await tablet.sync().value
            let isListed: [Change] = [.read, .unread]
            #expect(inbox.count == (isListed.contains(change) ? 1 : 0))
            #expect(inbox.unreadCount == (change == .unread ? 1 : 0))
            switch change {
            // The server sends no push to a device whose own session made the change. Here a
            // publisher or several sessions made it, so the phone gets a push, too.
            case .recalled, .unread:
                let silent = try await apns.acceptedPush(2).request
                #expect(silent.header("apns-push-type") == "background" && silent.header("apns-priority") == "5")
            case .read, .dismissed, .taken: #expect(apns.received.count == 1)
            }
        }
    }

    /// A provider must not be able to count what a user reads. The push after a change must
    /// therefore look like the push of a notification.
    @Test func providersSeeTheBytesOfANotificationButForItsID() async throws {
        try await self.withLooks(envelope: .background) { stack in
            let (phone, tablet) = (try await self.client(stack), try await self.client(stack))
            try await phone.register(platform: "apns", handle: Self.token)
            try await tablet.register(platform: "fcm", handle: "fcm-token")
            let laptop = try await self.client(stack)
            try await laptop.register(platform: "wns", handle: stack.providers.wns.makeChannel())
            let id = try await self.post(stack, #","Priority":"normal""#)
            let pushes = [stack.providers.apns.pushes, stack.providers.fcm.pushes, stack.providers.wns.pushes]
            for log in pushes { _ = try await log.acceptedPush(1) }
            let request = try stack.request("PATCH", "/api/notifications/\(id)", body: #"{"Read":true}"#)
            #expect(try await stack.send(request).status == 200)
            for log in pushes {
                let first = try await log.acceptedPush(1)
                let second = try await log.acceptedPush(2)
                #expect(try self.id(second) != id)
                #expect(try self.form(first) == self.form(second))
            }
        }
    }

    /// Returns all that a provider sees of a push. Leaves out ids, and replaces times by their
    /// lengths.
    private func form(_ push: PushSimulators.ReceivedPush) throws -> [String] {
        let id = try self.id(push).description
        let body = push.text.replacing(id, with: "id").replacing(/"ttl":"[0-9]+s"/, with: "ttl")
        let fields = push.request.headers.map { field in
            switch field.name.lowercased() {
            case "apns-id", "apns-collapse-id", "apns-expiration", "x-wns-ttl": "\(field.name) \(field.value.count)"
            // Ids differ in their number of digits, so this length does not include the id.
            case "content-length": "\(field.name) \((Int(field.value) ?? 0) - id.count)"
            default: "\(field.name): \(field.value)"
            }
        }
        return ["\(push.request.connection)", push.request.path, body] + fields
    }
}
