internal import PushAPI

/// The outcome of each element of a batch.
struct BatchOutcomes {
    private var results: [Result<SentNotification, Problem>]
    /// Whether the request has stored at least one element that no earlier request had stored.
    var hasNew = false

    /// Creates the outcomes of `count` elements. Until an element is stored or refused, its
    /// outcome is `problem`.
    init(_ count: Int, before problem: Problem) {
        self.results = Array(repeating: .failure(problem), count: count)
    }

    subscript(number: Int) -> Result<SentNotification, Problem> {
        get { self.results[number] }
        set { self.results[number] = newValue }
    }

    subscript(numbers: Range<Int>) -> ArraySlice<Result<SentNotification, Problem>> { self.results[numbers] }
}

/// The body of the answer to a batch, written part by part, in the order of the elements.
struct BatchAnswer {
    private var text = Array(#"{"Outcomes":["#.utf8)
    /// The number of elements whose outcomes the text contains.
    private(set) var count = 0

    /// Appends `text`, which has the outcomes of the next `count` elements.
    mutating func append(_ text: [UInt8], of count: Int) {
        if count == 0 { return }
        if self.count > 0 { self.text.append(UInt8(ascii: ",")) }
        self.text += text
        self.count += count
    }

    var body: [UInt8] { self.text + "]}".utf8 }

    /// The outcomes as JSON, as the body contains them, but without the enclosing object.
    static func text(
        of outcomes: ArraySlice<Result<SentNotification, Problem>>,
        in request: RequestID
    ) -> [UInt8] {
        var text: [UInt8] = []
        for (index, outcome) in zip(outcomes.indices, outcomes) {
            if index > outcomes.startIndex { text.append(UInt8(ascii: ",")) }
            Self.json(of: outcome, in: request).write(to: &text)
        }
        return text
    }

    private static func json(of outcome: Result<SentNotification, Problem>, in request: RequestID) -> JSONValue {
        switch outcome {
        case .success(let sent): return .object([.init("Status", .number(201))] + sent.members)
        case .failure(var problem):
            problem.instance = request.description
            return .object([.init("Status", .number(problem.status)), .init("Problem", problem.json)])
        }
    }
}
