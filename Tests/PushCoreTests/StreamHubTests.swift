import PushCore
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(5))) struct StreamHubTests {
    private let hub = StreamHub()
    private let device: DeviceHandle
    private let id: NotificationID

    init() throws {
        self.device = try #require(DeviceHandle("one"))
        self.id = try #require(NotificationID(rawValue: 7))
    }

    private func open(_ devices: DeviceHandle...) throws -> StreamSubscription {
        try #require(self.hub.open(devices, ofUser: 1))
    }

    /// Returns a stream that delivers the subscription's signals to its reader.
    private func bell(of subscription: StreamSubscription) -> AsyncStream<Void> {
        let (rings, ring) = AsyncStream.makeStream(of: Void.self)
        subscription.mailbox.attach { ring.yield() }
        return rings
    }

    private func events(of subscription: StreamSubscription, _ rings: AsyncStream<Void>) async -> [PendingEvent] {
        for await _ in rings {
            let events = subscription.mailbox.take().events
            if !events.isEmpty { return events }
        }
        return []
    }

    /// Reports success for all events of a stream, also for those that arrive later, until the
    /// task is cancelled.
    private func drain(_ subscription: StreamSubscription) -> Task<Void, Never> {
        let rings = self.bell(of: subscription)
        return Task {
            for await _ in rings {
                for event in subscription.mailbox.take().events { event.succeed() }
            }
        }
    }

    @Test func deviceWithoutAStreamIsAway() async throws {
        #expect(await self.hub.deliver(self.id, to: self.device) == .nobodyThere)
        let other = try #require(DeviceHandle("other"))
        let subscription = try self.open(other)
        #expect(await self.hub.deliver(self.id, to: self.device) == .nobodyThere)
        withExtendedLifetime(subscription) {}
    }

    @Test func pushIsDeliveredWhenItsReaderConfirms() async throws {
        let subscription = try self.open(self.device)
        let rings = self.bell(of: subscription)
        async let delivery = self.hub.deliver(self.id, to: self.device)
        let events = await self.events(of: subscription, rings)
        #expect(events.map(\.id) == [self.id])
        for event in events { event.succeed() }
        #expect(await delivery == .handedOver)
    }

    @Test func streamsOfOneUserAreRevalidatedOnceEach() throws {
        let (mine, others) = (try self.open(self.device), try #require(self.hub.open([self.device], ofUser: 2)))
        let rings = Mutex(0)
        mine.mailbox.attach { rings.withLock { $0 += 1 } }
        #expect(!mine.mailbox.take().needsRevalidation)
        self.hub.revalidate(user: 1)
        #expect(rings.withLock { $0 } == 2)
        #expect(!others.mailbox.take().needsRevalidation)
        #expect(mine.mailbox.take().needsRevalidation)
        #expect(!mine.mailbox.take().needsRevalidation)
        self.hub.revalidate(user: nil)
        #expect(mine.mailbox.take().needsRevalidation && others.mailbox.take().needsRevalidation)
    }

    @Test func theNewestStreamDecidesWhetherAPushIsDelivered() async throws {
        let first = try self.open(self.device)
        let second = try self.open(self.device)
        let (firstBell, secondBell) = (self.bell(of: first), self.bell(of: second))
        async let delivery = self.hub.deliver(self.id, to: self.device)
        for event in await self.events(of: first, firstBell) { event.fail() }
        for event in await self.events(of: second, secondBell) { event.succeed() }
        #expect(await delivery == .handedOver)
    }

    /// The old stream may be a dead connection, whose socket still accepts events.
    @Test func pushThatOnlyAnOldStreamHasAcceptedIsNotDelivered() async throws {
        var streams = [try self.open(self.device), try self.open(self.device)]
        let bell = self.bell(of: streams[0])
        async let delivery = self.hub.deliver(self.id, to: self.device)
        for event in await self.events(of: streams[0], bell) { event.succeed() }
        streams.removeAll()
        #expect(await delivery == .nobodyThere)
    }

    @Test func pushGoesToTheOlderStreamAgainIfTheNewestEnds() async throws {
        var streams = [try self.open(self.device), try self.open(self.device)]
        let bell = self.bell(of: streams[0])
        async let delivery = self.hub.deliver(self.id, to: self.device)
        for event in await self.events(of: streams[0], bell) { event.fail() }
        streams.removeLast()
        for event in await self.events(of: streams[0], bell) { event.succeed() }
        #expect(await delivery == .handedOver)
    }

    @Test func pushIsNotDeliveredIfItsStreamEnds() async throws {
        var subscription: StreamSubscription? = try self.open(self.device)
        let (rings, ring) = AsyncStream.makeStream(of: Void.self)
        async let delivery = self.hub.deliver(self.id, to: self.device)
        var arrived = rings.makeAsyncIterator()
        subscription?.mailbox.attach { ring.yield() }
        _ = await arrived.next()
        // `attach` rings at once, perhaps before the push arrives. The outcome is the same,
        // because the stream ends in both cases.
        subscription = nil
        #expect(await delivery == .nobodyThere)
    }

    @Test func mailboxIsBounded() async throws {
        let subscription = try self.open(self.device)
        let outcomes = await withTaskGroup(of: StreamHub.Delivery.self) { group in
            for _ in 0..<150 { group.addTask { await self.hub.deliver(self.id, to: self.device) } }
            var outcomes: [StreamHub.Delivery] = []
            // No client reads, so only the refused deliveries can end yet.
            while outcomes.count < 50, let outcome = await group.next() { outcomes.append(outcome) }
            // A delivery that was not refused may still be about to put its event.
            let drain = self.drain(subscription)
            for await outcome in group { outcomes.append(outcome) }
            drain.cancel()
            return outcomes
        }
        #expect(outcomes.count { $0 == .full } == 50)
        #expect(outcomes.count { $0 == .handedOver } == 100)
    }

    @Test func aUserWhoDoesNotReadLeavesCallsToOthers() async throws {
        let devices = try (0..<20).map { try #require(DeviceHandle("\($0)")) }
        let unread = try devices.map { try self.open($0) }
        let reader = try #require(self.hub.open([self.device], ofUser: 2))
        let rings = self.bell(of: reader)
        await withTaskGroup(of: StreamHub.Delivery.self) { group in
            for number in 0..<400 { group.addTask { await self.hub.deliver(self.id, to: devices[number % 20]) } }
            var refused = 0
            while refused < 300, let outcome = await group.next() {
                #expect(outcome == .full)
                refused += 1
            }
            async let delivery = self.hub.deliver(self.id, to: self.device)
            for event in await self.events(of: reader, rings) { event.succeed() }
            #expect(await delivery == .handedOver)
            let drains = unread.map(self.drain)
            for await outcome in group { #expect(outcome == .handedOver) }
            for drain in drains {
                drain.cancel()
                await drain.value
            }
        }
        // The pushes that have ended do not count any more.
        async let delivery = self.hub.deliver(self.id, to: devices[0])
        for event in await self.events(of: unread[0], self.bell(of: unread[0])) { event.succeed() }
        #expect(await delivery == .handedOver)
    }

    /// Ten users with 100 pushes each would use up all calls of the lane.
    @Test func tenUsersWhoDoNotReadLeaveAThirdOfTheCalls() async throws {
        let devices = try (0..<10).map { try #require(DeviceHandle("\($0)")) }
        var unread = try devices.enumerated().map { try #require(self.hub.open([$1], ofUser: Int64($0))) }
        await withTaskGroup(of: StreamHub.Delivery.self) { group in
            for number in 0..<1000 { group.addTask { await self.hub.deliver(self.id, to: devices[number % 10]) } }
            var refused = 0
            // The number of refused pushes depends on their order; it is at least 350.
            while refused < 350, let outcome = await group.next() {
                #expect(outcome == .full)
                refused += 1
            }
            // The other pushes end with their streams.
            unread.removeAll()
            for await _ in group {}
        }
    }

    @Test func retriesForAUserWhoseStreamsAreFullComeOneAfterTheOther() throws {
        let other = try #require(DeviceHandle("other"))
        let streams = (try self.open(self.device), try #require(self.hub.open([other], ofUser: 2)))
        let now = ContinuousClock.now
        let delays = (0..<500).map { _ in self.hub.retryDelay(of: self.device, now: now) }
        #expect(delays == (0..<500).map { .milliseconds(1000 + 4 * $0) })
        #expect(self.hub.retryDelay(of: other, now: now) == .seconds(1))
        #expect(self.hub.retryDelay(of: self.device, now: now + .seconds(2)) == .seconds(1))
        #expect((0..<20_000).map { _ in self.hub.retryDelay(of: other, now: now) }.max() == .seconds(60))
        withExtendedLifetime(streams) {}
    }

    @Test func streamsOfAUserAreLimited() throws {
        var open = (0..<StreamHub.maximumPerUser).map { _ in self.hub.open([self.device], ofUser: 1) }
        #expect(!open.contains { $0 == nil })
        #expect(self.hub.open([self.device], ofUser: 1) == nil)
        #expect(self.hub.open([self.device], ofUser: 2) != nil)
        open.removeLast()
        #expect(self.hub.open([self.device], ofUser: 1) != nil)
    }
}
