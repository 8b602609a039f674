import Foundation
import PushClient

/// An app that the system wakes for each push. It shows the notification of a push, and runs
/// `BackgroundRefresh`, as iOS apps do.
///
/// It reads commands from standard input, each a verb and an id. After each command, it prints the
/// ids that the screen shows, and the badge.
struct Phone {
    private struct Screen {
        var shown: Set<Int64> = []
        var badge = 0
    }

    private let client: PushClient
    private let screen = Locked(Screen())

    /// Signs in and registers a device of APNs.
    init(_ server: URL, name: String, password: String, handle: String) async throws {
        let options = PushClient.Options(signatures: .unsigned)
        let basic = PushClient.Credentials.basic(username: name, password: password)
        let session = try await PushClient(server: server, credentials: basic, options: options).signIn()
        self.client = PushClient(
            server: server,
            credentials: .token(session.token, account: name),
            options: options
        )
        try await self.client.register(platform: "apns", handle: handle)
    }

    /// Performs commands until standard input ends.
    func run() async throws {
        self.report()
        while let words = readLine()?.split(separator: " ") {
            guard words.count == 2, let id = Int64(words[1]) else { throw ClientProgram.Usage() }
            try await self.perform(String(words[0]), id)
            self.report()
        }
    }

    private func perform(_ verb: String, _ id: Int64) async throws {
        switch verb {
        case "push":
            if try await self.client.preview(id) != nil { self.screen.withLock { _ = $0.shown.insert(id) } }
            _ = await BackgroundRefresh(clients: { [client] in [client] }, shown: self.notifications).run()
        case "read": try await self.client.markRead(id)
        case "unread": try await self.client.markRead(id, false)
        case "dismiss": try await self.client.dismiss(id)
        case "take":
            _ = try await self.client.notification(id)
            try await self.client.confirmTaken(id)
        default: throw ClientProgram.Usage()
        }
    }

    /// Stands in for the system's notification centre.
    private var notifications: ShownNotifications {
        ShownNotifications(
            all: { [screen] in
                screen.withLock { $0.shown.map { .init(identifier: "\($0)", push: PushMessage(id: $0)) } }
            },
            remove: { [screen] identifiers in
                screen.withLock { $0.shown.subtract(identifiers.compactMap { Int64($0) }) }
            },
            setBadge: { [screen] badge in screen.withLock { $0.badge = badge } }
        )
    }

    private func report() {
        let line = self.screen.withLock { "{\"shown\": \($0.shown.sorted()), \"badge\": \($0.badge)}\n" }
        FileHandle.standardOutput.write(Data(line.utf8))
    }
}
