#if Operator
import HandstampCommandLine
import HandstampSupport

/// The words by which people ask for a part. A new part answers here.
extension BuildPart {
  /// The settings of `handstamp-server serve` that need it.
  var settings: [String] {
    switch self {
    case .clientDocuments: ["client-documents"]
    case .https: ["tls-certificate", "tls-key"]
    case .network: ["ca-certificates"]
    case .agentClient, .gate, .webhooks: []
    }
  }

  /// The subcommands that need it.
  var commands: [String] {
    switch self {
    case .gate: ["gate"]
    case .webhooks: ["admin webhooks add", "admin webhooks replay", "admin webhooks test"]
    case .agentClient, .clientDocuments, .https, .network: []
    }
  }

  private static var absent: [BuildPart] { allCases.filter { !$0.isHere } }

  /// - Throws: The refusal of a subcommand that this build lacks.
  static func check(command: String) throws(CommandError) {
    if let part = absent.first(where: { $0.commands.contains(command) }) { throw CommandError(part) }
  }

  /// - Throws: The refusal of a given setting that this build lacks.
  static func check(_ values: SettingValues<ServeSettings>) throws(CommandError) {
    for part in absent {
      if let given = part.settings.compactMap({ values[$0] }).first { throw CommandError(part, at: given.place) }
    }
  }
}
#endif
