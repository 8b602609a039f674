package sealpost.client;

import androidx.annotation.Nullable;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** A server that answers as a vector says, with the echo of each request. */
final class VectorPeer implements AutoCloseable {
    interface Script {
        /**
         * The answer of a vector; null to lose the connection. The query is empty if the request
         * has none.
         */
        @Nullable
        Json answer(String request, String query, @Nullable String condition) throws Exception;
    }

    private final HttpServer server;
    private final ExecutorService threads = Executors.newFixedThreadPool(4);
    private final Script script;

    VectorPeer(Script script) throws IOException {
        this.script = script;
        server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 64);
        server.setExecutor(threads);
        server.createContext("/", this::handle);
        server.start();
    }

    /** A client for one account that verifies answers only by their echo. */
    PushClient client(Store store, long deviceTime) {
        Options options = new Options("http://127.0.0.1:" + server.getAddress().getPort(), Signatures.unsigned())
                .clock(() -> deviceTime * 1000);
        return new PushClient(options, Credentials.token("spt_test", "alice"), store);
    }

    private void handle(HttpExchange exchange) throws IOException {
        exchange.getRequestBody().readAllBytes();
        String request = exchange.getRequestMethod() + " " + exchange.getRequestURI().getRawPath();
        String query = exchange.getRequestURI().getRawQuery();
        Json answer;
        try {
            String condition = exchange.getRequestHeaders().getFirst("If-None-Match");
            answer = script.answer(request, query == null ? "" : query, condition);
        } catch (Exception error) {
            throw new IOException(error);
        }
        // This closes the connection.
        if (answer == null || answer.get("status") == null) throw new IOException("lost");
        for (Json field : answer.get("fields").elements()) {
            exchange.getResponseHeaders().add(field.elements().get(0).string(), field.elements().get(1).string());
        }
        String token = exchange.getRequestHeaders().getFirst("MyToken");
        if (answer.isTrue("hasEcho")) exchange.getResponseHeaders().set("MyToken", new MyToken(Integer.parseInt(token)).echo());
        byte[] body = Vectors.body(answer);
        exchange.sendResponseHeaders(answer.get("status").integer().intValue(), body.length == 0 ? -1 : body.length);
        if (body.length > 0) exchange.getResponseBody().write(body);
        exchange.close();
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
    }
}
