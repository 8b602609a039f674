package sealpost.backend;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** A server that answers each request with the next step. */
final class Script implements AutoCloseable {
    static final String SENT = "{\"Id\":7,\"CreatedAt\":\"2026-11-28T10:00:00Z\",\"SendAt\":null,"
            + "\"ExpiresAt\":\"2026-12-28T10:00:00Z\",\"Recipients\":1,\"Pushes\":1,\"More\":false,\"Another\":\"member\"}";

    /** Makes the answer to a request; the server hangs up after an answer that is cut. */
    interface Step {
        Reply answer(Seen request) throws IOException;
    }

    /** Bytes, which are sent once or, for an endless answer, again and again. */
    static final class Reply {
        final byte[] start;
        final byte[] repeated;
        final boolean hangsUp;

        Reply(byte[] start, byte[] repeated, boolean hangsUp) {
            this.start = start;
            this.repeated = repeated;
            this.hangsUp = hangsUp;
        }

        Reply cut(int length) {
            // The length of an answer depends on the random `MyToken`.
            return new Reply(Arrays.copyOf(start, Math.min(length, start.length - 1)), new byte[0], true);
        }
    }

    static final class Seen {
        final String line;
        final Map<String, String> fields = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
        String body = "";

        Seen(String head) {
            String[] lines = head.split("\r\n");
            line = lines[0];
            for (String field : Arrays.asList(lines).subList(1, lines.length)) {
                fields.put(field.substring(0, field.indexOf(':')), field.substring(field.indexOf(':') + 2));
            }
        }

        Reply answer(int status, String json, String... lines) {
            String echo = "MyToken: " + (Integer.parseInt(fields.get("mytoken")) * 17 + 3) + "\r\n";
            return unechoed(status, json, echo + String.join("", lines));
        }

        Reply unechoed(int status, String json, String lines) {
            byte[] body = json.getBytes(StandardCharsets.UTF_8);
            String head = "HTTP/1.1 " + status + " Word\r\nContent-Length: " + body.length + "\r\n" + lines + "\r\n";
            ByteArrayOutputStream whole = new ByteArrayOutputStream();
            whole.writeBytes(head.getBytes(StandardCharsets.US_ASCII));
            whole.writeBytes(body);
            return new Reply(whole.toByteArray(), new byte[0], false);
        }

        Reply sent(String... lines) {
            return answer(201, SENT, lines);
        }

        Reply refusal(int status, String code, String... lines) {
            return answer(status, problem(status, code), lines);
        }
    }

    static String problem(int status, String code) {
        return "{\"type\":\"urn:sealpost:problem:" + code + "\",\"title\":\"T\",\"status\":" + status + ",\"instance\":\"i\"}";
    }

    final ServerSocket listener;
    final Deque<Step> steps;
    final List<Seen> requests = Collections.synchronizedList(new ArrayList<>());
    volatile int connections = 0;

    Script(Step... steps) throws IOException {
        this.steps = new ArrayDeque<>(Arrays.asList(steps));
        listener = new ServerSocket(0, 64, InetAddress.getByName("127.0.0.1"));
        start(() -> {
            while (true) {
                Socket socket = listener.accept();
                connections++;
                start(() -> serve(socket));
            }
        });
    }

    String url() {
        return "http://127.0.0.1:" + listener.getLocalPort();
    }

    Client.Builder builder() {
        Client.Builder builder = Client.builder(url()).token("spt_x").deadline(java.time.Duration.ofMinutes(10));
        builder.firstDelay = java.time.Duration.ofMillis(1);
        return builder;
    }

    Client client() {
        return builder().build();
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }

    private static void start(Tests.Body body) {
        Thread thread = new Thread(() -> {
            try {
                body.run();
            } catch (Exception ended) {
                // The client or the test has ended.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private void serve(Socket socket) throws Exception {
        try (socket) {
            InputStream in = socket.getInputStream();
            while (true) {
                StringBuilder head = new StringBuilder();
                while (head.indexOf("\r\n\r\n") < 0) {
                    int next = in.read();
                    if (next < 0) return;
                    head.append((char) next);
                }
                Seen request = new Seen(head.toString());
                int length = Integer.parseInt(request.fields.getOrDefault("content-length", "0"));
                request.body = new String(in.readNBytes(length), StandardCharsets.UTF_8);
                requests.add(request);
                Reply reply = steps.remove().answer(request);
                socket.getOutputStream().write(reply.start);
                while (reply.repeated.length > 0) socket.getOutputStream().write(reply.repeated);
                if (reply.hangsUp) return;
            }
        }
    }
}
