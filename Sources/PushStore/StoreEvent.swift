/// What an operator must hear of, once, while the store goes on.
package enum StoreEvent: Sendable, Hashable {
    /// Nothing can be stored until there is room.
    case diskFull
    /// There is room again, and everything can be stored.
    case roomAgain
    /// What was erased may be found in free room of the database's pages.
    case notWiped(reason: String)
}
