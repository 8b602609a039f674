// What .NET for Android declares for the classes that docs/frameworks.md uses in C#.
using System.Collections.Generic;

namespace Java.Lang {
    public class Object { }
}

namespace Android.Content {
    public abstract class Context : Java.Lang.Object { }
}

namespace Android.App {
    public class Application : Java.Lang.Object {
        public static Content.Context Context { get { return null; } }
    }
}

// https://learn.microsoft.com/dotnet/android/binding-libs/binding-java-libs describes the names.
public sealed class Bridge : Java.Lang.Object {
    public interface IDone {
        void Succeeded(string json);
        void Failed(string code, string message);
    }

    public static void Call(Android.Content.Context context, string name, IList<string> arguments, IDone done) { }
}
