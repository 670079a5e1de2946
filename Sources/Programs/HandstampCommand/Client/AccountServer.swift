#if Command
import HandstampCore
import HandstampCommandLine
import HandstampOAuth

/// The server of one account: its network, and the protocol of its sign-in.
struct AccountServer: Sendable {
  let address: ServerAddress
  /// Sends requests without proofs of possession.
  let transport: any Transport
  /// The OAuth backend; `nil` for Handstamp's own protocol.
  let access: OAuthAccess?

  init(of account: ListedAccount, in home: Home) throws(CommandError) {
    let transport = try home.transport(of: account.id)
    access = try home.oauth(of: account.id).map { OAuthAccess($0, home: home, account: account.id, over: transport) }
    (address, self.transport) = (account.serverAddress, transport)
  }

  /// A server of which no account is known.
  init(_ address: ServerAddress) { (self.address, transport, access) = (address, CommandTransport.shared, nil) }

  /// Sends requests with the session's token, and with a proof of its key if it is bound to one.
  func provingTransport(in home: Home) -> any Transport {
    // Without the key the requests are refused, and the refresh that follows says why.
    guard let record = access?.record, record.isBound == true, let prover = try? home.prover(of: record) else {
      return transport
    }
    return DPoPTransport(transport, prover)
  }
}
#endif
