// Sends texts to a user, each text once, and prints the paths of the notifications, by the rules
// of docs/backends.md.
//
//   mcs -r:System.Net.Http,System.Runtime.Serialization examples/Publish.cs   # or in a project of .NET
//   SEALPOST_TOKEN=spt_… mono examples/Publish.exe https://push.example.com alice "Your test result is in."
//
// The token is a publisher's, with the scope `send`: sealpost token create NAME --scope send
using System;
using System.IO;
using System.Linq;
using System.Net.Http;
using System.Runtime.Serialization;
using System.Runtime.Serialization.Json;
using System.Security.Cryptography;
using System.Text;
using System.Text.RegularExpressions;
using System.Threading;
using System.Threading.Tasks;

[DataContract] class Notification {
    [DataMember] public string Payload;
    [DataMember] public string[] To;
}

[DataContract] class Sent { [DataMember(IsRequired = true)] public long Id; }

[DataContract] class Problem {
    [DataMember(Name = "type", IsRequired = true)] public string Type;
    [DataMember(Name = "detail")] public string Detail;
}

class SealpostException : Exception {
    /// The time before the next attempt; null if the error is final.
    public readonly TimeSpan? Wait;
    public SealpostException(string message, TimeSpan? wait) : base(message) { Wait = wait; }
}

static class Publish {
    static readonly HttpClient http = new HttpClient(new HttpClientHandler { AllowAutoRedirect = false }) {
        Timeout = TimeSpan.FromSeconds(10), MaxResponseContentBufferSize = 16 << 20,
    };

    /// The tag expression of one user. With other characters the name could be read as an expression,
    /// such as `alice || username:bob`.
    static string User(string name) {
        if (!Regex.IsMatch(name, @"\A[A-Za-z0-9_@#+.-]{1,100}\z")) throw new ArgumentException($"'{name}' is not the name of a user");
        return "username:" + name;
    }

    /// Posts a notification. All attempts have the same key, so the server sends it once.
    static async Task<Sent> Send(string server, string token, string key, Notification notification, DateTime deadline) {
        var body = Write(notification);
        var address = new Uri(server);
        if (address.Scheme != "https" && !address.IsLoopback) throw new ArgumentException("http sends the token in clear: use https");
        using (var limit = new CancellationTokenSource(deadline - DateTime.UtcNow))
        for (var delay = 250.0;; delay = Math.Min(2 * delay, 30000)) {
            TimeSpan pause;
            try {
                return await Attempt(server, token, key, body, limit.Token);
            } catch (Exception error) when (error is SealpostException || error is HttpRequestException || error is IOException
                    || error is TaskCanceledException || error is SerializationException) {
                pause = TimeSpan.FromMilliseconds(delay * (0.5 + Random(1000) / 2000.0));
                if (error is SealpostException refusal) {
                    if (refusal.Wait == null) throw;
                    pause += refusal.Wait.Value;
                }
                if (DateTime.UtcNow + pause > deadline) throw;
            }
            await Task.Delay(pause);
        }
    }

    static async Task<Sent> Attempt(string server, string token, string key, byte[] body, CancellationToken limit) {
        var number = Random(126322568);
        var request = new HttpRequestMessage(HttpMethod.Post, server + "/api/notifications") { Content = new ByteArrayContent(body) };
        request.Content.Headers.Add("Content-Type", "application/json");
        request.Headers.Add("Authorization", "Bearer " + token);
        request.Headers.Add("Idempotency-Key", key);
        request.Headers.Add("MyToken", number.ToString());
        request.Headers.Add("Prefer", "handling=strict");
        using (var response = await http.SendAsync(request, limit)) {
            return Checked(response, await response.Content.ReadAsByteArrayAsync(), number * 17 + 3);
        }
    }

    static Sent Checked(HttpResponseMessage response, byte[] content, int echo) {
        var status = (int) response.StatusCode;
        var isTransient = new[] { 408, 429, 500, 502, 503, 504, 507 }.Contains(status);
        var wait = isTransient ? response.Headers.RetryAfter?.Delta ?? TimeSpan.Zero : (TimeSpan?) null;
        // Mono's HttpClient takes a head or a body that was cut for a complete one.
        if (response.Content.Headers.ContentLength is long length && length != content.Length) throw new IOException("the answer was cut");
        var found = response.Headers.TryGetValues("MyToken", out var lines) ? string.Join(", ", lines) : "";
        if (found != echo.ToString()) throw new SealpostException($"the answer {status} is not the server's own", wait);
        if (status == 201) return Read<Sent>(content);
        var problem = Read<Problem>(content);
        if (problem.Type == "urn:sealpost:problem:idempotency-key-in-use") wait = TimeSpan.Zero;
        throw new SealpostException($"{problem.Type}: {problem.Detail}", wait);
    }

    static byte[] Write<T>(T value) {
        var stream = new MemoryStream();
        new DataContractJsonSerializer(typeof(T)).WriteObject(stream, value);
        return stream.ToArray();
    }

    static T Read<T>(byte[] content) {
        return (T) new DataContractJsonSerializer(typeof(T)).ReadObject(new MemoryStream(content));
    }

    static int Random(int limit) {
        var bytes = new byte[8];
        using (var source = RandomNumberGenerator.Create()) source.GetBytes(bytes);
        return (int) (BitConverter.ToUInt64(bytes, 0) % (ulong) limit);
    }

    static async Task Run(string[] arguments) {
        foreach (var text in arguments.Skip(2)) {
            var notification = new Notification { Payload = text, To = new[] { User(arguments[1]) } };
            var token = Environment.GetEnvironmentVariable("SEALPOST_TOKEN");
            var sent = await Send(arguments[0], token, Guid.NewGuid().ToString(), notification, DateTime.UtcNow.AddMinutes(1));
            Console.WriteLine($"/api/notifications/{sent.Id}");
        }
    }
    static int Main(string[] arguments) {
        if (arguments.Length < 3) {
            Console.Error.WriteLine("usage: Publish.exe SERVER USER TEXT...");
            return 64;
        }
        try {
            Run(arguments).GetAwaiter().GetResult();
            return 0;
        } catch (Exception error) {
            Console.Error.WriteLine(error.Message);
            return 1;
        }
    }
}
