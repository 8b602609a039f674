package import PushCore

/// The settings of the FCM sender.
package struct FCMSettings: Sendable {
    /// The content of the service account's JSON file.
    package var serviceAccount: Secret<String>
    package var endpoint: String
    /// The endpoint for access tokens, if it is not Google's.
    package var tokenEndpoint: String?
    /// The form of pushes on Apple devices that have registered with FCM; `nil`: the message has
    /// no part for them, and they show nothing.
    package var apple: AppleEnvelope?
    package var android: AndroidContent
    package var connection: ConnectionSettings

    package init(
        serviceAccount: Secret<String>,
        endpoint: String = "https://fcm.googleapis.com",
        tokenEndpoint: String? = nil,
        apple: AppleEnvelope? = nil,
        android: AndroidContent = .data,
        connection: ConnectionSettings = ConnectionSettings()
    ) {
        self.serviceAccount = serviceAccount
        self.endpoint = endpoint
        self.tokenEndpoint = tokenEndpoint
        self.apple = apple
        self.android = android
        self.connection = connection
    }
}
