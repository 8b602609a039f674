package com.facebook.react.bridge;

/** A stub for snippets. */
public abstract class ReactApplicationContext extends android.content.Context {}
