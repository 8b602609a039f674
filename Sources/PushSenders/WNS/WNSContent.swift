internal import PushCore

/// The content of a push to Windows, in addition to its id.
package enum WNSContent: Sendable, Hashable {
    /// Only the id, for the app or its background task; Windows shows nothing. If accounts share
    /// the channel, the content is `secureId=<id>&accountHint=<hint>`.
    case raw
    /// A toast with a fixed text from the configuration, which Windows shows by itself. A click
    /// starts the app with `secureId=<id>`, followed by `&accountHint=<hint>` if accounts share
    /// the channel.
    case toast(text: String)

    /// The content of a push. A raw push shows nothing, so an alert has no effect there.
    func form(of push: Push) -> WNSForm {
        switch self {
        case .raw:
            let body = push.accountHint == nil ? push.notification.description : Self.arguments(push)
            return WNSForm(type: "wns/raw", mediaType: "application/octet-stream", body: body)
        case .toast(let text):
            if let alert = push.alert, let badge = alert.badge, alert.isBadgeAlone {
                return WNSForm(type: "wns/badge", mediaType: "text/xml", body: "<badge value=\"\(badge)\"/>")
            }
            let body =
                "<toast launch=\"\(Self.escaped(Self.arguments(push)))\"><visual><binding template=\"ToastGeneric\">"
                + "<text>\(Self.escaped(push.alert?.toastText ?? text))</text></binding></visual></toast>"
            return WNSForm(type: "wns/toast", mediaType: "text/xml", body: body)
        }
    }

    private static func arguments(_ push: Push) -> String {
        "secureId=\(push.notification)" + (push.accountHint.map { "&accountHint=\($0)" } ?? "")
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}

/// A notification in the form that WNS requires.
struct WNSForm {
    /// The value of `X-WNS-Type`.
    let type: String
    /// The value of `Content-Type`, which WNS requires for the type.
    let mediaType: String
    let body: String
}
