#if Programs
import HandstampCore
import HandstampOAuth
import HandstampTransports
import Testing

/// Our client's sign-out in the browser at our server.
@Suite(.timeLimit(.minutes(10))) struct `A sign-out in the browser at our own server` {
  /// A browser that keeps its cookies from the sign-in to the sign-out.
  private struct Browser: RedirectReceiver {
    let person: WebPerson

    @concurrent func receive(from url: String, callbackScheme: String) async throws(RedirectError) -> Secret {
      do { return Secret(try await person.signOut(at: url)) } catch { throw .unavailable("\(error)") }
    }
  }

  @Test(arguments: ["leaves", "stays"])
  func `ends the browser's session, so that the next sign-in asks for the password`(id: String) async throws {
    try await OwnServer.run { server async throws in
      try await server.signUp()
      let backend = OAuthBackend(
        OAuthClient(issuer: server.url, id: id, scopes: ["openid", "profile"]), transport: AsyncHTTPTransport.shared)
      let person = WebPerson()
      let receiver = try await LoopbackReceiver.listen { page in
        do { try await person.visit(page) } catch { Issue.record(error) }
      }
      _ = try await backend.signIn(through: receiver, redirectURI: receiver.redirectURI)
      await receiver.close()
      let page = server.url + "/device"
      #expect(try await !person.isAsked(at: page))
      try await backend.signOutOfBrowser(through: Browser(person: person), redirectURI: OwnServer.signedOut)
      #expect(try await person.isAsked(at: page))
      // Again, without a session in the browser.
      try await backend.signOutOfBrowser(through: Browser(person: person), redirectURI: OwnServer.signedOut)
    }
  }

  @Test func `needs a registered return address`() async throws {
    try await OwnServer.run { server async throws in
      let backend = OAuthBackend(
        OAuthClient(issuer: server.url, id: "leaves"), transport: AsyncHTTPTransport.shared)
      await #expect(throws: SessionError.self) {
        try await backend.signOutOfBrowser(
          through: Browser(person: WebPerson()), redirectURI: "https://elsewhere.example.org/")
      }
    }
  }
}
#endif
