internal import PushCore

/// What a push to Windows carries beside its id.
package enum WNSContent: Sendable, Hashable {
    /// The id alone, for the app or its background task; Windows shows nothing.
    case raw
    /// A toast of a constant text, which Windows shows by itself; a click starts the app with `secureId=<id>`.
    case toast(text: String)

    /// The value of `X-WNS-Type`.
    var type: String {
        switch self {
        case .raw: "wns/raw"
        case .toast: "wns/toast"
        }
    }

    /// The value of `Content-Type`, which WNS requires for the type.
    var mediaType: String {
        switch self {
        case .raw: "application/octet-stream"
        case .toast: "text/xml"
        }
    }

    func body(of push: Push) -> String {
        switch self {
        case .raw: push.notification.description
        case .toast(let text):
            "<toast launch=\"secureId=\(push.notification)\"><visual><binding template=\"ToastGeneric\">"
                + "<text>\(Self.escaped(text))</text></binding></visual></toast>"
        }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
