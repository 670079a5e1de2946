#if Command
import ArgumentParser
import Foundation
import HandstampOAuth
import HandstampSupport

/// Options of a sign-in at an OAuth server for what its metadata does not state, and for more parameters. They are remembered with the
/// client.
struct ProviderOptions: ParsableArguments {
  @Option(
    help: """
      kind of the OAuth server, if its address does not tell, such as github for \
      GitHub Enterprise Server
      """)
  var provider: String?
  @Option(
    name: .customLong("endpoint"),
    help: """
      endpoint that the server does not publish, as NAME=URL (repeatable); NAME \
      is authorization, token, device, revocation or userinfo
      """)
  var endpoints: [String] = []
  @Option(help: "where the client secret is sent: form or header (default: as the server says)")
  var clientSecretIn: String?
  @Option(
    name: .customLong("user-id"),
    help: "member of the userinfo response that identifies the user (repeatable; default: sub)")
  var userID: [String] = []
  @Option(
    name: .customLong("parameter"),
    help: "additional parameter of the sign-in, as NAME=VALUE (repeatable; an empty value forgets it)")
  var parameters: [String] = []
  @Option(help: "API that the token is for, at servers that name it so; the same as --parameter audience=NAME")
  var audience: String?
  @Option(name: .customLong("resource"), help: "URI of an API that the token is for (RFC 8707, repeatable)")
  var resources: [String] = []

  /// Whether the command line has any of them.
  var areGiven: Bool {
    provider != nil || clientSecretIn != nil || audience != nil
      || ![endpoints, userID, parameters, resources].allSatisfy(\.isEmpty)
  }

  func validate() throws {
    if let provider, !OAuthProvider.knownNames.contains(provider) {
      throw ValidationError("--provider must be one of \(OAuthProvider.knownNames.joined(separator: ", "))")
    }
    guard clientSecretIn.map({ OAuthProvider.SecretPlace(rawValue: $0) != nil }) ?? true else {
      throw ValidationError("--client-secret-in must be form or header")
    }
    for text in endpoints {
      let names = OAuthProvider.Endpoint.allCases.map(\.rawValue)
      guard let (name, place) = ProviderOptions.pair(text), names.contains(name) else {
        throw ValidationError("--endpoint must be NAME=URL, with one of the names \(names.joined(separator: ", "))")
      }
      guard place.isEmpty || !place.contains("#") && Origin(place)?.isTrustworthy == true else {
        throw ValidationError("--endpoint \(name) must be an https URL")
      }
    }
    for text in parameters {
      guard let (name, _) = ProviderOptions.pair(text) else { throw ValidationError("--parameter must be NAME=VALUE") }
      guard !OAuthClient.reservedParameters.contains(name) else {
        throw ValidationError("--parameter cannot set \(name), which the sign-in sets itself")
      }
    }
    guard resources.allSatisfy({ URL(string: $0)?.scheme != nil && !$0.contains("#") }) else {
      throw ValidationError("--resource must be an absolute URI without a fragment")
    }
    guard !userID.contains("") else { throw ValidationError("--user-id must name a member of the userinfo response") }
  }

  /// Completes a record with these options, and with those that were remembered for the same client.
  func complete(_ record: inout OAuthRecord, with known: OAuthRecord?) {
    record.provider = provider ?? known?.provider
    record.secretPlace = clientSecretIn ?? known?.secretPlace
    record.userID = userID.isEmpty ? known?.userID : userID
    record.resources = resources.isEmpty ? known?.resources : resources
    record.endpoints = ProviderOptions.merged(known?.endpoints, endpoints)
    record.parameters = ProviderOptions.merged(
      known?.parameters, parameters + (audience.map { ["audience=\($0)"] } ?? []))
  }

  private static func merged(_ known: [String: String]?, _ texts: [String]) -> [String: String]? {
    let given = Dictionary(texts.compactMap(pair)) { _, last in last }
    let all = (known ?? [:]).merging(given) { _, new in new }.filter { !$0.value.isEmpty }
    return all.isEmpty ? nil : all
  }

  private static func pair(_ text: String) -> (String, String)? {
    guard let sign = text.firstIndex(of: "="), sign != text.startIndex else { return nil }
    return (String(text[..<sign]), String(text[text.index(after: sign)...]))
  }
}
#endif
