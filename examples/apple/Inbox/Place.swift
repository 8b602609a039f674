import Foundation
import PushClient

/// The data that the app and its extension share: the server, a folder, and the account that is
/// signed in.
struct Place: Sendable {
    let server: URL
    var options: PushClient.Options
    let folder: URL
    let secrets: any Secrets

    /// The client of the account that is signed in; `nil` if nobody is signed in.
    func client() throws -> PushClient? {
        // If the app was uninstalled, the keychain still has its secrets, but the folder is gone.
        guard FileManager.default.fileExists(atPath: self.folder.path) else { return nil }
        guard let account = try self.secrets.text("account"), let token = try self.secrets.text("token")
        else { return nil }
        return try self.client(.token(token, account: account))
    }

    /// Exchanges a password for a token, and stores only the token.
    func signIn(_ name: String, _ password: String) async throws -> PushClient? {
        try FileManager.default.createDirectory(at: self.folder, withIntermediateDirectories: true)
        let session = try await self.client(.challenged(username: name, password: password)).signIn()
        try self.secrets.write(Data(session.token.utf8), as: "token")
        try self.secrets.write(Data(name.utf8), as: "account")
        return try self.client()
    }

    /// Signs out, and removes all stored data, with or without a network. The token is removed
    /// first, so that no extension can create a client with it.
    func signOut(_ client: PushClient) async throws {
        try self.secrets.write(nil, as: "token")
        try await client.signOut()
    }

    /// Completes sign-outs that the server does not know yet.
    func finishSignOuts() async throws {
        try await PushClient.finishSignOuts(server: self.server, options: self.options, store: self.store())
    }

    private func client(_ credentials: PushClient.Credentials) throws -> PushClient {
        try PushClient(server: self.server, credentials: credentials, options: self.options, store: self.store())
    }

    private func store() throws -> PushClient.Store {
        .folder(self.folder, key: try self.secrets.storeKey())
    }
}
