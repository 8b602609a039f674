import Foundation
import PushClient

/// What the app and its extension have in common: the server, a folder, and who is signed in.
struct Place: Sendable {
    let server: URL
    var options: PushClient.Options
    let folder: URL
    let secrets: any Secrets

    /// The client of the account that is signed in; `nil` if none is.
    func client() throws -> PushClient? {
        guard let account = try self.secrets.text("account"), let token = try self.secrets.text("token")
        else { return nil }
        return try self.client(.token(token, account: account))
    }

    /// Exchanges a password for a token, which is all that is remembered of it.
    func signIn(_ name: String, _ password: String) async throws -> PushClient? {
        let session = try await self.client(.challenged(username: name, password: password)).signIn()
        try self.secrets.write(Data(session.token.utf8), as: "token")
        try self.secrets.write(Data(name.utf8), as: "account")
        return try self.client()
    }

    /// Removes all that is kept, with or without a network. The token goes first, so that no
    /// extension begins anew with it.
    func signOut(_ client: PushClient) async throws {
        try self.secrets.write(nil, as: "token")
        try await client.signOut()
    }

    /// Tells the server of sign-outs that it has not heard of yet.
    func finishSignOuts() async throws {
        try await PushClient.finishSignOuts(server: self.server, options: self.options, store: self.store())
    }

    private func client(_ credentials: PushClient.Credentials) throws -> PushClient {
        try PushClient(server: self.server, credentials: credentials, options: self.options, store: self.store())
    }

    private func store() throws -> AnswerStore {
        .folder(self.folder, key: try self.secrets.storeKey())
    }
}
