/// One request, as a handler sees it. Stays on the loop of its connection.
package struct Request {
    package let head: RequestHead
    package let body: RequestBody
    package let peer: PeerAddress
    /// The index of the connection's loop in its group.
    package let loopIndex: Int

    package init(head: RequestHead, body: RequestBody, peer: PeerAddress, loopIndex: Int) {
        self.head = head
        self.body = body
        self.peer = peer
        self.loopIndex = loopIndex
    }
}
