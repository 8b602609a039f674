import Foundation
import PushSimulators

/// The simulated providers. Their credentials are in files, in the form in which real providers
/// give them to operators.
struct Providers: Sendable {
    let apns: APNsSimulator
    /// The simulator of Apple's sandbox; `nil` if the sandbox is not simulated.
    let sandbox: APNsSimulator?
    let fcm: FCMSimulator
    let wns: WNSSimulator
    private let folder: String
    private let names: [String]

    static let allNames = ["apns", "fcm", "wns"]

    /// Makes the folder and, in it, new keys and certificates; then listens.
    ///
    /// The configuration names only the providers in `names` and, with `hasSandbox`, Apple's
    /// sandbox; only these run. `options` returns the options of the simulator with the given
    /// name. FCM's service account gets a new key, unless `serviceAccountKey` is given.
    init(
        folder: String,
        names: [String] = Self.allNames,
        hasSandbox: Bool = false,
        serviceAccountKey: SigningKey? = nil,
        options: (String) -> SimulatorOptions = { _ in SimulatorOptions() }
    ) throws {
        self.folder = folder
        self.names = names
        try FileManager.default.createDirectory(
            atPath: folder,
            withIntermediateDirectories: true,
            attributes: [.posixPermissions: 0o700]
        )
        let authority = try TestAuthority()
        self.apns = try APNsSimulator(authority: authority, options: options("apns"))
        self.sandbox =
            hasSandbox
            ? try APNsSimulator(sandboxOf: self.apns, authority: authority, options: options("apns-sandbox")) : nil
        self.fcm = try FCMSimulator(authority: authority, key: serviceAccountKey, options: options("fcm"))
        self.wns = try WNSSimulator(authority: authority, options: options("wns"))
        try authority.write(to: "\(folder)/ca.pem")
        for (name, text) in [
            ("AuthKey.p8", self.apns.credentials.privateKey), ("service-account.json", self.fcm.serviceAccount),
            ("wns.secret", self.wns.credentials.clientSecret),
        ] {
            try text.write(toFile: "\(folder)/\(name)", atomically: true, encoding: .utf8)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: "\(folder)/\(name)")
        }
    }

    /// The part `senders` of a configuration that uses these simulators.
    var yaml: String {
        let sandbox = self.sandbox.map { ", sandbox: {enabled: true, endpoint: \"\($0.endpoint)\"}" } ?? ""
        let entries = [
            "apns": """
              apns: {type: apns, keyFile: \(self.folder)/AuthKey.p8, keyID: "\(self.apns.credentials.keyID)",
                teamID: "\(self.apns.credentials.teamID)", topic: \(self.apns.credentials.topic),
                endpoint: "\(self.apns.endpoint)", caFile: \(self.folder)/ca.pem, envelope: background,
                backgroundInterval: 0\(sandbox)}

            """,
            "fcm": """
              fcm: {type: fcm, serviceAccount: \(self.folder)/service-account.json, endpoint: "\(self.fcm.endpoint)",
                tokenEndpoint: "\(self.fcm.tokenEndpoint)", caFile: \(self.folder)/ca.pem}

            """,
            "wns": """
              wns: {type: wns, tenantID: "\(self.wns.credentials.tenantID)", clientID: "\(self.wns.credentials.clientID)",
                clientSecretFile: \(self.folder)/wns.secret, tokenEndpoint: "\(self.wns.tokenEndpoint)",
                allowedHosts: ["localhost:\(self.wns.port)"], allowPrivateAddresses: true, caFile: \(self.folder)/ca.pem}

            """,
        ]
        return "senders:\n" + self.names.compactMap { entries[$0] }.joined()
    }

    /// Writes the senders to a file of the folder, and returns its path.
    func writeConfiguration() throws -> String {
        let file = "\(self.folder)/sealpost.yaml"
        try self.yaml.write(toFile: file, atomically: true, encoding: .utf8)
        return file
    }

    /// Runs the simulators until `body` returns.
    func whileRunning<Result: Sendable>(_ body: @Sendable () async throws -> Result) async throws -> Result {
        let all: [String: any PushSimulator] = ["apns": self.apns, "fcm": self.fcm, "wns": self.wns]
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for simulator in self.names.compactMap({ all[$0] }) { group.addTask { try await simulator.run() } }
            if let sandbox { group.addTask { try await sandbox.run() } }
            defer { group.cancelAll() }
            return try await body()
        }
    }
}
