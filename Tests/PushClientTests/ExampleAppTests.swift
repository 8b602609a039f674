import Foundation
import PushAPI
import PushClient
import PushClientTesting
import PushTesting
import Testing

@testable import ExampleInbox

/// Tests the sample app for iPhones in `examples/apple/Inbox`, without its screens.
@Suite(.timeLimit(.minutes(5))) @MainActor struct ExampleAppTests {
    /// Keeps secrets in memory, in place of the keychain.
    final class StoredSecrets: Secrets {
        private let values = Locked<[String: Data]>([:])
        /// The name of the secret that cannot be stored; as if the app had ended before it.
        let failing = Locked<String?>(nil)

        func read(_ name: String) throws -> Data? { self.values.withLock { $0[name] } }
        func write(_ secret: Data?, as name: String) throws {
            if secret != nil, self.failing.withLock({ $0 == name }) { throw CocoaError(.fileWriteUnknown) }
            self.values.withLock { $0[name] = secret }
        }
        var names: Set<String> { self.values.withLock { Set($0.keys) } }
    }

    private let server = TestServer()
    private let folder: TemporaryFolder
    private let secrets = StoredSecrets()
    private let place: Place

    init() throws {
        self.folder = try TemporaryFolder()
        self.place = Place(
            server: self.server.url,
            options: self.server.options,
            folder: URL(fileURLWithPath: self.folder.path).appending(path: "push"),
            secrets: self.secrets
        )
    }

    /// Runs the app until a condition holds, then does something else, and ends the app.
    private func run(
        _ model: InboxModel,
        until isSo: () -> Bool,
        then act: () async throws -> Void = {}
    ) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await model.run() }
            try await eventually(isSo)
            try await act()
            group.cancelAll()
        }
    }

    private func signedIn() async -> InboxModel {
        let model = InboxModel(self.place)
        await model.signIn("alice", "correct horse")
        return model
    }

    @Test func aFirstSignInShowsTheFirstNotification() async throws {
        self.server.add("Your result is in.")
        let model = InboxModel(self.place)
        #expect(!model.isSignedIn)
        await model.signIn("alice", "correct horse")
        #expect(model.isSignedIn)
        #expect(model.age == .notLoaded)
        await model.register(Data([0xAB, 0x01]))
        try await self.run(model) { model.age == .upToDate }
        #expect(model.notifications.map { $0.payload?.text } == ["Your result is in."])
        #expect(model.advice == nil)
        #expect(self.server.requests.contains { $0.hasPrefix("PUT /api/register/") })
        #expect(self.secrets.names == ["account", "store", "token"])
        // The app does not store the password, and needs none at its next start.
        #expect(InboxModel(self.place).isSignedIn)
    }

    @Test func anOfflineStartShowsTheCachedListWithItsDate() async throws {
        self.server.add("Your result is in.")
        let first = await self.signedIn()
        try await self.run(first) { first.age == .upToDate }
        self.server.network = .offline
        let next = InboxModel(self.place)
        try await self.run(next) { !next.notifications.isEmpty }
        await next.sync()
        #expect(next.notifications.map { $0.payload?.text } == ["Your result is in."])
        guard case .asOf = next.age else {
            Issue.record("\(next.age)")
            return
        }
    }

    @Test func aFetchByTheExtensionIsShownAtOnce() async throws {
        let model = await self.signedIn()
        try await self.run(model) {
            model.age == .upToDate
        } then: {
            let id = self.server.add("Pushed.")
            // This client is made as the extension makes one.
            let other = try #require(try self.place.client())
            _ = try await other.notification(id)
            try await eventually { model.notifications.map(\.id) == [id] }
        }
    }

    @Test func offlineChangesAreShownAtOnceAndSentLater() async throws {
        let ids = ["read", "dismissed"].map { self.server.add($0) }
        let model = await self.signedIn()
        try await self.run(model) { model.age == .upToDate }
        self.server.network = .offline
        let items = model.notifications
        await model.markRead(try #require(items.first { $0.id == ids[0] }))
        await model.dismiss(try #require(items.first { $0.id == ids[1] }))
        #expect(model.notifications.map(\.id) == [ids[0]] && model.notifications.allSatisfy(\.isRead))
        #expect(model.advice == PushClient.Advice.offline.text)
        #expect(self.server.notifications.count == 2)
        self.server.network = .fine
        await model.sync()
        #expect(self.server.notifications.map(\.id) == [ids[0]] && self.server.notifications.allSatisfy(\.isRead))
    }

    /// The server does not answer, and an earlier sign-out is not yet sent to it.
    @Test func theCachedListIsShownBeforeTheServerAnswers() async throws {
        self.server.add("Your result is in.")
        let earlier = await self.signedIn()
        self.server.network = .offline
        await earlier.signOut()
        self.server.network = .fine
        _ = await self.signedIn()
        _ = try await self.place.client()?.sync()
        self.server.network = .silent
        var place = self.place
        (place.options.timeout, place.options.deadline) = (.seconds(600), .seconds(600))
        let model = InboxModel(place)
        try await self.run(model) { !model.notifications.isEmpty }
    }

    @Test func aRefreshByAnotherProcessSetsTheListsDate() async throws {
        self.server.add("Your result is in.")
        let first = await self.signedIn()
        try await self.run(first) { first.age == .upToDate }
        self.server.network = .offline
        let model = InboxModel(self.place)
        let other = try #require(try self.place.client())
        try await self.run(model) {
            // The advice shows that the app's call has failed. The app then waits for changes.
            model.advice != nil
        } then: {
            self.server.add("Another.")
            self.server.network = .fine
            let syncedAt = try #require(try await other.sync().value.syncedAt)
            try await eventually { model.notifications.count == 2 && model.age == .asOf(syncedAt) }
        }
    }

    @Test func aTapOpensTheMessageAndLowersTheBadge() async throws {
        let id = self.server.add("Your result is in.")
        self.server.add("Another.")
        let model = await self.signedIn()
        var changes: [(unread: Int, gone: Set<Int64>)] = []
        model.onChange = { changes.append(($0, $1)) }
        try await self.run(model) { model.age == .upToDate }
        #expect(changes.last?.unread == 2)
        await model.open(PushMessage(id: id))
        #expect(model.opened?.payload?.text == "Your result is in.")
        #expect(changes.last?.unread == 1 && changes.last?.gone.contains(id) == true)
        await model.signOut()
        #expect(changes.last?.unread == 0 && model.opened == nil)
    }

    @Test func olderMessagesAreShownPageByPage() async throws {
        for number in 0..<150 { self.server.add("\(number)") }
        let model = await self.signedIn()
        try await self.run(model) { model.age == .upToDate }
        #expect(model.notifications.count == 100 && model.hasOlder)
        #expect(model.notifications.first?.payload?.text == "149")
        await model.showOlder()
        #expect(model.notifications.count == 150 && !model.hasOlder)
    }

    @Test func aTapOnAReadOnceMessageErasesIt() async throws {
        let id = self.server.add(.string("code"), isReadOnce: true)
        let model = await self.signedIn()
        await model.open(PushMessage(id: id))
        #expect(model.opened?.payload?.text == "code")
        #expect(self.server.notifications.isEmpty)
    }

    /// When a user uninstalls the app, the system deletes its folder, but not its entries in the
    /// keychain.
    @Test func aReinstalledAppIsNotSignedIn() async throws {
        _ = await self.signedIn()
        try FileManager.default.removeItem(at: self.place.folder)
        #expect(self.secrets.names.contains("token"))
        #expect(!InboxModel(self.place).isSignedIn)
    }

    @Test func aWrongPasswordIsReported() async {
        self.server.takesCredentials = false
        let model = await self.signedIn()
        #expect(!model.isSignedIn)
        #expect(model.advice == "The name or the password is wrong.")
        #expect(!self.secrets.names.contains("token"))
    }

    @Test func anOfflineSignOutLeavesNothingToShow() async throws {
        self.server.add("Your result is in.")
        let model = await self.signedIn()
        try await self.run(model) { model.age == .upToDate }
        self.server.network = .offline
        await model.signOut()
        #expect(!model.isSignedIn)
        #expect(model.notifications.isEmpty)
        #expect(!self.secrets.names.contains("token"))
        #expect(!InboxModel(self.place).isSignedIn)
    }

    @Test func anEndedSessionLeadsToTheSignIn() async throws {
        let model = await self.signedIn()
        self.server.takesCredentials = false
        await model.sync()
        #expect(!model.isSignedIn)
        #expect(model.advice == PushClient.Advice.signIn.text)
    }
}
