import HandstampCore
import HandstampUI
import Testing

@Suite(.timeLimit(.minutes(10))) struct `The redirect that a browser sheet waits for` {
  @Test(arguments: [
    ("org.example.app", "https://id.example.org/authorize", WebCallback.scheme("org.example.app")),
    (
      "https", "https://id.example.org/authorize?redirect_uri=https%3A%2F%2Fapp.example.org%2Fback%3Fa%3Db",
      .https(host: "app.example.org", path: "/back")
    ),
    (
      "HTTPS", "https://id.example.org/logout?post_logout_redirect_uri=https%3A%2F%2Fapp.example.org",
      .https(host: "app.example.org", path: "/")
    ),
  ])
  func `is the scheme, or the place of the redirect URI`(
    scheme: String, page: String, expected: WebCallback
  ) throws {
    #expect(try WebCallback(scheme, page: page) == expected)
  }

  @Test(arguments: ["https://id.example.org/authorize", "https://id.example.org/authorize?redirect_uri=%2Fback"])
  func `is not guessed without a redirect URI`(page: String) {
    #expect(throws: RedirectError.unavailable("the URL of the page has no redirect URI")) {
      try WebCallback("https", page: page)
    }
  }
}
