import PushClient
import Testing

/// Proxies that do harm: what can be seen of it with `curl`, and what a client must make of it.
struct Interferer: Sendable, CustomTestStringConvertible {
    /// What a phone asks its server for.
    enum Call: CaseIterable, Sendable {
        case notification, sync, markRead, markAllRead, register
    }

    /// By what a client tells its server's answers.
    enum Trust: CaseIterable, Sendable {
        case signatures, echo
    }

    /// What a client must find.
    enum Finding: Sendable {
        /// Nothing is wrong with this call.
        case truth
        /// Something is, and the client names it by one of these.
        case interference(Set<Interference.Kind>)
        /// Something is, and nobody can tell without signatures.
        case belief
    }

    /// What `curl` sees, which shows that the harm is really done.
    enum Sign: Sendable {
        /// The same answer to two requests, down to the daemon's id of the first.
        case repeats
        /// An answer with this status that the daemon has never given.
        case own(Int)
        /// Another text than the daemon's, in an answer that is complete.
        case otherText
        /// An answer that ends too early.
        case cut
        /// Without a field that the daemon has sent.
        case lacks(String)
        /// With these words in the fields.
        case shows(String)
    }

    let layers: [Site.Layer]
    let sign: Sign
    let findings: @Sendable (Call, Trust) -> Finding
    /// Whether the first answer is right, and the later ones are those of the first.
    let isCache: Bool
    /// Whether the harm begins when the daemon is gone.
    let needsNoDaemon: Bool
    let payload: String

    var testDescription: String {
        self.layers.map { layer in [layer.file ?? "", layer.how].filter { !$0.isEmpty }.joined(separator: " ") }
            .joined(separator: " before ")
    }

    /// The files are in `scripts/proxies`, each with its product's name; the first is the one that clients see.
    init(
        _ files: [String],
        how: String = "",
        sign: Sign,
        isCache: Bool = false,
        needsNoDaemon: Bool = false,
        payload: String = "a secret text",
        findings: @escaping @Sendable (Call, Trust) -> Finding
    ) {
        self.layers = files.map { file in
            guard let product = file.split(separator: "-").first.flatMap({ Site.Proxy(rawValue: String($0)) }) else {
                preconditionFailure("\(file) names no product")
            }
            return Site.Layer(proxy: product, file: "proxies/\(file)", how: how)
        }
        self.sign = sign
        self.findings = findings
        self.isCache = isCache
        self.needsNoDaemon = needsNoDaemon
        self.payload = payload
    }
}
