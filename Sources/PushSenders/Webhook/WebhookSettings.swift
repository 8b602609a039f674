package import PushCore

/// The settings of the webhook sender.
package struct WebhookSettings: Sendable {
    /// The https URL to which every push is posted.
    package var url: String
    /// The content of the file with the secrets, one secret on each line.
    package var secret: Secret<String>
    package var connection: ConnectionSettings

    package init(
        url: String,
        secret: Secret<String>,
        connection: ConnectionSettings = ConnectionSettings(connections: 4)
    ) {
        self.url = url
        self.secret = secret
        self.connection = connection
    }
}
