#if Server
import HandstampCore
import HandstampRegistry
import HandstampServer
import HandstampSQLite
import Hummingbird

/// The app's user table, here in memory.
actor Users: AccountDirectory {
  private var users: [String: (account: DirectoryAccount, hash: Secret)] = [:]
  private let passwords = PasswordPool()

  func account(email: EmailAddress) -> DirectoryAccount? { users[email.normalized]?.account }

  func verify(_ password: Secret, of account: DirectoryAccount?) async throws(AccountDirectoryError) -> Bool {
    let hash = account.flatMap { account in users.values.first { $0.account.id == account.id }?.hash }
    do { return try await passwords.verify(password, against: hash) } catch { throw .busy }
  }

  func create(
    email: EmailAddress, username: String, password: Secret
  ) async throws(AccountDirectoryError) -> DirectoryAccount {
    let hash: Secret
    do { hash = try await passwords.hash(password) } catch { throw .busy }
    guard users[email.normalized] == nil else { throw .emailTaken }
    let account = DirectoryAccount(id: AccountID("user-\(UInt64.random(in: 1 ... .max))"), username: username)
    users[email.normalized] = (account, hash)
    return account
  }
}

/// `EmbeddedServer FOLDER PORT`: an app with routes and accounts of its own, which serves sessions below `/auth`.
@main struct EmbeddedServer {
  static func main() async throws {
    let arguments = CommandLine.arguments
    guard arguments.count == 3, let port = Int(arguments[2]) else { return }
    let (store, keys) = try ServerFolder(path: arguments[1]).open()
    let client = try ConfiguredClient(
      id: "command-line-app", redirectURIs: ["http://127.0.0.1/callback"], flows: [.code, .device],
      scopes: ["profile"])
    let server = try await SessionServer(
      configuration: ServerConfiguration(issuer: "http://127.0.0.1:\(port)/auth") {
        $0.mountPath = "/auth"
        $0.clients = [client]
      },
      registry: Registry(store: store, mint: TokenMint(keys.master)), keys: SigningKeys(), accounts: Users())

    let router = Router(context: ServerContext.self)
    server.addRoutes(to: router)
    router.get("/") { _, _ in "anyone may read this" }
    server.protected(router.group("/notes")).get { _, context in "the notes of \(context.session.account)" }

    let events = try await server.events()
    let listening = Task {
      for await event in events.map(\.event) where event.session != nil {
        print(event.kind.rawValue, event.account, event.reason?.rawValue ?? "")
      }
    }
    let app = Application(
      router: router, server: .sturdyHTTP1(), configuration: .init(address: .hostname("127.0.0.1", port: port)),
      services: server.services)
    try await app.runService()
    await listening.value
    try store.close()
  }
}
#else
@main struct EmbeddedServer { static func main() {} }
#endif
