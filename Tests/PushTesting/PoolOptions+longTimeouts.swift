package import PostgreSQL

extension PoolOptions {
    /// Limits that no busy machine reaches, for tests that do not test the limits.
    package static var longTimeouts: PoolOptions {
        var options = PoolOptions()
        options.readLimit = .seconds(120)
        options.silenceLimit = .seconds(120)
        options.writeLimit = .seconds(120)
        options.transactionLimit = .seconds(120)
        options.connectLimit = .seconds(60)
        return options
    }
}
