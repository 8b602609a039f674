internal import Foundation
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Shows all stored data of one user, for a person who asks for it (articles 15 and 20 of the
/// GDPR).
struct LocalUserDataHandler: Handler {
    let store: any AuditStore & KeyStore
    let reports: ReportReader
    let accounts: AccountIDs
    let apps: Set<AppName>

    var routes: [Route] {
        [Route(.get, "\(LocalPaths.userData)/{id}", .atLeast(.admin, .manage)) { try await self.showData($0) }]
    }

    private func showData(_ context: RequestContext) async throws -> Response {
        guard
            let name = Username(context.parameter),
            let document = try await self.document(about: name, context.reader, now: context.now)
        else { throw Problem(.notFound) }
        try await self.store.record(context.record(.exportUser, of: document.user.name.description))
        return Response(
            status: .ok,
            fields: [.contentType: "application/json", .cacheControl: "no-store"],
            streamingBody: { writer in try await document.write { try await writer.write($0) } }
        )
    }

    /// The document about a user; `nil` if there is no user of that name.
    func document(about name: Username, _ reader: any StoreReader, now: Date) async throws -> UserDataDocument? {
        guard let user = try await reader.user(named: name), let entry = try await reader.userEntry(named: name)
        else { return nil }
        return UserDataDocument(
            user: user,
            entry: entry,
            account: self.accounts.id(ofUser: user.id),
            issued: try await reader.issuedAccount(of: user),
            reports: self.reports,
            vault: self.store.vault,
            apps: self.apps,
            now: now
        )
    }
}
