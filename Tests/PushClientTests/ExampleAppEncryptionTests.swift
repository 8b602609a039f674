import Foundation
import PushAPI
import PushClient
import PushClientTesting
import PushTesting
import Testing

@testable import ExampleInbox

/// Tests the end-to-end encryption of the sample app for iPhones.
@Suite(.timeLimit(.minutes(5))) @MainActor struct ExampleAppEncryptionTests {
    private let vectors: EndToEndVectors
    private let server = TestServer()
    private let folder: TemporaryFolder
    private let secrets = ExampleAppTests.StoredSecrets()
    private let place: Place

    init() throws {
        self.vectors = try EndToEndVectors()
        self.folder = try TemporaryFolder()
        self.place = Self.place("phone", self.secrets, self.folder, self.server, self.vectors)
    }

    private static func place(
        _ name: String,
        _ secrets: ExampleAppTests.StoredSecrets,
        _ folder: TemporaryFolder,
        _ server: TestServer,
        _ vectors: EndToEndVectors
    ) -> Place {
        var options = server.options
        options.now = { vectors.now }
        return Place(
            server: server.url,
            options: options,
            folder: URL(fileURLWithPath: folder.path).appending(path: name),
            secrets: secrets,
            senders: [vectors.sender]
        )
    }

    private func signedIn(_ place: Place? = nil) async -> InboxModel {
        let model = InboxModel(place ?? self.place)
        await model.signIn("alice", "correct horse")
        await model.register(Data([0xAB, 0x01]))
        return model
    }

    /// The app after a start with the keys of the vectors' phone.
    private func phone() async throws -> InboxModel {
        _ = await self.signedIn()
        try self.secrets.write(self.vectors.keys("phone").stored, as: "device keys")
        return InboxModel(self.place)
    }

    private func texts(_ model: InboxModel) -> [String?] { model.notifications.map { model.text(of: $0) } }

    @Test func aSignInMakesKeysAndASignOutRemovesThem() async throws {
        let model = await self.signedIn()
        #expect(model.advice == nil && model.fingerprint != nil)
        let client = try #require(try self.place.client())
        #expect(try await client.devices().first?.key?.fingerprint == model.fingerprint)
        // A session has ended without a sign-out, so the device keeps its keys.
        #expect(await self.signedIn().fingerprint == model.fingerprint)
        await model.signOut()
        #expect(model.fingerprint == nil && !self.secrets.names.contains("device keys"))
        #expect(await self.signedIn().fingerprint != nil)
    }

    @Test func aDeviceWithoutItsKeysIsNotSignedIn() async throws {
        _ = await self.signedIn()
        try self.secrets.write(Data("damaged".utf8), as: "device keys")
        #expect(!InboxModel(self.place).isSignedIn)
        #expect(try self.place.client() == nil)
        // The next sign-in makes new keys, and nobody has replaced the lost ones.
        let model = await self.signedIn()
        #expect(model.advice == nil)
        let client = try #require(try self.place.client())
        #expect(try await client.devices().first?.key?.fingerprint == model.fingerprint)
    }

    @Test(arguments: ["device keys", "account", "token"])
    func anInterruptedSignInLeavesNoClient(secret: String) async throws {
        _ = await self.signedIn()
        // Only a sign-in without keys makes new ones.
        if secret == "device keys" { try self.secrets.write(nil, as: secret) }
        self.secrets.failing.withLock { $0 = secret }
        await InboxModel(self.place).signIn("alice", "correct horse")
        #expect(try self.place.client() == nil)
        self.secrets.failing.withLock { $0 = nil }
        let model = await self.signedIn()
        #expect(model.advice == nil && model.fingerprint != nil)
    }

    /// The keychain survives when the user uninstalls the app, but the ids of opened messages do
    /// not.
    @Test func aReinstalledAppMakesNewKeys() async throws {
        let before = await self.signedIn().fingerprint
        try FileManager.default.removeItem(at: self.place.folder)
        let model = await self.signedIn()
        #expect(model.fingerprint != nil && model.fingerprint != before && model.advice == nil)
    }

    @Test func anEndToEndPayloadIsShownAndAClearOneIsNot() async throws {
        let model = try await self.phone()
        let (encrypted, clear) = (self.server.add(self.vectors.payload), self.server.add("Pay now!"))
        await model.sync()
        #expect(model.notifications.map(\.id) == [clear, encrypted])
        #expect(self.texts(model) == [nil, self.vectors.text])
        await model.open(PushMessage(id: encrypted))
        #expect(try model.text(of: #require(model.opened)) == self.vectors.text)
        await model.open(PushMessage(id: clear))
        #expect(try model.text(of: #require(model.opened)) == nil)
        await model.signOut()
        let later = await self.signedIn()
        await later.sync()
        // The new keys of the next session cannot open the message.
        #expect(self.texts(later) == [nil, nil])
    }

    @Test func aReadOnceMessageThatCannotBeShownIsNotErased() async throws {
        let model = try await self.phone()
        let clear = self.server.add(.string("Pay now!"), isReadOnce: true)
        let encrypted = self.server.add(.string(self.vectors.payload), isReadOnce: true)
        await model.open(PushMessage(id: clear))
        #expect(try model.text(of: #require(model.opened)) == nil)
        #expect(self.server.notifications.map(\.id) == [clear, encrypted])
        await model.open(PushMessage(id: encrypted))
        #expect(try model.text(of: #require(model.opened)) == self.vectors.text)
        #expect(self.server.notifications.map(\.id) == [clear])
    }

    @Test func oneDeviceApprovesAnother() async throws {
        let phone = await self.signedIn()
        let place = Self.place("tablet", ExampleAppTests.StoredSecrets(), self.folder, self.server, self.vectors)
        let tablet = await self.signedIn(place)
        await phone.loadDevices()
        let device = try #require(phone.otherDevices.first)
        #expect(device.key?.fingerprint == tablet.fingerprint && tablet.fingerprint != phone.fingerprint)
        #expect(!phone.hasApproved(device))
        await phone.approve(device)
        #expect(phone.advice == nil)
        #expect(phone.otherDevices.map { phone.hasApproved($0) } == [true])
        // The approval does not change the tablet's keys.
        #expect(try await place.client()?.devices().first?.key?.fingerprint == tablet.fingerprint)
    }

    @Test func replacedKeysAreReportedAndSetAgain() async throws {
        let fingerprint = await self.signedIn().fingerprint
        let client = try #require(try self.place.client())
        let account = try #require(try self.place.deviceKeys()).key.account
        try await client.setDeviceKey(DeviceKeys(account: account).key)
        let model = InboxModel(self.place)
        await model.register(Data([0xAB, 0x01]))
        #expect(model.advice == PushClient.Advice.keyReplaced.text)
        #expect(try await client.devices().first?.key?.fingerprint == fingerprint)
    }
}
