package import PushCore

/// What the FCM sender needs to know.
package struct FCMSettings: Sendable {
    /// The content of the service account's JSON file.
    package var serviceAccount: Secret<String>
    package var endpoint: String
    /// Where to get access tokens, if not from Google.
    package var tokenEndpoint: String?
    package var connection: ConnectionSettings

    package init(
        serviceAccount: Secret<String>,
        endpoint: String = "https://fcm.googleapis.com",
        tokenEndpoint: String? = nil,
        connection: ConnectionSettings = ConnectionSettings()
    ) {
        self.serviceAccount = serviceAccount
        self.endpoint = endpoint
        self.tokenEndpoint = tokenEndpoint
        self.connection = connection
    }
}
