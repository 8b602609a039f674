import SocketHTTP

/// The variables that Kubernetes sets in each pod for a service. Here only services with names
/// that begin with `sealpost` matter, since their variables look like keys:
/// <https://kubernetes.io/docs/tutorials/services/connect-applications-service/>.
enum ServiceVariable {
    private static let protocols = ["TCP", "UDP", "SCTP"]

    /// Whether Kubernetes may have set the variable, such as `SEALPOST_SERVICE_HOST` with an
    /// address. The variable of a misspelt key does not have this form.
    static func isOne(_ name: String, _ value: String) -> Bool {
        if name.hasSuffix("_SERVICE_HOST") { return IPAddress(value) != nil }
        // If a service's port has a name, the variable ends with this name.
        if name.hasSuffix("_SERVICE_PORT") || name.contains("_SERVICE_PORT_") { return UInt16(value) != nil }
        var words = name.split(separator: "_").map(String.init)
        guard let last = words.popLast() else { return false }
        if last == "PORT", !self.endsInPort(words) { return self.isURL(value) }
        if self.endsInPort(words + [last]) { return self.isURL(value) }
        guard self.endsInPort(words) else { return false }
        switch last {
        case "PROTO": return self.protocols.contains(value.uppercased())
        case "PORT": return UInt16(value) != nil
        case "ADDR": return IPAddress(value) != nil
        default: return false
        }
    }

    /// Whether the last words are a port and its protocol, such as `PORT`, `8080`, `TCP`.
    private static func endsInPort(_ words: [String]) -> Bool {
        let end = Array(words.suffix(3))
        return end.count == 3 && end[0] == "PORT" && UInt16(end[1]) != nil && self.protocols.contains(end[2])
    }

    /// Whether the value is a protocol, an address and a port, such as `tcp://10.96.0.10:8080`.
    private static func isURL(_ value: String) -> Bool {
        let parts = value.split(separator: ":")
        guard parts.count > 2, let port = parts.last, self.protocols.contains(parts[0].uppercased()) else {
            return false
        }
        return parts[1].hasPrefix("//") && parts[1].count > 2 && UInt16(port) != nil
    }
}
