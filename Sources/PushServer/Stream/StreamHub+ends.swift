internal import PushCore
internal import PushStore

extension StreamHub {
    /// Has the streams of those find out who may go on whose credentials another process has ended.
    func question(about ends: [CredentialLease.End]) {
        if ends.contains(.everything) { return self.question(user: nil) }
        for end in ends {
            switch end {
            case .everything: break
            case .user(let user), .token(_, let user): self.question(user: user)
            }
        }
    }
}
