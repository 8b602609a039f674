/// Keys that only earlier versions had; docs/upgrade.md lists them.
enum RemovedKey {
    static let hint = "it is a key of an earlier version; docs/upgrade.md says what to do"

    private static let paths: Set<[String]> = [
        ["keyring"], ["signing"], ["dayKeys"], ["timeline"], ["delivery"], ["server", "limits", "headerCount"],
        ["server", "limits", "handshakeTimeout"], ["server", "limits", "handlerTimeout"],
        ["server", "limits", "requestsPerConnection"], ["notifications", "idBits"], ["cache", "listMaxAge"],
        ["passwords", "lanes"], ["signIn", "oidc", "leeway"], ["signIn", "oidc", "keys"],
    ]

    static func isOne(_ path: [String]) -> Bool {
        self.paths.contains(path) || path.count > 2 && path.contains("senders") && path.last == "streams"
    }

    /// Whether the variable sets a key of an earlier version, or a key below such a key.
    static func isOne(variable: String) -> Bool {
        self.paths.contains { path in
            let name = ConfigurationSource.variable(path)
            return variable == name || variable.hasPrefix(name + "_")
        } || variable.contains("SENDERS_") && variable.hasSuffix("_STREAMS")
    }
}
