// The module has a type of its own name, so that an app cannot write `PushClient.Session` where it
// has a `Session` itself. Under these names it can.

/// ``Session`` for an app that has another type of that name.
public typealias PushSession = Session
/// ``Inbox`` for an app that has another type of that name.
public typealias PushInbox = Inbox
/// ``Outbox`` for an app that has another type of that name.
public typealias PushOutbox = Outbox
