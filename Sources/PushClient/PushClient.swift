public import Foundation

/// The API for a device: registers it, fetches in one request what the device missed, and marks,
/// dismisses and sends notifications.
///
/// Each request has a number of its own in the field `MyToken`. The client rejects an answer
/// without the echo of this number; with ``Signatures/pinned(_:)`` it also rejects answers without
/// a valid signature. The client caches accepted answers in a ``PushClient/Store``. When the
/// network fails or changes an answer, the client returns the cached answer with its date.
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
/// A client is cheap to pass around, and any number of calls may run at the same time. Calls throw
/// ``PushClientError`` and `CancellationError`.
public struct PushClient: Sendable {
    let api: APITransport
    let records: Records
    let inbox: InboxKeeper
    let server: URL
    let credentials: Credentials
    let options: Options
    /// The app that each request names; `nil` leaves the choice to the server. End-to-end payloads
    /// are bound to an app, so a client that opens them always names its app.
    let app: String?
    static let defaultApp = "default"
    /// The query that asks for the content keys that senders have encrypted for this device.
    let keyQuery: [URLQueryItem]
    let now: @Sendable () -> Date
    let isDeviceShared: Bool
    /// The time limit of a call.
    let deadline: Duration
    /// Makes the calls that register wait for each other. Two such calls at the same time would
    /// get two ids for one handle, and the server would end the registration of the first call.
    let registrationTurn = Turn()
    /// Whether this client has registered the device, or has asked the server whether the device's
    /// registration still exists.
    let isRegistrationChecked = Locked(false)

    /// Creates a client for one account at one server. The client stores one registration, that of
    /// this device.
    ///
    /// The server's URL may have a path, for example if one proxy forwards to several servers.
    /// Create the client when the app begins a session: the call reads a file of at most 64 KiB
    /// from the disk. After ``signOut()`` this client stores nothing; the account's next session
    /// needs a new client.
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
            // Each app of an account has an inbox and a registration of its own.
            account: options.app.map { "\(credentials.account)\n\($0)" } ?? credentials.account,
            isSigned: options.signatures != .unsigned
        )
        let own = OwnAccount(self.records.account, known: credentials.accountID, credentials: credentials)
        self.api = APITransport(server: server, credentials: credentials, options: options, own: own)
        self.inbox = InboxKeeper(self.records.account, own)
        self.app = options.app ?? (options.deviceKey == nil ? nil : Self.defaultApp)
        self.keyQuery = options.deviceKey.map { [URLQueryItem(name: "key", value: $0.id)] } ?? []
        self.now = options.now
        self.isDeviceShared = options.isDeviceShared
        self.deadline = options.deadline
    }

    /// Throws `PushClientError.signedOut` without credentials, and after a sign-out of the
    /// account.
    func checkSignedIn() throws { try self.api.checkSignedIn() }
}
