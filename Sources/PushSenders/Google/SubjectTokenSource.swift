internal import Bytes
internal import CurlHTTP
internal import Foundation
internal import Glibc
internal import PushCore

/// The source of the token that another identity provider issues to this server: a file that the
/// platform renews, or a URL. The token is read again for each exchange.
struct SubjectTokenSource: Sendable {
    /// The maximum number of bytes of the file; tokens have a few kilobytes.
    private static let largestFile = 65_536
    private static let mostHeaders = 20

    enum Place: Sendable, Hashable {
        case file(String)
        case url(OutboundURL, [OutboundRequest.Header])
    }

    enum Format: Sendable, Hashable {
        case text
        /// The token is the member with this name.
        case json(field: String)
    }

    let place: Place
    let format: Format

    struct File: Decodable {
        struct Format: Decodable {
            let type: String?
            let field: String?

            private enum CodingKeys: String, CodingKey {
                case type
                case field = "subject_token_field_name"
            }
        }

        /// A member of which only the presence matters, not the value.
        struct Presence: Decodable {
            init(from decoder: any Decoder) {}
        }

        let file: String?
        let url: String?
        let headers: [String: String]?
        let format: Format?
        let executable: Presence?
        let certificate: Presence?
        let environment: Presence?

        private enum CodingKeys: String, CodingKey {
            case file, url, headers, format, executable, certificate
            case environment = "environment_id"
        }
    }

    init(_ file: File, hosts: ExternalAccount.Hosts) throws(SenderSettingsError) {
        if file.executable != nil {
            throw Self.unsupported("executable", "left out: Sealpost starts no other programs; let it write a file")
        }
        if file.certificate != nil {
            throw Self.unsupported("certificate", "left out: certificates are not supported; use a file or a url")
        }
        if file.environment != nil {
            throw Self.unsupported("environment_id", "left out: AWS is not supported; use a file or a url")
        }
        switch (file.file, file.url) {
        case (let path?, nil) where !path.isEmpty: self.place = .file(path)
        case (nil, let text?): self.place = .url(try Self.url(text, hosts), try Self.headers(file.headers ?? [:]))
        default: throw .badValue(field: "credential_source", expected: "one with either a file or a url")
        }
        switch (file.format?.type ?? "text", file.format?.field) {
        case ("text", _): self.format = .text
        case ("json", let field?): self.format = .json(field: field)
        case ("json", nil): throw .missingField("credential_source.format.subject_token_field_name")
        default: throw Self.unsupported("format.type", "text or json")
        }
    }

    /// Whether the URL is at a metadata address, which speaks plain HTTP and is never called
    /// through the proxy.
    var isMetadata: Bool {
        if case .url(let url, _) = self.place { MetadataServer.isAddress(url) } else { false }
    }

    /// Reads the token. If the token is at a URL, `client` calls that URL.
    func token(by client: HTTPClient, timeout: Duration, now: Date) async throws(SendFailure) -> Secret<String> {
        let bytes: [UInt8]
        switch self.place {
        case .file(let path): bytes = try Self.read(path)
        case .url(let url, let headers):
            let request = OutboundRequest(.get, url, headers: headers, timeout: timeout)
            let response = try await client.answer(to: request)
            guard response.status == 200 else { throw AccessToken.failure(response, now: now) }
            bytes = response.body
        }
        return try self.token(in: bytes)
    }

    func token(in bytes: [UInt8]) throws(SendFailure) -> Secret<String> {
        let text: String?
        switch self.format {
        case .text: text = String(decoding: bytes, as: UTF8.self)
        case .json(let field):
            // The error of a decoder might quote the token, so no error is passed on.
            // `JSONSerialization` is used, because other members may be of any type.
            let object = try? JSONSerialization.jsonObject(with: Data(bytes)) as? [String: Any]
            text = object?[field] as? String
        }
        let token = (text ?? "").trimmingCharacters(in: .whitespacesAndNewlines)
        guard !token.isEmpty, token.utf8.allSatisfy(\.isVisible) else {
            throw .misconfigured(reason: "the source has no token")
        }
        return Secret(token)
    }

    // MARK: - Private

    /// The read is short and local, so it does not need a thread of its own.
    private static func read(_ path: String) throws(SendFailure) -> [UInt8] {
        // `O_NONBLOCK`, because opening a pipe without a writer would block.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw .misconfigured(reason: String(cString: strerror(errno))) }
        defer { _ = close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: self.largestFile + 1)
        var count = 0
        while count < bytes.count {
            let more = bytes.withUnsafeMutableBytes { buffer in
                Glibc.read(descriptor, buffer.baseAddress.map { $0 + count }, buffer.count - count)
            }
            guard more >= 0 else { throw .misconfigured(reason: String(cString: strerror(errno))) }
            if more == 0 { break }
            count += more
        }
        guard count <= self.largestFile else { throw .misconfigured(reason: "the file is too large") }
        return Array(bytes[..<count])
    }

    private static func url(_ text: String, _ hosts: ExternalAccount.Hosts) throws(SenderSettingsError) -> OutboundURL {
        if let url = OutboundURL(text), MetadataServer.isAddress(url) { return url }
        return try hosts.url(text, field: "credential_source.url")
    }

    private static func headers(_ named: [String: String]) throws(SenderSettingsError) -> [OutboundRequest.Header] {
        let headers = named.sorted { $0.key < $1.key }.map { OutboundRequest.Header($0.key, $0.value) }
        let areGood = headers.allSatisfy { header in
            !header.name.isEmpty && header.name.utf8.allSatisfy { $0.isLetterOrDigit || "-_".utf8.contains($0) }
                && header.value.utf8.allSatisfy(\.isPrintable)
        }
        guard areGood, headers.count <= self.mostHeaders else {
            throw self.unsupported("headers", "at most \(self.mostHeaders) fields of a request")
        }
        return headers
    }

    private static func unsupported(_ field: String, _ expected: String) -> SenderSettingsError {
        .badValue(field: "credential_source.\(field)", expected: expected)
    }
}
