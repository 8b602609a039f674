package import CurlHTTP
package import PushCore

/// The settings of the WNS sender.
package struct WNSSettings: Sendable {
    /// The id of the app registration in Microsoft Entra, or the SID of the app's package.
    package var clientID: String
    package var clientSecret: Secret<String>
    package var tokenEndpoint: String
    /// The scope of the access token.
    package var scope: String
    package var content: WNSContent
    /// Hosts that a device may name in its channel; see `HostPattern`.
    package var allowedHosts: [String]
    /// The addresses that the names of the allowed hosts may resolve to.
    package var addresses: AddressPolicy
    package var connection: ConnectionSettings

    package init(
        clientID: String,
        clientSecret: Secret<String>,
        tokenEndpoint: String,
        scope: String = Self.entraScope,
        content: WNSContent = .raw,
        allowedHosts: [String] = ["*.notify.windows.com"],
        addresses: AddressPolicy = .globalOnly,
        // Several connections are needed, because without HTTP/2, which WNS does not guarantee, a
        // connection carries only one push at a time.
        connection: ConnectionSettings = ConnectionSettings(connections: 8)
    ) {
        self.clientID = clientID
        self.clientSecret = clientSecret
        self.tokenEndpoint = tokenEndpoint
        self.scope = scope
        self.content = content
        self.allowedHosts = allowedHosts
        self.addresses = addresses
        self.connection = connection
    }

    /// The OAuth scope for channels of apps that are registered in Microsoft Entra (Windows App
    /// SDK).
    package static let entraScope = "https://wns.windows.com/.default"
    /// The OAuth scope for channels of apps that are registered in Partner Center (UWP).
    package static let storeScope = "notify.windows.com"
    /// Microsoft's token endpoint for apps that are registered in Partner Center.
    package static let storeTokenEndpoint = "https://login.live.com/accesstoken.srf"

    /// Microsoft's token endpoint for a tenant.
    package static func entraTokenEndpoint(tenantID: String) -> String {
        "https://login.microsoftonline.com/\(tenantID)/oauth2/v2.0/token"
    }
}
