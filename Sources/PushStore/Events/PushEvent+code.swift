package import PushCore

extension PushEvent.Kind {
    /// The number that stands for the kind in the database.
    package var code: Int64 {
        switch self {
        case .accepted: 1
        case .failed: 2
        case .expired: 3
        case .cancelled: 4
        case .collected: 5
        case .retired: 6
        }
    }

    /// The kind with this number; `nil` for 0, which stands for a server's start, and for a number
    /// that this version does not know.
    package init?(code: Int64) {
        guard let kind = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = kind
    }
}
