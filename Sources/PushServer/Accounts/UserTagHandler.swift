internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Gives tags to users. A notification for a user's tag goes to all devices of the users who have
/// the tag, and these users may read it.
struct UserTagHandler: Handler {
    let store: any AccountStore

    var routes: [Route] {
        [
            Route(.get, Paths.userTags("{id}"), .atLeast(.publisher, .manage)) { try await self.showTags($0) },
            Route(.put, Paths.userTags("{id}"), .atLeast(.publisher, .manage), body: ["Tags"]) {
                try await self.setTags($0)
            },
        ]
    }

    private func showTags(_ context: RequestContext) async throws -> Response {
        let user = try await context.managedUser()
        guard let tags = try await context.reader.tags(ofUser: user.name) else { throw Problem(.notFound) }
        return Response(uncached: .object([.init("Tags", .array(tags.map { .string($0.description) }))]))
    }

    /// Replaces all tags of the user.
    private func setTags(_ context: RequestContext) async throws -> Response {
        let body = try JSONBody(try await context.request.body.collect())
        guard body.value("Tags") != nil else { throw Problem(.invalidMember, "Tags is missing") }
        let tags = try Set<Tag>(body, atMost: Tag.maximumPerUser) { tag throws(Problem) in
            guard !tag.isReserved else {
                throw Problem(.invalidMember, "Tags has an element that only the server may assign: \(tag)")
            }
        }
        let user = try await context.managedUser()
        let isSet = try await self.store.setTags(
            tags,
            ofUser: user.name,
            // An administrator may manage every user, so the change needs no condition. For other
            // callers, the change fails if the user's rights are no longer those that
            // `managedUser` has checked.
            ifStill: context.user.role == .admin ? nil : user.rights,
            by: context.record(.setTags, of: user.name.description)
        )
        guard isSet else { throw Problem(.notFound) }
        return .noContent
    }
}
