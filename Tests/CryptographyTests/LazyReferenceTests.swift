import Synchronization
import Testing

@testable import Cryptography

@Suite(.timeLimit(.minutes(5))) struct LazyReferenceTests {
    /// An object whose living instances are counted.
    private final class Counted: Sendable {
        let owner: Owner

        init(_ owner: Owner) {
            self.owner = owner
            owner.alive.wrappingAdd(1, ordering: .relaxed)
        }

        deinit { self.owner.alive.wrappingSubtract(1, ordering: .relaxed) }
    }

    private final class Owner: Sendable {
        let alive = Atomic(0)
    }

    private final class Holder: Sendable {
        let reference = LazyReference<Counted>()
    }

    @Test func firstObjectIsStoredAndFreedWithItsHolder() {
        let owner = Owner()
        do {
            let holder = Holder()
            #expect(holder.reference.load() == nil)
            let first = holder.reference.storeIfNil(Counted(owner))
            #expect(holder.reference.storeIfNil(Counted(owner)) === first)
            #expect(holder.reference.load() === first)
            #expect(owner.alive.load(ordering: .relaxed) == 1)
        }
        #expect(owner.alive.load(ordering: .relaxed) == 0)
    }

    @Test func concurrentTasksAgreeOnOneObject() async {
        let (owner, holder) = (Owner(), Holder())
        let kept = await withTaskGroup(of: ObjectIdentifier.self) { group in
            for _ in 0..<64 {
                group.addTask {
                    ObjectIdentifier(holder.reference.load() ?? holder.reference.storeIfNil(Counted(owner)))
                }
            }
            return await group.reduce(into: Set<ObjectIdentifier>()) { $0.insert($1) }
        }
        #expect(kept.count == 1)
        #expect(owner.alive.load(ordering: .relaxed) == 1)
    }
}
