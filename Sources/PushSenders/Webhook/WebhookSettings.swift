package import PushCore

/// The settings of the webhook sender.
package struct WebhookSettings: Sendable {
    /// The https URL that every push is posted to.
    package var url: String
    /// The content of the file with the secrets, one a line.
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
