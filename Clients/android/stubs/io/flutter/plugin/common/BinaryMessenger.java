package io.flutter.plugin.common;

/** A stub for snippets. */
public interface BinaryMessenger {}
