internal import PushCore

/// The rules about actions of a user on another user.
extension User {
    /// Whether the user may know that another user exists. Administrators know all users; other
    /// users know only the users who share an app with them.
    func maySee(_ other: User) -> Bool {
        self.role == .admin || !self.apps.isDisjoint(with: other.apps)
    }

    /// Whether the user may read and set the tags of another user, and enrol that user's devices.
    ///
    /// Tags and sessions apply to the whole account, so they give access to all of its apps. A
    /// publisher must therefore belong to all of these apps. A publisher can manage only users
    /// with the role `device`, and so cannot manage itself.
    func mayManage(_ other: User) -> Bool {
        self.role == .admin || other.role == .device && other.apps.isSubset(of: self.apps)
    }
}
