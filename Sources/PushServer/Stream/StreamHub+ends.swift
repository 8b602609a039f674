internal import PushCore

extension StreamHub {
    /// Informs the event streams of users whose credentials another server has ended. These
    /// streams then check again whether they may continue.
    func revalidate(about ends: [CredentialLease.End]) {
        if ends.contains(.everything) { return self.revalidate(user: nil) }
        for end in ends {
            switch end {
            case .everything: break
            case .user(let user), .token(_, let user): self.revalidate(user: user)
            }
        }
    }
}
