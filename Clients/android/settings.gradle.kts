// The client, its Kotlin classes, and the app of examples/android.
pluginManagement {
    repositories {
        google()
        mavenCentral()
        gradlePluginPortal()
    }
}

dependencyResolutionManagement {
    repositories {
        google()
        mavenCentral()
    }
}

rootProject.name = "sealpost-client"
include(":coroutines", ":app")
project(":coroutines").projectDir = file("kotlin")
project(":app").projectDir = file("../../examples/android")
