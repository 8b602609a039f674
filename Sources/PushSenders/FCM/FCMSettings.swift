/// The settings of the FCM sender.
package struct FCMSettings: Sendable {
    package var credentials: GoogleCredentials
    /// The id of the Firebase project. If it is `nil`, the project is the one that the key of the
    /// service account names; other credentials name no project.
    package var projectID: String?
    package var endpoint: String
    /// The endpoint for access tokens, if it is not Google's.
    package var tokenEndpoint: String?
    /// The hosts that a configuration of workload identity federation may name; see
    /// `HostPattern`.
    package var allowedHosts: [String]
    /// The form of pushes on Apple devices that have registered with FCM; `nil` if messages have
    /// no part for these devices, which then show nothing.
    package var apple: AppleEnvelope?
    package var android: AndroidContent
    package var connection: ConnectionSettings

    package init(
        credentials: GoogleCredentials,
        projectID: String? = nil,
        endpoint: String = "https://fcm.googleapis.com",
        tokenEndpoint: String? = nil,
        allowedHosts: [String] = Self.usualHosts,
        apple: AppleEnvelope? = nil,
        android: AndroidContent = .data,
        connection: ConnectionSettings = ConnectionSettings()
    ) {
        self.credentials = credentials
        self.projectID = projectID
        self.endpoint = endpoint
        self.tokenEndpoint = tokenEndpoint
        self.allowedHosts = allowedHosts
        self.apple = apple
        self.android = android
        self.connection = connection
    }

    /// The hosts of Google's own endpoints.
    package static let usualHosts = ["*.googleapis.com"]
}
