#if Programs
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampTransports
import Hummingbird

func application(clientSecret: Secret, registry: Registry) throws -> some ApplicationProtocol {
  let google = UpstreamProvider(
    id: "google", name: "Google", issuer: "https://accounts.google.com",
    clientID: "1234.apps.googleusercontent.com", clientSecret: clientSecret)
  let signIn = try OpenIDSignIn(
    google, url: "https://forum.example", registry: registry, transport: AsyncHTTPTransport.shared)
  let router = Router(context: BrowserContext.self)
  signIn.addRoutes(to: router)
  signIn.protected(router.group("/notes")).get { _, context in "the notes of \(context.session.account.username)" }
  return Application(router: router)
}
#endif
