import PushClient
import Testing

/// A harmful proxy, with the harm that `curl` must observe and the verdict that a client must
/// give.
struct Interferer: Sendable, CustomTestStringConvertible {
    /// A request of a phone to its server.
    enum Call: CaseIterable, Sendable {
        case notification, sync, markRead, markAllRead, register
    }

    /// The means by which a client recognizes its server's answers.
    enum Trust: CaseIterable, Sendable {
        case signatures, echo
    }

    /// A client's expected verdict on an answer.
    enum Finding: Sendable {
        /// The client must accept the answer, because it is right.
        case truth
        /// The answer is wrong, and the client reports one of these kinds.
        case interference(Set<Interference.Kind>)
        /// The answer is wrong, and no client can notice without signatures.
        case belief
        /// There was no answer.
        case offline
    }

    /// What `curl` must observe as evidence that the proxy really does its harm.
    enum Sign: Sendable {
        /// Two requests get the same answer, with the id that the daemon gave to the first
        /// request.
        case repeats
        /// An answer with this status that the daemon has never sent.
        case own(Int)
        /// A complete answer whose text differs from the daemon's.
        case otherText
        /// An answer that ends too early.
        case cut
        /// An answer without a field that the daemon has sent.
        case lacks(String)
        /// An answer with these words in its fields.
        case shows(String)
        /// No evidence is needed, because the proxy itself checks that it changes the answer.
        case ofItself
    }

    let layers: [Site.Layer]
    let sign: Sign
    let findings: @Sendable (Call, Trust) -> Finding
    /// Whether the proxy passes on the right answer to the first request, and repeats it for later
    /// requests.
    let isCache: Bool
    /// Whether the proxy does its harm only while the daemon does not run.
    let needsNoDaemon: Bool
    let payload: String
    /// The deadline of a client's calls, if the answer has no end.
    let deadline: Duration?

    var testDescription: String {
        self.layers.map { layer in [layer.file ?? "", layer.how].filter { !$0.isEmpty }.joined(separator: " ") }
            .joined(separator: " before ")
    }

    /// The names of the files in `scripts/proxies` begin with the name of the proxy's product.
    /// Clients connect to the proxy of the first file.
    init(
        _ files: [String],
        how: String = "",
        sign: Sign,
        isCache: Bool = false,
        needsNoDaemon: Bool = false,
        payload: String = "a secret text",
        deadline: Duration? = nil,
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
        self.deadline = deadline
    }
}
