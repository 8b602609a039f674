package sealpost.client;

import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URL;

/**
 * Opens connections. With {@code url -> (HttpURLConnection) network.openConnection(url)} all
 * connections use one network.
 */
public interface Connections {
    HttpURLConnection open(URL url) throws IOException;
}
