package com.facebook.react.uimanager;

/** A stub for snippets. */
public abstract class ViewManager<View, Shadow> {}
