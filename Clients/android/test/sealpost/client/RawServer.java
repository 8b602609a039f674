package sealpost.client;

import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * A server that answers each request with bytes that the test chooses. It closes the connection
 * after an answer of HTTP/1.0, or without a whole head.
 */
final class RawServer implements AutoCloseable {
    /** Returns the answer to a request. */
    interface Answers {
        String to(String request) throws Exception;
    }

    /** The first line of each request. */
    final List<String> log = Collections.synchronizedList(new ArrayList<String>());

    private final ServerSocket listener = new ServerSocket(0, 64, InetAddress.getLoopbackAddress());
    private final Answers answers;

    RawServer(Answers answers) throws IOException {
        this.answers = answers;
        Thread thread = new Thread(this::accept);
        thread.setDaemon(true);
        thread.start();
    }

    String url() {
        return "http://127.0.0.1:" + listener.getLocalPort();
    }

    private void accept() {
        try {
            while (true) {
                Socket socket = listener.accept();
                Thread thread = new Thread(() -> serve(socket));
                thread.setDaemon(true);
                thread.start();
            }
        } catch (IOException closed) {
            // The test is over.
        }
    }

    private void serve(Socket accepted) {
        try (Socket socket = accepted) {
            String head;
            while ((head = head(socket.getInputStream())) != null) {
                log.add(head.substring(0, head.indexOf(" HTTP/")));
                String answer = answers.to(head);
                socket.getOutputStream().write(answer.getBytes(StandardCharsets.ISO_8859_1));
                if (!answer.contains("\r\n\r\n") || answer.startsWith("HTTP/1.0")) return;
            }
        } catch (Exception ended) {
            // The client has closed the connection.
        }
    }

    /** Reads the head of a request, and then its body; null at the end of the connection. */
    private static String head(InputStream in) throws IOException {
        StringBuilder head = new StringBuilder();
        while (head.indexOf("\r\n\r\n") < 0) {
            int next = in.read();
            if (next < 0) return null;
            head.append((char) next);
        }
        String length = field(head.toString(), "Content-Length");
        in.readNBytes(length == null ? 0 : Integer.parseInt(length));
        return head.toString();
    }

    static String field(String head, String name) {
        for (String line : head.split("\r\n")) {
            if (line.regionMatches(true, 0, name + ": ", 0, name.length() + 2)) return line.substring(name.length() + 2);
        }
        return null;
    }

    /** A JSON answer with the echo of a request. */
    static String echoed(String head, int status, String json) {
        return "HTTP/1.1 " + status + " X\r\nMyToken: " + new MyToken(Integer.parseInt(field(head, "MyToken"))).echo()
                + "\r\nContent-Length: " + json.length() + "\r\n\r\n" + json;
    }

    @Override
    public void close() throws IOException {
        listener.close();
    }
}
