plugins {
    id("com.android.library") version "8.5.2"
    id("com.android.application") version "8.5.2" apply false
    id("org.jetbrains.kotlin.android") version "2.1.0" apply false
    id("com.google.gms.google-services") version "4.4.2" apply false
    `maven-publish`
}

// Whoever publishes the packages chooses a group of their own: -Pgroup=org.example.
group = findProperty("group")?.toString()?.takeIf { it.isNotEmpty() } ?: "sealpost"
version = Regex("current = \"([0-9.]+)\"").find(file("../../Sources/PushApplication/Version.swift").readText())!!.groupValues[1]

android {
    namespace = "sealpost.client"
    compileSdk = 34
    defaultConfig {
        minSdk = 24
        consumerProguardFiles("package/consumer-rules.pro")
    }
    sourceSets["main"].java.setSrcDirs(listOf("src"))
    sourceSets["main"].manifest.srcFile("package/AndroidManifest.xml")
    // The tests are programs of scripts/android-client.
    sourceSets["test"].java.setSrcDirs(emptyList<String>())
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
    publishing {
        singleVariant("release") {
            withSourcesJar()
            withJavadocJar()
        }
    }
}

dependencies {
    // They contain annotations only.
    api("androidx.annotation:annotation:1.7.1")
    api("org.jspecify:jspecify:1.0.0")
}

publishing {
    publications.register<MavenPublication>("release") { afterEvaluate { from(components["release"]) } }
}
