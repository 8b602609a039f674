import PushCore
import Testing

@Suite struct SpellingSuggestionTests {
    @Test(arguments: [
        ("usr", "user"), ("USER", "user"), ("usre", nil), ("backpu", "backup"), ("bakup", "backup"), ("bcakpu", nil),
        ("uesr", nil), ("", nil), ("keys", "keys"), ("kezs", "keys"), ("signing-key", "signing-keys"),
    ])
    func misspeltNameFindsTheNearest(name: String, nearest: String?) {
        #expect(["user", "backup", "keys", "signing-keys"].nearest(to: name) == nearest)
    }

    @Test func emptyListHasNoNearestName() {
        #expect([String]().nearest(to: "user") == nil)
    }
}
