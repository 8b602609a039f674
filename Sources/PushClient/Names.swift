// The module `PushClient` has a type `PushClient`, so `PushClient.Session` does not mean the
// module's `Session`. An app with its own type `Session` can use these names for the module's
// types.

/// ``Session`` for an app that has another type of that name.
public typealias PushSession = Session
/// ``Inbox`` for an app that has another type of that name.
public typealias PushInbox = Inbox
/// ``Outbox`` for an app that has another type of that name.
public typealias PushOutbox = Outbox
