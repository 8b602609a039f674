extension Array where Element: Sendable {
    /// What `transform` makes of each element, of all at the same time; in their order.
    func mapAtOnce<Value: Sendable>(
        _ transform: @escaping @Sendable (Element) async -> Value
    ) async -> [Value] {
        await withTaskGroup(of: (index: Int, value: Value).self) { group in
            for (index, element) in self.enumerated() { group.addTask { (index, await transform(element)) } }
            return await group.reduce(into: []) { $0.append($1) }.sorted { $0.index < $1.index }.map(\.value)
        }
    }
}
