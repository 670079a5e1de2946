/// A part of `handstamp` or `handstamp-server` that a build may lack. Shipped programs lack none; those of `make run` are built in half
/// the time.
///
/// A build refuses by name all that it lacks, wherever it is asked for: ``refusal`` and ``hint``. It never does a part of it.
package enum BuildPart: Sendable, Hashable, CaseIterable {
  /// Requests over a Unix domain socket, as `HANDSTAMP_AGENT` names one.
  case agentClient
  /// Clients with a metadata document at their client ID, which is fetched from an address that was checked.
  case clientDocuments
  /// `handstamp-server gate`.
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

  /// The programs that have it: that of a terminal has no part of the server's.
  private var programs: [String] {
    switch self {
    case .agentClient: ["handstamp"]
    case .clientDocuments, .gate, .https, .webhooks: ["handstamp-server"]
    case .network: ["handstamp", "handstamp-server"]
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

  /// The parts that this package was built without.
  package static let unbuilt = Set(allCases.filter { !$0.isBuilt })

  /// ``unbuilt``; tests replace it, to see what another build says.
  @TaskLocal package static var lacking: Set<BuildPart> = unbuilt

  package var isHere: Bool { !BuildPart.lacking.contains(self) }

  package var refusal: String { "\(name) is not in this build" }

  /// The advice, with the line that builds all parts of a program.
  package static func hint(building program: String) -> String {
    "build it with: swift build --product \(program) --traits Programs"
  }

  /// Names the parts that a program lacks; `nil` if it lacks none.
  package static func words(without parts: Set<BuildPart>, in program: String) -> String? {
    let names = allCases.filter { parts.contains($0) && $0.programs.contains(program) }.map(\.name)
    return names.isEmpty ? nil : "build without " + names.joined(separator: ", ")
  }
}
