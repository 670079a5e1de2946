/// A part of the program `handstamp` that a build may lack. Shipped programs lack none; that of `make run` is built in half the time.
///
/// A build refuses by name all that it lacks, wherever it is asked for: ``refusal`` and ``hint``. It never does a part of it.
package enum BuildPart: Sendable, Hashable, CaseIterable {
  /// Requests over a Unix domain socket, as `HANDSTAMP_AGENT` names one.
  case agentClient
  /// Clients with a metadata document at their client ID, which is fetched from an address that was checked.
  case clientDocuments
  /// `handstamp gate`.
  case gate
  /// HTTPS and HTTP/2 at the server.
  case https
  /// Requests through proxies, and with certificates in PEM.
  case network
  /// Webhooks, which are sent to an address that was checked.
  case webhooks

  /// The part in words, which begin a sentence.
  package var name: String {
    switch self {
    case .agentClient: "asking an agent"
    case .clientDocuments: "reading clients' documents"
    case .gate: "the gate"
    case .https: "HTTPS at the server"
    case .network: "the use of proxies and of certificates in PEM"
    case .webhooks: "sending webhooks"
    }
  }

  /// Whether the traits of this build bring it.
  private var isBuilt: Bool {
    #if AsyncHTTPClient
    let hasClient = true
    #else
    let hasClient = false
    #endif
    switch self {
    case .agentClient, .clientDocuments, .https, .webhooks: return hasClient
    case .network:
      #if os(Linux)
      // Over libcurl, without a trait.
      return true
      #else
      return hasClient
      #endif
    case .gate:
      #if Verifier
      return true
      #else
      return false
      #endif
    }
  }

  /// The parts that the program was built without.
  package static let unbuilt = Set(allCases.filter { !$0.isBuilt })

  /// ``unbuilt``; tests replace it, to see what another build says.
  @TaskLocal package static var lacking: Set<BuildPart> = unbuilt

  package var isHere: Bool { !BuildPart.lacking.contains(self) }

  package var refusal: String { "\(name) is not in this build" }

  /// The advice, with the line that builds all parts.
  package static let hint = "build it with: swift build --product handstamp --traits Programs"

  /// Names the parts that a build lacks; `nil` if it lacks none.
  package static func words(without parts: Set<BuildPart>) -> String? {
    let names = allCases.filter(parts.contains).map(\.name)
    return names.isEmpty ? nil : "build without " + names.joined(separator: ", ")
  }
}
