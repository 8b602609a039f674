/// A first-in, first-out queue.
struct Fifo<Element> {
    private var elements: [Element?] = []
    private var start = 0

    var count: Int { self.elements.count - self.start }
    var isEmpty: Bool { self.count == 0 }
    var first: Element? { self.isEmpty ? nil : self.elements[self.start] }

    mutating func append(_ element: Element) {
        self.elements.append(element)
    }

    /// Inserts `elements`, in their order, before all other elements.
    mutating func prepend(_ elements: [Element]) {
        self.elements.replaceSubrange(0..<self.start, with: elements)
        self.start = 0
    }

    mutating func popFirst() -> Element? {
        guard !self.isEmpty else { return nil }
        let element = self.elements[self.start].take()
        self.start += 1
        // The used-up slots at the array's front are removed rarely: on average, a call moves at
        // most one element.
        if self.start >= 64, self.start * 2 >= self.elements.count {
            self.elements.removeFirst(self.start)
            self.start = 0
        }
        return element
    }

    /// Empties the queue, and returns its elements.
    mutating func removeAll() -> [Element] {
        let all = self.all
        self.elements.removeAll()
        self.start = 0
        return all
    }

    mutating func removeAll(where isUnwanted: (Element) -> Bool) {
        self.elements = self.all.filter { !isUnwanted($0) }
        self.start = 0
    }

    var all: [Element] { self.elements[self.start...].compactMap { $0 } }
}
