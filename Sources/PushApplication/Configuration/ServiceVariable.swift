import SocketHTTP

/// The variables that Kubernetes sets in each pod for a service, here for one whose name begins
/// with `sealpost`: <https://kubernetes.io/docs/tutorials/services/connect-applications-service/>.
enum ServiceVariable {
    /// Whether name and value have the form of one. A misspelt key does not have it.
    static func isOne(_ name: String, _ value: String) -> Bool {
        if name.wholeMatch(of: /\w+_SERVICE_HOST|\w+_PORT_\d+_(TCP|UDP|SCTP)_ADDR/) != nil {
            return IPAddress(value) != nil
        }
        if name.wholeMatch(of: /\w+_SERVICE_PORT(_\w+)?|\w+_PORT_\d+_(TCP|UDP|SCTP)_PORT/) != nil {
            return UInt16(value) != nil
        }
        if name.wholeMatch(of: /\w+_PORT_\d+_(TCP|UDP|SCTP)_PROTO/) != nil {
            return ["tcp", "udp", "sctp"].contains(value)
        }
        guard name.wholeMatch(of: /\w+_PORT(_\d+_(TCP|UDP|SCTP))?/) != nil else { return false }
        return value.wholeMatch(of: /(tcp|udp|sctp):\/\/\S+:\d+/) != nil
    }
}
