plugins {
    id("com.android.library")
    id("org.jetbrains.kotlin.android")
    `maven-publish`
}

group = rootProject.group
version = rootProject.version

android {
    namespace = "sealpost.client.coroutines"
    compileSdk = 34
    defaultConfig { minSdk = 24 }
    sourceSets["main"].java.setSrcDirs(listOf("sealpost"))
    sourceSets["main"].manifest.srcFile("../package/AndroidManifest.xml")
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
    kotlinOptions { jvmTarget = "1.8" }
    publishing {
        singleVariant("release") {
            withSourcesJar()
            withJavadocJar()
        }
    }
}

dependencies {
    api(project(":"))
    api("org.jetbrains.kotlinx:kotlinx-coroutines-core:1.8.1")
}

publishing {
    publications.register<MavenPublication>("release") {
        artifactId = "sealpost-client-coroutines"
        afterEvaluate { from(components["release"]) }
    }
}
