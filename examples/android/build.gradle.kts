plugins { id("com.android.application") }

// Firebase's plugin fails without the file of a Firebase project, which this repository has not.
if (projectDir.resolve("google-services.json").exists()) apply(plugin = "com.google.gms.google-services")

android {
    namespace = "example"
    compileSdk = 34
    defaultConfig {
        applicationId = "org.example.messages"
        minSdk = 24
        targetSdk = 34
        versionCode = 1
        versionName = "1"
    }
    buildTypes {
        release {
            isMinifyEnabled = true
            proguardFiles(getDefaultProguardFile("proguard-android-optimize.txt"))
            signingConfig = signingConfigs["debug"]
        }
    }
    compileOptions {
        sourceCompatibility = JavaVersion.VERSION_1_8
        targetCompatibility = JavaVersion.VERSION_1_8
    }
}

dependencies {
    implementation(project(":"))
    implementation("androidx.core:core:1.13.1")
    implementation("androidx.work:work-runtime:2.9.1")
    implementation("com.google.crypto.tink:tink-android:1.15.0")
    implementation("com.google.firebase:firebase-messaging:24.0.1")
}
