public import Foundation

/// A device's side of the API: register, fetch everything missed in one request, mark, dismiss,
/// send.
///
/// Each request carries a `MyToken` of its own, and the client rejects an answer that does not
/// echo it; with ``Signatures/pinned(_:)`` each answer must be signed, too. The client caches
/// answers that passed the checks in a ``PushClient/Store``, and returns them with their date when
/// the network fails or interferes.
///
/// ```swift
/// let options = PushClient.Options(signatures: .pinned([pinnedKey]))
/// let password = PushClient.Credentials.challenged(username: "alice", password: password)
/// let session = try await PushClient(server: url, credentials: password, options: options, store: store).signIn()
/// let client = PushClient(
///     server: url,
///     credentials: .token(session.token, account: "alice"),  // store the token, and discard the password
///     options: options,
///     store: store
/// )
/// try await client.register(platform: "apns", handle: deviceToken)
/// show(try await client.cachedInbox())  // at once, without network
/// show(try await client.sync().value)
/// ```
/// A client is cheap to pass around, and any number of calls may run at once. Calls throw
/// ``PushClientError``, `URLError` and `CancellationError`.
public struct PushClient: Sendable {
    let api: APITransport
    let records: Records
    let inbox: InboxKeeper
    let server: URL
    let credentials: Credentials
    let options: Options
    /// The app that requests name. End-to-end payloads are bound to their app, so for them the
    /// server must not choose it.
    let app: String?
    static let defaultApp = "default"
    /// The query that asks for this device's wrapped keys.
    let keyQuery: [URLQueryItem]
    let now: @Sendable () -> Date
    let isDeviceShared: Bool
    /// The time limit of a call.
    let deadline: Duration
    /// Serializes the calls that register: two at once would get two ids for one handle, and the
    /// server would end the first registration.
    let registrationTurn = Turn()
    /// Whether this client has registered the device, or has asked whether its registration still
    /// exists.
    let isRegistrationChecked = Locked(false)

    /// A client of one server for one account, on one device: its store has one registration.
    ///
    /// The server's URL may have a path, as behind a proxy that serves several servers. Create the
    /// client when the app begins a session. After ``signOut()`` this client stores nothing any
    /// more; the next session of the account needs another client.
    public init(
        server: URL,
        credentials: Credentials,
        options: Options,
        store: Store = .memory
    ) {
        self.server = server
        self.credentials = credentials
        self.options = options
        self.records = Records(
            store,
            server: Endpoint(server, signatureKeys: [])?.name ?? "",
            // Each app has an inbox and a registration of its own.
            account: options.app.map { "\(credentials.account)\n\($0)" } ?? credentials.account,
            isSigned: options.signatures != .unsigned
        )
        let own = OwnAccount(self.records.account, known: credentials.accountID)
        self.api = APITransport(server: server, credentials: credentials, options: options, own: own)
        self.inbox = InboxKeeper(self.records.account)
        self.app = options.app ?? (options.deviceKeyID == nil ? nil : Self.defaultApp)
        self.keyQuery = options.deviceKeyID.map { [URLQueryItem(name: "key", value: $0)] } ?? []
        self.now = options.now
        self.isDeviceShared = options.isDeviceShared
        self.deadline = options.deadline
    }
}
