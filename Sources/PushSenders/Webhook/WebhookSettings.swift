package import PushCore

/// What the webhook sender needs to know.
package struct WebhookSettings: Sendable {
    /// Where everything is posted to, https.
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
