import Foundation
import Logging
import PushCore
import PushDelivery
import PushSenders
import PushServer
import PushStore
import Reactor
import SocketHTTP
import SocketTLS

extension StoreOptions {
    init(
        _ configuration: Configuration,
        streams: StreamHub,
        looks: LookBook,
        workIsWaiting: WakeUp,
        keyringHasChanged: WakeUp,
        spans: SpanRecorder?,
        now: @escaping @Sendable () -> Date,
        logger: Logger
    ) {
        self.init()
        self.now = now
        self.spans = spans
        // The store refuses a late write before the deadline of the request's handler. Otherwise a
        // write could succeed after its client got 503.
        self.writeTimeout = configuration.limits.handlerTimeout * 2 / 3
        self.streamLanes = Set(configuration.senders.filter { $1.isStream }.map { Lane($0.key).description })
        self.streams = streams
        self.streamLanes.formUnion(self.streamLanes.map { Lane(stored: $0).ofLooks.description })
        self.looks = configuration.looks
        self.lookLifetime = configuration.server.lifetime
        self.lookBook = looks
        self.tags = configuration.server.tags
        self.cluster.release = Version.current
        self.cluster.dayChain = DayKeyFile(configuration.dayKeys)
        self.cluster.mark = TimelineFile(configuration.timeline)
        self.events = configuration.events.stored
        // Any server may enqueue a push for a device whose stream is open at another server. So
        // the pushes of event streams are announced to the other servers.
        self.cluster.announcedLanes = streamLanes
        self.cluster.onWork = { workIsWaiting() }
        self.onEvent = { event in
            logger.log(event)
            // The store now encrypts with another key.
            if case .keySeals = event { keyringHasChanged() }
        }
    }
}

extension Configuration {
    /// The settings of the API. Devices register at one of the `platforms`, which are the names of
    /// senders.
    func serverSettings(_ platforms: [Platform: ServerSettings.PlatformRule]) -> ServerSettings {
        var settings = self.server
        settings.platforms = platforms
        // A batch may take this time twice, to wait for a worker and to store elements, and then
        // `writeTimeout` (above) for its last write. The sum is below the handler's timeout.
        settings.batchTimeout = self.limits.handlerTimeout / 8
        settings.hsts = self.tls?.hsts
        settings.events = self.events.isOn ? self.events.webhook == nil ? .listed : .delivered : .off
        return settings
    }

    /// The lanes (queues of pushes) whose devices get looks: pushes that only tell a device to
    /// sync. The values are the shortest times between two looks of one device.
    var looks: [String: Duration] {
        var looks: [String: Duration] = [:]
        for (name, sender) in self.senders {
            guard let interval = sender.lookInterval else { continue }
            for environment in PushEnvironment.allCases {
                looks[Lane(name, in: environment).description] = .seconds(interval)
            }
        }
        return looks
    }

    /// How the server opens connections. If trusted proxies send headers of the PROXY protocol, it
    /// logs each connection without a valid header.
    func opening(_ tls: TLSSetup?, logger: Logger) -> HTTPServer.Opening {
        guard self.readsProxyHeaders else { return HTTPServer.Opening(makeStream: tls?.acceptor.accept) }
        return HTTPServer.Opening(makeStream: tls?.acceptor.accept) { peer in
            logger.warning(
                "connection of a trusted proxy closed, as it began without a header of the PROXY protocol",
                metadata: ["peer": "\(peer)"]
            )
        }
    }
}
