internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// What a handler knows of the request that it answers.
struct RequestContext {
    let request: Request
    /// The same in the answer, in the log and in the audit.
    let id: RequestID
    /// `nil` only where anybody may call.
    let caller: Caller?
    /// What stands in the path where the route has `{id}`.
    let parameter: String
    /// Of the connection's loop.
    let reader: any StoreReader
    /// In whole milliseconds, as the database keeps times.
    let now: Date

    /// Throws an `unauthorized` problem where nobody has signed in.
    var known: Caller {
        get throws(Problem) {
            guard let caller else { throw Problem(.unauthorized) }
            return caller
        }
    }

    /// The calling user. Throws as `known` does.
    var user: User {
        get throws(Problem) { try self.known.user }
    }

    /// The token that the caller has shown; `nil` if it was a password. Throws as `known` does.
    var token: TokenGrant? {
        get throws(Problem) { try self.known.token }
    }

    /// What the caller did, for the audit.
    func record(_ action: AuditRecord.Action, of subject: String, detail: String = "") throws(Problem) -> AuditRecord {
        let actor = AuditRecord.Actor(
            name: try self.user.name,
            token: try self.token?.prefix,
            client: self.request.client.description,
            request: self.id.description
        )
        return AuditRecord(action, of: subject, detail: detail, by: actor, at: self.now)
    }
}
