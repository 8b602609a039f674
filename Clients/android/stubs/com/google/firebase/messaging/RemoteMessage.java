package com.google.firebase.messaging;

import java.util.Map;

/** A stub for snippets. */
public abstract class RemoteMessage {
    public static final int PRIORITY_HIGH = 1;

    public abstract int getPriority();

    public abstract Map<String, String> getData();
}
