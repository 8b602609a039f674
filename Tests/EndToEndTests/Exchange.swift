import PushAPI
import PushClient
import Testing

/// An attack of a hostile proxy: it answers a client's request with the server's answer to another
/// request.
struct Exchange: Sendable {
    /// A call of a phone's client. Some calls occur twice: by clients with and without stored
    /// data.
    enum Call: CaseIterable, Sendable {
        case requestRegistration, register, unregister, notification, cachedNotification, sync, cachedInbox, send,
            markRead
        case markAllRead, dismiss, signIn, signOut

        /// Returns the method and the beginning of the path, by which the proxy recognizes the
        /// request.
        func request(_ id: Int64) -> (method: String, path: String) {
            switch self {
            case .requestRegistration: ("POST", Paths.register)
            case .register: ("PUT", Paths.registration(""))
            case .unregister: ("DELETE", Paths.registration(""))
            case .notification, .cachedNotification: ("GET", Paths.notification(id))
            case .sync, .cachedInbox: ("GET", Paths.notifications)
            case .send: ("POST", Paths.notifications)
            case .markRead: ("PATCH", Paths.notification(id))
            case .markAllRead: ("POST", Paths.readNotifications)
            case .dismiss: ("DELETE", Paths.notification(id))
            case .signIn: ("POST", Paths.sessions)
            case .signOut: ("DELETE", Paths.currentSession)
            }
        }
    }

    /// The request that the proxy sends to the server instead.
    struct Request: Sendable {
        let method: String
        let target: String
        var body = ""
    }

    /// The credentials with which the proxy sends `request`.
    enum Caller: String, CaseIterable, Sendable {
        case same, nobody
    }

    /// The signature that the proxy requests: the one that the client requests, or one that covers
    /// less.
    enum Demand: String, CaseIterable, Sendable {
        case asked, less
    }

    let call: Call
    let request: Request
    let caller: Caller
    let demand: Demand

    /// Returns the exchange as a line that the proxy reads.
    func line(_ id: Int64) -> String {
        let (method, path) = self.call.request(id)
        return [
            method, path, self.request.method, self.request.target, self.request.body, self.caller.rawValue,
            self.demand.rawValue,
        ].joined(separator: "\t")
    }

    /// Returns the exchanges in which a proxy answers the call with the answer to another request.
    /// Unless all proxies are installed, returns only some exchanges, all with the client's own
    /// credentials.
    static func all(of call: Call, _ id: Int64, registration: String) -> [Exchange] {
        let (method, path) = call.request(id)
        let target = call == .sync ? "\(path)?limit=500" : path
        // The list contains no exchange of a request with itself.
        var others = Self.requests(id, registration).filter { $0.method != method || $0.target != target }
        if !Site.hasAllProxies { others = Array(others.prefix(6)) }
        return (Site.hasAllProxies ? Caller.allCases : [.same]).flatMap { caller in
            Demand.allCases.flatMap { demand in
                others.map { Exchange(call: call, request: $0, caller: caller, demand: demand) }
            }
        }
    }

    /// Returns all requests that clients send, and those that anybody may send. Requests that
    /// hardly differ from a client's request come first.
    private static func requests(_ id: Int64, _ registration: String) -> [Request] {
        let path = Paths.notification(id)
        return [
            Request(method: "HEAD", target: "/healthz"),
            Request(method: "GET", target: "/nothing"),
            Request(method: "PATCH", target: path, body: #"{"Read":true}"#),
            Request(method: "GET", target: "\(path)?x"),
            Request(method: "GET", target: path),
            Request(method: "PUT", target: Paths.registration(registration), body: #"{"Platform":"stream"}"#),
            Request(method: "HEAD", target: path),
            Request(method: "GET", target: Paths.notification(1)),
            Request(method: "PATCH", target: Paths.notification(1), body: #"{"Read":true}"#),
            Request(method: "DELETE", target: Paths.notification(1)),
            Request(method: "GET", target: Paths.notifications),
            Request(method: "GET", target: "\(Paths.notifications)?limit=500"),
            Request(method: "GET", target: "\(Paths.notifications)?limit=500&unread=true"),
            Request(method: "POST", target: Paths.notifications, body: #""exchanged""#),
            Request(method: "POST", target: Paths.notifications, body: "{"),
            Request(method: "POST", target: Paths.readNotifications, body: #"{"Ids":[\#(id)]}"#),
            Request(method: "GET", target: Paths.register),
            Request(method: "POST", target: Paths.register),
            Request(method: "POST", target: "\(Paths.register)?handle=b"),
            Request(method: "DELETE", target: Paths.registration(registration)),
            Request(method: "POST", target: Paths.sessions),
            Request(method: "DELETE", target: Paths.currentSession),
            Request(method: "GET", target: Paths.users),
            Request(method: "GET", target: "/healthz"),
            Request(method: "GET", target: "/readyz"),
            Request(method: "PUT", target: "/readyz"),
            Request(method: "GET", target: Paths.signatureKeys),
            Request(method: "HEAD", target: Paths.openAPI),
            Request(method: "OPTIONS", target: "*"),
        ]
    }
}
