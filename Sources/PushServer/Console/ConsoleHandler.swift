internal import CResources
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import SocketHTTP

/// Serves the console, the page with which administrators operate the server. Its files are part
/// of the executable.
///
/// The page itself is not secret: it requests from the API, with the session of its user, all data
/// that it shows.
struct ConsoleHandler: Handler {
    private static let folder = "/console/"

    var routes: [Route] {
        // A person who opens the server's address in a browser looks for the console.
        ["/", "/console"].map { path in
            Route(.get, path, .anybody) { _ in
                Response(status: .permanentRedirect, fields: [.location: Self.folder, .cacheControl: "no-cache"])
            }
        } + [
            Route(.get, Self.folder, .anybody) { try self.show("index.html", $0) },
            Route(.get, Self.folder + "{id}", .anybody) { try self.show($0.parameter, $0) },
        ]
    }

    /// Answers with a file. Caches must ask each time whether the file has changed: after an
    /// update of the server, all files of the page must have the same version.
    private func show(_ name: String, _ context: RequestContext) throws -> Response {
        guard let file = ConsoleFile.all[name] else { throw Problem(.notFound) }
        var fields: ResponseFields = [.eTag: file.tag.description, .cacheControl: "no-cache"]
        if let list = context.request.head[.ifNoneMatch], file.tag.isNamed(by: list) {
            return Response(status: .notModified, fields: fields)
        }
        fields.append(contentsOf: Self.policy)
        fields.append(.contentType, file.type)
        return Response(status: .ok, fields: fields, body: file.bytes)
    }

    /// Allows scripts and styles of the page's own files only, and requests to its own server
    /// only. Forbids other pages to show the page in a frame, and forbids the page to turn texts
    /// into scripts or elements.
    private static let policy: ResponseFields = [
        .contentSecurityPolicy: """
        default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; \
        form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'
        """,
        .crossOriginOpenerPolicy: "same-origin",
    ]
}

/// A file of the console's page.
struct ConsoleFile: Sendable {
    let type: String
    let bytes: [UInt8]
    let tag: EntityTag

    private init(_ type: String, _ file: CResource) {
        self.type = type
        self.bytes = Array(file)
        self.tag = EntityTag(ofPublicFile: self.bytes)
    }

    private static let html = "text/html; charset=utf-8"
    private static let css = "text/css; charset=utf-8"
    private static let script = "text/javascript; charset=utf-8"
    private static let picture = "image/svg+xml"

    /// The page's files by their names.
    static let all: [String: ConsoleFile] = [
        "act.js": ConsoleFile(Self.script, act_js),
        "api.js": ConsoleFile(Self.script, api_js),
        "audit.js": ConsoleFile(Self.script, audit_js),
        "console.css": ConsoleFile(Self.css, console_css),
        "console.js": ConsoleFile(Self.script, console_js),
        "devices.js": ConsoleFile(Self.script, devices_js),
        "dom.js": ConsoleFile(Self.script, dom_js),
        "failures.js": ConsoleFile(Self.script, failures_js),
        "icon.svg": ConsoleFile(Self.picture, icon_svg),
        "index.html": ConsoleFile(Self.html, index_html),
        "lists.js": ConsoleFile(Self.script, lists_js),
        "notifications.js": ConsoleFile(Self.script, notifications_js),
        "overview.js": ConsoleFile(Self.script, overview_js),
        "plot.js": ConsoleFile(Self.script, plot_js),
        "tokens.js": ConsoleFile(Self.script, tokens_js),
        "users.js": ConsoleFile(Self.script, users_js),
        "words.js": ConsoleFile(Self.script, words_js),
    ]
}
