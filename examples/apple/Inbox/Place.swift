import Foundation
import PushClient

/// The common data of the app and its extension: the server, a folder, and the account that is
/// signed in.
struct Place: Sendable {
    let server: URL
    var options: PushClient.Options
    let folder: URL
    let secrets: any Secrets

    /// The client of the account that is signed in; `nil` without one.
    func client() throws -> PushClient? {
        // The keychain outlives an uninstalled app, and its folder does not.
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

    /// Removes all stored data, with or without a network. Removes the token first, so that no
    /// extension can start a new session with it.
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
