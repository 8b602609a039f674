internal import Bytes
internal import CurlHTTP

/// The notification that Safari shows if the page's worker does not replace it: the declarative
/// push message of the W3C Push API. It contains fixed texts from the configuration, and the
/// notification's id.
package struct WebPushPlaceholder: Sendable, Hashable {
    /// The longest `page`, in bytes.
    package static let longestPage = 500

    private let page: String
    private let title: String
    private let body: String

    /// `page` is the page that a click opens; `{id}` in it stands for the notification's id.
    /// Without a `title`, the title is the page's host. Throws unless `page` is an https URL.
    package init(page: String, title: String? = nil, body: String? = nil) throws(SenderSettingsError) {
        func fault(_ expected: String) -> SenderSettingsError { .badValue(field: "page", expected: expected) }
        guard page.utf8.count <= Self.longestPage else {
            throw fault("at most \(Self.longestPage) bytes long, and has \(page.utf8.count)")
        }
        guard page.utf8.allSatisfy(\.isVisible) else { throw fault("ASCII without blanks; use escapes such as %20") }
        let address = Self.page(page, id: "0").prefix { $0 != "#" }
        guard let url = OutboundURL(String(address)) else { throw fault("an https URL with a host") }
        guard url.isSecure else { throw fault("an https URL, and not http") }
        self.page = page
        self.title = title ?? url.host
        self.body = body ?? "New message. Open to read."
    }

    /// A message with `members` for the worker. Safari before 18.4 gives the worker the whole
    /// message; later versions give it only `data`. `mutable` occurs twice: the standard puts it
    /// next to `notification`, but WebKit has read it inside `notification`.
    func message(id: String, members: String) -> String {
        let notification = [
            "\"title\":\(JSONText.quoted(self.title))", "\"body\":\(JSONText.quoted(self.body))",
            "\"navigate\":\(JSONText.quoted(Self.page(self.page, id: id)))", "\"tag\":\"sealpost \(id)\"",
            "\"mutable\":true", "\"data\":{\(members)}",
        ].joined(separator: ",")
        return "{\(members),\"web_push\":8030,\"mutable\":true,\"notification\":{\(notification)}}"
    }

    private static func page(_ page: String, id: String) -> String {
        page.replacing("{id}", with: id)
    }
}
