import PushCore
import Synchronization

/// The files whose changes take effect without a signal: certificates and credentials.
///
/// The keyring and the signing keys are not watched, since no server may use a new key before the
/// operator has copied it to all servers. `sealpost` has commands that change these keys.
final class WatchedFiles: Sendable {
    /// A part of the server that reads some of the files.
    enum Reader: Hashable, Sendable {
        case certificates
        case sender(Platform)
        case eventWebhook
    }

    private let paths: [Reader: [String]]
    // A lock protects this property, because a signal may come at any time.
    private let watch: Mutex<FileWatch<Reader>>

    /// Stores the files' present properties. Create this object before any file is read, so that
    /// it notices later changes.
    init(_ configuration: Configuration) {
        var paths: [Reader: [String]] = [:]
        if let tls = configuration.tls { paths[.certificates] = tls.files }
        for (name, sender) in configuration.senders where !sender.credentialFiles.isEmpty {
            paths[.sender(name)] = sender.credentialFiles
        }
        if let webhook = configuration.events.webhook { paths[.eventWebhook] = [webhook.secretFile] }
        self.paths = paths
        self.watch = Mutex(FileWatch(Self.marks(of: paths)))
    }

    /// Whether no file is watched.
    var isEmpty: Bool { self.paths.isEmpty }

    /// Checks all files; returns the readers that must now read their files again. Blocks.
    func findChanges() -> Set<Reader> {
        let marks = Self.marks(of: self.paths)
        return self.watch.withLock { $0.findChanges(marks) }
    }

    /// Records that all readers are now reading their files. Blocks.
    func recordRead() {
        let marks = Self.marks(of: self.paths)
        self.watch.withLock { $0.recordRead(marks) }
    }

    private static func marks(of paths: [Reader: [String]]) -> [Reader: [FileMark?]] {
        paths.mapValues { $0.map { FileMark(of: $0) } }
    }
}

extension Configuration.TLS {
    fileprivate var files: [String] {
        let identities = [self.identity] + self.additional
        return identities.flatMap { [$0.certificate, $0.privateKey] }
            + [self.clientCA, self.clientCRL].compactMap(\.self)
    }
}

extension SenderConfiguration {
    /// The files with credentials that a reload reads again.
    fileprivate var credentialFiles: [String] {
        switch self {
        case .apns(let apns): [apns.keyFile, apns.sandbox?.keyFile].compactMap(\.self)
        case .fcm(let fcm):
            switch fcm.credentials {
            case .file(let file): [file]
            case .metadata: []
            }
        case .wns(let wns): [wns.clientSecretFile]
        case .webhook(let webhook): [webhook.secretFile]
        // The key of Web Push is not reloaded: another key would invalidate every subscription.
        case .webPush, .stream: []
        }
    }
}
