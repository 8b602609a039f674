import Foundation
import PushClient

/// The data that the app and its extension share: the server, a folder, and the account that is
/// signed in.
struct Place: Sendable {
    let server: URL
    var options: PushClient.Options
    let folder: URL
    let secrets: any Secrets
    /// The public keys of the backends that encrypt for this app end to end. Without keys, the app
    /// uses no end-to-end encryption, and shows clear payloads.
    var senders: [String] = []

    /// The client of the account that is signed in; `nil` if nobody is signed in.
    func client() throws -> PushClient? {
        // If the app was uninstalled, the keychain still has its secrets, but the folder is gone.
        guard FileManager.default.fileExists(atPath: self.folder.path) else { return nil }
        guard let account = try self.secrets.text("account"), let token = try self.secrets.text("token")
        else { return nil }
        let keys = try self.deviceKeys()
        // Without its keys the device could read nothing: the user signs in, which makes new keys.
        if !self.senders.isEmpty, keys == nil { return nil }
        return try self.client(.token(token, account: account), keys?.key)
    }

    /// The keys of this device for end-to-end encryption; `nil` if it has none.
    func deviceKeys() throws -> DeviceKeys? {
        guard !self.senders.isEmpty else { return nil }
        // Damaged keys count as missing.
        return try self.secrets.read(Self.keysName).flatMap { try? DeviceKeys(stored: $0) }
    }

    /// Exchanges a password for a token, and stores only the token.
    func signIn(_ name: String, _ password: String) async throws -> PushClient? {
        // After a reinstallation the folder lacks the ids of the messages that these keys have
        // opened, so the server could deliver them again.
        if !FileManager.default.fileExists(atPath: self.folder.path) {
            try self.secrets.write(nil, as: Self.keysName)
        }
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let session = try await self.client(.challenged(username: name, password: password)).signIn()
        // If the app ends before all values are stored, there is no client, and the user signs in
        // again. Otherwise a client could have values of two users.
        try self.secrets.write(nil, as: "token")
        let hasNewKeys = try self.makeDeviceKeys(for: session.account)
        try self.secrets.write(Data(name.utf8), as: "account")
        try self.secrets.write(Data(session.token.utf8), as: "token")
        let client = try self.client()
        // The next registration is then a new one, which gives the new keys to the server. If this
        // call fails, the registration reports the new keys as replaced, and the app sets them.
        if hasNewKeys { try? await client?.unregister() }
        return client
    }

    /// Signs out, and removes all stored data, with or without a network. The token is removed
    /// first, so that no extension can create a client with it.
    func signOut(_ client: PushClient) async throws {
        try self.secrets.write(nil, as: "token")
        // Signing out also deletes the ids of opened messages: the next session needs new keys.
        try self.secrets.write(nil, as: Self.keysName)
        try await client.signOut()
    }

    /// Completes sign-outs that the server does not know yet.
    func finishSignOuts() async throws {
        try await PushClient.finishSignOuts(server: self.server, options: self.options, store: self.store())
    }

    private static let keysName = "device keys"

    /// Makes the keys of this device, and returns whether it did. The device may have keys of the
    /// account, because a session has ended without a sign-out.
    private func makeDeviceKeys(for account: String?) throws -> Bool {
        guard !self.senders.isEmpty, let account, try self.deviceKeys()?.key.account != account else { return false }
        #if canImport(Security)
            let keys = try DeviceKeys(inSecureEnclaveFor: account)
        #else
            let keys = try DeviceKeys(account: account)
        #endif
        try self.secrets.write(keys.stored, as: Self.keysName)
        return true
    }

    private func client(_ credentials: PushClient.Credentials, _ deviceKey: DeviceKey? = nil) throws -> PushClient {
        var options = self.options
        options.deviceKey = deviceKey
        return try PushClient(server: self.server, credentials: credentials, options: options, store: self.store())
    }

    private func store() throws -> PushClient.Store {
        .folder(self.folder, key: try self.secrets.storeKey())
    }
}
