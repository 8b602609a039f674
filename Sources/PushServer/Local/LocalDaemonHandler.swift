internal import Glibc
internal import HTTPTypes
internal import PushAPI
internal import PushCore
internal import PushStore
internal import SocketHTTP

/// Answers commands that check whether the daemon runs, before they request a change.
struct LocalDaemonHandler: Handler {
    let daemon: Daemon

    var routes: [Route] {
        [Route(.get, LocalPaths.daemon, .atLeast(.admin, .manage), always: self.showDaemon)]
    }

    private func showDaemon(_ context: RequestContext) -> Response {
        Response(
            uncached: .object([
                .init("Version", .string(self.daemon.version)), .init("Process", .number(getpid())),
                .init("Caller", .string(context.caller?.user.name.description ?? "")),
            ])
        )
    }
}
