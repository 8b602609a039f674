internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Lets a device join a topic or leave it without registering again: a topic is a tag that the
/// device gives itself.
struct TopicHandler: Handler {
    let store: any DeviceStore
    /// The tags that devices may give themselves.
    let tags: TagPolicy

    var routes: [Route] {
        [
            Route(.put, Paths.topic("{topic}", of: "{id}"), .atLeast(.device, .register)) { try await self.join($0) },
            Route(.delete, Paths.topic("{topic}", of: "{id}"), .atLeast(.device, .register)) {
                try await self.leave($0)
            },
        ]
    }

    private func join(_ context: RequestContext) async throws -> Response {
        let tag = try self.topic(context)
        guard self.tags.isOpen(tag) else {
            throw Problem(
                .invalidParameter,
                self.tags.isOpen
                    ? "the topic is reserved: \(tag)"
                    : "on this server only administrators and publishers assign tags, to users"
            )
        }
        return try await self.change(.join(tag), context)
    }

    /// Leaves a topic. A device can also leave a topic that the configuration has reserved after
    /// the device joined it.
    private func leave(_ context: RequestContext) async throws -> Response {
        try await self.change(.leave(try self.topic(context)), context)
    }

    private func change(_ change: TopicChange, _ context: RequestContext) async throws -> Response {
        guard let id = RegistrationID(context.parameter) else {
            throw Problem(.invalidParameter, "the registration id must be 1 to 128 letters, digits, -, _ or .")
        }
        let outcome = try await self.store.change(
            change,
            of: id,
            for: context.user,
            by: context.record(.registerDevice, of: id.description),
            now: context.now
        )
        switch outcome {
        case .done: return .noContent
        case .gone(let reason): throw Problem(.registrationGone, reason)
        case .unregistered: throw Problem(.notFound, "the device has not registered yet")
        case .tooMany:
            throw Problem(
                .invalidParameter,
                "a device can join at most \(Tag.maximumPerDevice) topics; leave one first"
            )
        }
    }

    private func topic(_ context: RequestContext) throws(Problem) -> Tag {
        guard let tag = Tag(Route.lastSegment(of: context.request.head.path)) else {
            throw Problem(.invalidParameter, "the topic is not \(Tag.rule)")
        }
        return tag
    }
}
