internal import Foundation
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// A request and its context, for the handler that answers it. It is a class, so that functions
/// which pass it on copy only a reference.
final class RequestContext {
    let request: Request
    /// The request's id, which is also in the answer, in the log and in the audit.
    let id: RequestID
    /// The caller; `nil` only on routes that anybody may call.
    let caller: Caller?
    /// The place in the request's path of the segment that stands for the route's `{id}`.
    private let place: Range<Int>
    /// The store's reader for the event loop of the connection.
    let reader: any StoreReader
    /// The time of the request, in whole milliseconds, as the database stores times.
    let now: Date
    /// Whether the client wants an error if the request has a parameter or a member that the route
    /// does not know.
    let isStrict: Bool

    init(
        request: Request,
        id: RequestID,
        caller: Caller?,
        parameter place: Range<Int>,
        reader: any StoreReader,
        now: Date,
        isStrict: Bool
    ) {
        self.request = request
        self.id = id
        self.caller = caller
        self.place = place
        self.reader = reader
        self.now = now
        self.isStrict = isStrict
    }

    /// The segment of the request's path that stands for the route's `{id}`. It is decoded; empty
    /// if it is not percent-encoded UTF-8.
    var parameter: String {
        self.withParameter { parameter in
            let text = String(decoding: parameter, as: UTF8.self)
            return parameter.contains(UInt8(ascii: "%")) ? text.removingPercentEncoding ?? "" : text
        }
    }

    /// Calls `read` with the bytes of the parameter, which may be percent-encoded.
    func withParameter<Value>(_ read: (UnsafeBufferPointer<UInt8>) -> Value) -> Value {
        self.request.head.withPath { read(UnsafeBufferPointer(rebasing: $0[self.place])) }
    }

    /// The caller. Throws an `unauthorized` problem if there is none.
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

    /// The caller's token; `nil` if the caller signed in without a token. Throws as `known` does.
    var token: TokenGrant? {
        get throws(Problem) { try self.known.token }
    }

    /// The scopes of the caller's token; `nil` if there is no token, so that the caller has all
    /// scopes of the role. Throws as `known` does.
    var scopes: Scopes? {
        get throws(Problem) { try self.known.scopes }
    }

    /// The members of the body. All of them are optional, so an empty body has none. Throws the
    /// problems that `JSONBody` throws.
    func optionalBody() async throws -> JSONBody {
        let bytes = try await self.request.body.collect()
        return try bytes.isEmpty ? JSONBody(.object([])) : JSONBody(bytes)
    }

    /// An audit record of the caller's action. Throws as `known` does.
    func record(_ action: AuditRecord.Action, of subject: String, detail: String = "") throws(Problem) -> AuditRecord {
        AuditRecord(action, of: subject, detail: detail, by: try self.actor, at: self.now)
    }

    /// The caller as the audit names it. Throws as `known` does.
    var actor: AuditRecord.Actor {
        get throws(Problem) {
            AuditRecord.Actor(
                name: try self.user.name,
                token: try self.token?.prefix,
                client: self.request.client.description,
                request: self.id.stored
            )
        }
    }
}
