internal import PushStore

// The store has these as properties; this file goes with the merge.
extension PostgreSQLStore {
    var tokenUses: TokenUses { fatalError() }
    var audit: AuditChain { fatalError() }
}
