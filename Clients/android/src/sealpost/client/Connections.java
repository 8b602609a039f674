package sealpost.client;

import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;

/**
 * Opens connections: {@code url -> (HttpURLConnection) network.openConnection(url)} keeps to one
 * network.
 */
public interface Connections {
    HttpURLConnection open(URL url) throws IOException;
}
