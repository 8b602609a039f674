package com.google.firebase.messaging;

import java.util.Map;

/** A stub for snippets. */
public abstract class RemoteMessage {
    public abstract Map<String, String> getData();
}
