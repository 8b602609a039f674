internal import PushAPI
internal import PushCore
internal import PushStore

extension RequestContext {
    /// The user whom the path names, if the caller may manage this user.
    ///
    /// Throws a `not-found` problem for an unknown name, and also for a user outside of the
    /// caller's apps. Throws a `forbidden` problem for a user of the caller's apps whom the caller
    /// must not manage.
    func managedUser() async throws -> User {
        let caller = try self.user
        guard let name = Username(self.parameter), let user = try await self.reader.user(named: name),
            caller.maySee(user)
        else { throw Problem(.notFound) }
        guard caller.mayManage(user) else {
            throw Problem(
                .forbidden,
                "a publisher may manage only users with the role device, and only if it has all of their apps"
            )
        }
        return user
    }
}
