import PushSimulators
import SocketTLS

extension TLSIdentity {
    init(_ identity: TestAuthority.Identity) throws {
        try self.init(certificates: identity.certificate, privateKey: identity.privateKey)
    }
}
