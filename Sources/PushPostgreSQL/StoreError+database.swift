internal import PostgreSQL
internal import PushCore
internal import PushStore

extension StoreError {
    init(_ error: DatabaseError) {
        self =
            switch error {
            case .busy: .busy
            case .refused(let code, _) where code == "53100": .full
            default: .failed(reason: "\(error)")
            }
    }
}
