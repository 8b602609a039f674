package import PushCore

/// The settings of the APNs sender.
package struct APNsSettings: Sendable {
    /// The content of `AuthKey_….p8`.
    package var key: Secret<String>
    package var keyID: String
    package var teamID: String
    /// The app's bundle identifier, without the suffix that some types of pushes add, such as
    /// `.voip`.
    package var topic: String
    package var envelope: AppleEnvelope
    package var endpoint: String
    package var connection: ConnectionSettings
    /// The provider tokens, which all senders of the process share.
    package var tokens: APNsProviderTokens

    package init(
        key: Secret<String>,
        keyID: String,
        teamID: String,
        topic: String,
        envelope: AppleEnvelope,
        endpoint: String = "https://api.push.apple.com",
        connection: ConnectionSettings = ConnectionSettings(),
        tokens: APNsProviderTokens = APNsProviderTokens()
    ) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
        self.topic = topic
        self.envelope = envelope
        self.endpoint = endpoint
        self.connection = connection
        self.tokens = tokens
    }
}
