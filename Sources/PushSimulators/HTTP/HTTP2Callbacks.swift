internal import CNghttp2

/// The callbacks that nghttp2 calls. Each callback calls a method of the session, which nghttp2
/// passes to it as user data.
enum HTTP2Callbacks {
    static func set(on callbacks: OpaquePointer?) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { _, frame, context in
            if let frame, HTTP2Callbacks.isRequest(frame) {
                HTTP2Callbacks.session(context)?.began(frame.pointee.hd.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            _,
            frame,
            name,
            nameLength,
            value,
            length,
            _,
            context in
            if let frame, HTTP2Callbacks.isRequest(frame) {
                let field = HeaderField(
                    String(decoding: UnsafeBufferPointer(start: name, count: nameLength), as: UTF8.self),
                    String(decoding: UnsafeBufferPointer(start: value, count: length), as: UTF8.self)
                )
                HTTP2Callbacks.session(context)?.received(field, on: frame.pointee.hd.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) { _, _, stream, bytes, count, context in
            HTTP2Callbacks.session(context)?.received(UnsafeBufferPointer(start: bytes, count: count), on: stream)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { _, frame, context in
            guard let header = frame?.pointee.hd else { return 0 }
            let carriesRequest =
                header.type == UInt8(NGHTTP2_HEADERS.rawValue) || header.type == UInt8(NGHTTP2_DATA.rawValue)
            if carriesRequest, header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 {
                HTTP2Callbacks.session(context)?.completed(header.stream_id)
            }
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { _, stream, _, context in
            HTTP2Callbacks.session(context)?.closed(stream)
            return 0
        }
    }

    /// Gives nghttp2 the bytes of an answer's body.
    static var bodyProvider: nghttp2_data_provider {
        nghttp2_data_provider(source: nghttp2_data_source()) { _, stream, buffer, length, flags, _, context in
            let buffer = UnsafeMutableBufferPointer(start: buffer, count: length)
            guard let piece = HTTP2Callbacks.session(context)?.takeAnswer(of: stream, into: buffer) else {
                return Int(NGHTTP2_ERR_CALLBACK_FAILURE.rawValue)
            }
            if piece.isLast { flags?.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
            return piece.count
        }
    }

    private static func isRequest(_ frame: UnsafePointer<nghttp2_frame>) -> Bool {
        frame.pointee.hd.type == UInt8(NGHTTP2_HEADERS.rawValue)
            && frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST
    }

    private static func session(_ context: UnsafeMutableRawPointer?) -> HTTP2Session? {
        context.map { Unmanaged<HTTP2Session>.fromOpaque($0).takeUnretainedValue() }
    }
}

/// Header lines in the memory layout that nghttp2 expects.
struct HeaderBlock {
    private var bytes: [UInt8] = []
    private var lengths: [(name: Int, value: Int)] = []

    mutating func append(name: String, value: String) {
        self.bytes.append(contentsOf: name.utf8)
        self.bytes.append(contentsOf: value.utf8)
        self.lengths.append((name.utf8.count, value.utf8.count))
    }

    /// Runs `body` with the lines; nghttp2 copies those that it keeps.
    mutating func withFields(_ body: (UnsafeBufferPointer<nghttp2_nv>) -> Void) {
        let lengths = self.lengths
        self.bytes.withUnsafeMutableBufferPointer { bytes in
            guard var next = bytes.baseAddress else { return }
            var fields: [nghttp2_nv] = []
            for (name, value) in lengths {
                fields.append(
                    nghttp2_nv(
                        name: next,
                        value: next + name,
                        namelen: name,
                        valuelen: value,
                        flags: UInt8(NGHTTP2_NV_FLAG_NONE.rawValue)
                    )
                )
                next += name + value
            }
            fields.withUnsafeBufferPointer(body)
        }
    }
}
